package scan

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// MaxDepth is the highest limit on the nesting of lists and objects, because reading is recursive.
const MaxDepth = 10_000

// Targets are the values that a scanner looks for.
type Targets struct {
	Body     *Tree // values of the document; nil means only the root
	Items    *Node // list in Body that is separated into items, or nil
	Detect   bool  // whether to separate the root, or the last list in the root object
	Columns  *Tree // values of every item, or nil
	Compact  bool  // whether to remove insignificant whitespace from the document
	MaxItems int   // most items; 0 means no limit
	MaxDepth int   // deepest nesting, at most [MaxDepth]; 0 means MaxDepth
}

// Found is the result of a scan. It is valid until the next scan.
type Found struct {
	Data []byte // the document, compacted if [Targets.Compact] is set
	Root Span
	Row  []Span // locations of the values of [Targets.Body]
	Size int    // size of the document without insignificant whitespace

	Duplicate *Node // path at which an object has two values; the last counts. Nil without such a path
	Respelt   bool  // whether a string has an escape with another spelling: \/ or \u
	Surplus   int   // bytes by which these escapes are longer than their canonical spelling

	Begins int    // offset of the list that was separated; -1 without one
	Ends   int    // offset after this list; 0 before its end is read
	Count  int    // number of its elements
	Breaks []int  // offsets at which its elements end; with a [Source], of those that it has not received
	Cells  []Span // where the values of [Targets.Columns] are, element by element; empty if they were not looked for
}

// A Scanner validates documents, each in one pass. It is reused for one document after another.
type Scanner struct {
	Targets
	Found

	input      []byte
	err        error
	currentRow []Span // Found.Row, or the row of the item that is read

	// With Compact, the scan removes whitespace in place: input[:writePos] is
	// compacted, and the bytes from readPos on are still to be moved to writePos.
	// After the scan, the byte that was at offset i of input is at i-shift.
	writePos, readPos, shift int
	spaces                   int // bytes of insignificant whitespace

	source parts // rest of a document that is not in memory as a whole

	rootIsObject bool
	block        block
	prefixes     prefixes
}

// onlyRoot is the tree without paths and cells: [Found.Root] says where the root is.
var onlyRoot = NewColumns(nil)

// New returns a scanner.
func New(t Targets) *Scanner {
	if t.Body == nil {
		t.Body = onlyRoot
	}
	if t.MaxDepth <= 0 || t.MaxDepth > MaxDepth {
		t.MaxDepth = MaxDepth
	}
	return &Scanner{Targets: t, Found: Found{Row: make([]Span, t.Body.Width)}}
}

// Scan scans data and sets the fields of [Found]. The error is a [*SyntaxError], a [*DepthError] or an
// [*ItemsError].
func (s *Scanner) Scan(data []byte) error { return s.ScanParts(data, nil) }

// ScanParts is Scan for a document that begins with data and continues with what the source returns.
// [Found.Data] is not set, and no columns are looked for. The error may be an error of the source.
func (s *Scanner) ScanParts(data []byte, source Source) error {
	s.input, s.err = data, nil
	s.source = parts{Source: source, more: source != nil, pin: noPin, replaced: s.source.replaced[:0]}
	s.writePos, s.readPos, s.shift, s.spaces = 0, 0, 0, 0
	s.Found = Found{Data: data, Row: s.Row, Begins: -1, Breaks: s.Breaks[:0], Cells: s.Cells[:0]}
	clear(s.Row)
	s.currentRow = s.Row
	s.block.rewind()
	err := s.document()
	if s.source.err != nil {
		return s.source.err
	}
	return err
}

// document reads the document.
func (s *Scanner) document() error {
	start := s.space(0)
	if start == len(s.input) {
		return &SyntaxError{Offset: s.source.base + start, Message: "the document is empty"}
	}
	s.Root.Start, s.rootIsObject = start-s.shift, s.input[start] == '{'
	end := s.field(start, 0, s.Body.Root)
	if end < 0 {
		return s.err
	}
	s.Root.End = end - s.shift
	if rest := s.space(end); rest < len(s.input) {
		return &SyntaxError{Offset: s.source.base + rest, Message: "extra data after the document"}
	}
	s.Size = s.source.base + len(s.input) - s.spaces
	s.pass(len(s.input))
	if s.source.Source == nil {
		s.Data = s.input[:s.writePos]
	} else {
		s.Data = nil
		s.deliver(nil)
	}
	return nil
}

// Rest returns the document of a failed scan, which may have removed whitespace.
func (s *Scanner) Rest() []byte {
	s.pass(len(s.input))
	return s.input[:s.writePos]
}

// Release drops the references to the document.
func (s *Scanner) Release() { s.input, s.Data, s.source.Source = nil, nil, nil }

// Trim drops buffers that grew with a large document, and the prefixes if no more can be learned.
func (s *Scanner) Trim() {
	s.Breaks, s.Cells, s.source.replaced = Trimmed(s.Breaks), Trimmed(s.Cells), Trimmed(s.source.replaced)
	if s.prefixes.count == maxPrefixes {
		s.prefixes = prefixes{}
	}
}

// KeptElements is the size up to which a buffer is kept for the next list, in elements.
const KeptElements = 4096

// Trimmed returns a buffer that is not large without its elements, and nil for a large one.
func Trimmed[T any](buffer []T) []T {
	if cap(buffer) > KeptElements {
		return nil
	}
	return buffer[:0]
}

// move moves the bytes before i to their place in the compacted document.
func (s *Scanner) move(i int) {
	if s.writePos == s.readPos {
		s.writePos = i
		return
	}
	s.writePos += copy(s.input[s.writePos:], s.input[s.readPos:i])
}

// pass is move at the end of the data, which may not be compacted.
func (s *Scanner) pass(i int) {
	if !s.Compact {
		s.writePos, s.readPos = i, i
		return
	}
	s.move(i)
	s.readPos = s.writePos
}

// The methods that read a piece of syntax take the offset at which it begins.
// They return the offset after it, or -1 with the error set. If the document has a source, they may
// replace s.input: offsets of before then have no meaning.

// field reads the value of a node of the tree: a path ends there or leads through it. node is nil for a
// member of the root object that is on no path.
func (s *Scanner) field(i, depth int, node *Node) int {
	start := i - s.shift
	switch c := byteAt(s.input, i); {
	case c == '{' && (depth == 0 || node.branches()):
		i = s.object(i, depth+1, node)
	case c == '[' && (depth < 2 || node.branches() || node == s.Items):
		i = s.targetList(i, depth+1, node)
	default:
		i = s.value(i, depth)
	}
	if i >= 0 {
		node.note(s.currentRow, Span{start, i - s.shift})
	}
	return i
}

// value reads a value in which nothing is looked for.
func (s *Scanner) value(i, depth int) int {
	switch byteAt(s.input, i) {
	case '"':
		return s.textRest(i + 1)
	case '{':
		return s.object(i, depth+1, nil)
	case '[':
		return s.list(i, depth+1)
	case 't':
		return s.word(i, "true")
	case 'f':
		return s.word(i, "false")
	case 'n':
		return s.word(i, "null")
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		return s.number(i)
	case ' ', '\n', '\r', '\t': // after a prefix that was expected with less whitespace
		return s.value(s.space(i), depth)
	}
	if s.needs(i + 1) {
		return s.value(s.slide(i), depth)
	}
	return s.unexpected(i, "where a value should begin")
}

// list reads a list in which nothing is looked for.
func (s *Scanner) list(i, depth int) int {
	if depth > s.MaxDepth {
		return s.tooDeep(i)
	}
	i = s.space(i + 1)
	if byteAt(s.input, i) == ']' {
		return i + 1
	}
	for {
		if i = s.value(i, depth); i < 0 {
			return i
		}
		i = s.gap(s.input, i)
		if c := byteAt(s.input, i); c != ',' {
			return s.listEnd(i)
		}
		i = s.gap(s.input, i+1)
	}
}

// listEnd reads the end of a list.
func (s *Scanner) listEnd(i int) int {
	if byteAt(s.input, i) == ']' {
		return i + 1
	}
	return s.unexpected(i, "after a list element")
}

// targetList reads a list whose elements are separated, or into which paths lead.
func (s *Scanner) targetList(i, depth int, node *Node) int {
	if depth > s.MaxDepth {
		return s.tooDeep(i)
	}
	separates := s.separates(i, depth, node)
	columns := separates && s.Columns != nil && s.source.Source == nil && !node.branches()
	i = s.space(i + 1)
	if byteAt(s.input, i) == ']' {
		if separates {
			s.Ends = i + 1 - s.shift
		}
		return i + 1
	}
	for n := 0; ; n++ {
		if columns {
			i = s.item(i, depth)
		} else {
			i = s.field(i, depth, node.element(n))
		}
		if i < 0 {
			if syntax, ok := s.err.(*SyntaxError); ok && separates { //nolint:errorlint // it is not wrapped
				syntax.Item = n + 1
			}
			return i
		}
		i = s.gap(s.input, i)
		if separates {
			s.Breaks = append(s.Breaks, i-s.shift)
			if s.Count = n + 1; s.MaxItems > 0 && s.Count > s.MaxItems {
				s.err = &ItemsError{s.MaxItems}
				return -1
			}
		}
		if byteAt(s.input, i) != ',' {
			if separates {
				s.Ends = i + 1 - s.shift
			}
			return s.listEnd(i)
		}
		i = s.gap(s.input, i+1)
	}
}

// separates reports whether the elements of the list at i are separated.
func (s *Scanner) separates(i, depth int, at *Node) bool {
	root := s.Detect && (depth == 1 || depth == 2 && s.rootIsObject)
	if !root && (at == nil || at != s.Items) {
		return false
	}
	if s.source.done > s.Begins && s.Count > 0 {
		s.source.replaced = append(s.source.replaced, Span{s.Begins, s.Ends})
	}
	s.Begins, s.Ends, s.Count = i-s.shift, 0, 0
	s.Breaks, s.Cells = s.Breaks[:0], s.Cells[:0] // of a list before, which this one replaces
	return true
}

// item reads an item, and notes where the values of its columns are.
func (s *Scanner) item(i, depth int) int {
	first := len(s.Cells)
	for range s.Columns.Width {
		s.Cells = append(s.Cells, Span{})
	}
	s.currentRow = s.Cells[first:]
	i = s.field(i, depth, s.Columns.Root)
	s.currentRow = s.Row
	return i
}

// word reads true, false or null.
func (s *Scanner) word(i int, word string) int {
	end := i + len(word)
	if end <= len(s.input) && string(s.input[i:end]) == word {
		return end
	}
	if s.needs(end) {
		return s.word(s.slide(i), word)
	}
	k := 0
	for byteAt(s.input, i+k) == word[k] { // up to the first byte that differs
		k++
	}
	return s.unexpected(i+k, "in the literal "+word)
}

// gap skips whitespace at a place where it is rare. Unlike space, it is inlined.
// data is s.input, which its callers hold in a register.
func (s *Scanner) gap(data []byte, i int) int {
	if i < len(data) && data[i] > ' ' {
		return i
	}
	return s.space(i)
}

// space skips whitespace, and counts it. It returns the end of the data only at the end of the
// document.
func (s *Scanner) space(i int) int {
	for {
		end := SkipSpace(s.input, i)
		if end > i {
			s.spaces += end - i
			if s.Compact {
				s.move(i)
				s.readPos, s.shift = end, s.spaces-s.source.base
			}
		}
		if !s.needs(end + 1) {
			return end
		}
		i = s.slide(end)
	}
}

func (s *Scanner) fail(i int, message string) int {
	s.err = &SyntaxError{Offset: s.source.base + i, Message: message}
	return -1
}

func (s *Scanner) end() int {
	s.err = &SyntaxError{Offset: s.source.base + len(s.input), Message: "unexpected end of the document", Cut: true}
	return -1
}

// unexpected fails at the byte at i, if there is one.
func (s *Scanner) unexpected(i int, place string) int {
	for s.needs(i + utf8.UTFMax) {
		i = s.slide(i)
	}
	if i >= len(s.input) {
		return s.end()
	}
	character := fmt.Sprintf("0x%02x", s.input[i])
	if r, size := utf8.DecodeRune(s.input[i:]); r != utf8.RuneError || size > 1 {
		character = strconv.QuoteRune(r)
	}
	return s.fail(i, "invalid character "+character+" "+place)
}

func (s *Scanner) tooDeep(i int) int {
	s.err = &DepthError{offset: s.source.base + i, limit: s.MaxDepth}
	return -1
}

// UTF16Problem says why a document for which [IsUTF16] is true is not read.
const UTF16Problem = "the document is UTF-16, not UTF-8"

// IsUTF16 reports whether a document begins with a byte order mark of UTF-16.
func IsUTF16(data []byte) bool {
	return bytes.HasPrefix(data, []byte{0xFE, 0xFF}) || bytes.HasPrefix(data, []byte{0xFF, 0xFE})
}

// A SyntaxError says why a document is not one JSON value (RFC 8259).
type SyntaxError struct {
	Offset  int    // in bytes, in the document before its whitespace is removed
	Item    int    // number of the item that it is in, from 1; 0 means that it is in no item
	Message string // without the offset and the item
	NotUTF8 bool   // whether a string has a byte that is not UTF-8
	Cut     bool   // whether the document ends within a value
}

// Error returns the message, the offset and the number of the item.
func (e *SyntaxError) Error() string {
	if e.Item > 0 {
		return fmt.Sprintf("%s at byte %d, in item %d", e.Message, e.Offset, e.Item)
	}
	return fmt.Sprintf("%s at byte %d", e.Message, e.Offset)
}

// A DepthError reports a document that is nested more deeply than the limit. The rest of the
// document was not validated.
type DepthError struct {
	offset int // of the list or object that is too deep, in bytes
	limit  int
}

// NewDepthError returns the error for a list or an object at an offset that is nested more
// deeply than limit.
func NewDepthError(offset, limit int) *DepthError { return &DepthError{offset, limit} }

// Error returns the limit and the offset.
func (e *DepthError) Error() string {
	return fmt.Sprintf("nested more than %d levels deep at byte %d", e.limit, e.offset)
}

// An ItemsError reports a page with more items than the limit.
type ItemsError struct{ Limit int }

// Error returns the limit.
func (e *ItemsError) Error() string { return fmt.Sprintf("more than %d items", e.Limit) }

// AddOffset returns an error of a document that begins n bytes into a body.
func AddOffset(err error, n int) error {
	if syntax, ok := errors.AsType[*SyntaxError](err); ok {
		moved := *syntax
		moved.Offset += n
		return &moved
	}
	if depth, ok := errors.AsType[*DepthError](err); ok {
		return &DepthError{offset: depth.offset + n, limit: depth.limit}
	}
	return err
}
