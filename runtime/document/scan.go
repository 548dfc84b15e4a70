package document

import (
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/stopwhen/stopwhen/runtime/spool"
)

// A span is the location of a value in a document, after compaction if the scan
// compacts it. The zero span is absent: no value is empty.
type span struct{ start, end int }

func (s span) present() bool { return s.end > s.start }

func (s span) of(data []byte) []byte { return data[s.start:s.end:s.end] }

// A scanner validates a document in one pass, and collects what the [Reader]
// needs to know of it.
type scanner struct {
	data   []byte
	limit  int           // of nesting
	window *spool.Window // of a document that is in a file; nil for one in memory
	err    error

	spaces  int  // bytes of insignificant whitespace
	invalid bool // a string is not valid UTF-8
	respelt bool // a string has an escape that can be spelled in another way: \/ or \u
	surplus int  // bytes by which those escapes are longer than their canonical spelling
	root    span
	lists   rootLists

	// With compact, the scan removes whitespace in place: data[:writePos] is
	// compacted, and the bytes from readPos on are still to be moved to writePos.
	// In the end, what is read at offset i is shift bytes lower.
	compact                  bool
	writePos, readPos, shift int

	// The scan separates the elements of one list: the one that a path marks as the
	// items; with detect the root, or the last list in the root object.
	detect       bool
	rootIsObject bool
	begins       int   // offset of the list; -1 without one
	breaks       []int // offsets at which the elements end
	maxItems     int   // elements of the list; 0 is any number

	block    block
	prefixes prefixes

	fields     *fieldTree // of every element of the list; nil if none is looked for
	width      int        // number of the columns of fields
	cells      []span     // where their values are, element by element
	incomplete bool       // a value may be missing in cells
}

// scan scans data. The offsets of errors count from its beginning.
func scan(data []byte, limit int) (*scanner, error) {
	s := &scanner{}
	return s, s.scan(data, nil, limit)
}

func (s *scanner) scan(data []byte, tree *pathTree, limit int) error {
	s.data, s.limit, s.begins, s.breaks, s.lists, s.err = data, limit, -1, s.breaks[:0], rootLists{}, nil
	s.spaces, s.surplus, s.writePos, s.readPos, s.shift = 0, 0, 0, 0, 0
	s.invalid, s.respelt = false, false
	s.block.rewind()
	s.cells, s.incomplete = s.cells[:0], false
	s.window.Rewind()
	start := s.space(0)
	if start == len(data) {
		return &syntaxError{offset: start, message: "the document is empty"}
	}
	s.root.start, s.rootIsObject = start-s.shift, data[start] == '{'
	end := s.value(start, 0, tree)
	if end < 0 {
		return s.err
	}
	s.root.end = end - s.shift
	if rest := s.space(end); rest < len(data) {
		return &syntaxError{offset: rest, message: "extra data after the document"}
	}
	if s.compact {
		s.move(len(data))
		s.data = data[:s.writePos]
	}
	return nil
}

// move moves the bytes before i to their place in the compacted document.
func (s *scanner) move(i int) {
	if s.writePos == s.readPos {
		s.writePos = i
		return
	}
	s.writePos += copy(s.data[s.writePos:], s.data[s.readPos:i])
}

// bytes returns the bytes at a span, which may not have been moved yet.
func (s *scanner) bytes(at span) []byte {
	if at.start >= s.writePos {
		return s.data[at.start+s.shift : at.end+s.shift]
	}
	return at.of(s.data)
}

// The methods that read a piece of syntax take the offset at which it begins.
// They return the offset after it, or -1 with the error set.

// value reads a value at a depth of nesting.
func (s *scanner) value(i, depth int, at *pathTree) int {
	start := i - s.shift
	switch byteAt(s.data, i) {
	case '{':
		i = s.object(i, depth+1, at)
	case '[':
		i = s.list(i, depth+1, at)
	default:
		i = s.innerValue(i, depth)
	}
	if at != nil && i >= 0 {
		at.span = span{start, i - s.shift}
	}
	return i
}

// object reads an object.
func (s *scanner) object(i, depth int, at *pathTree) int {
	if depth > s.limit {
		return s.tooDeep(i)
	}
	if at == nil && depth > 1 {
		return s.inner(i, depth, nil, 0)
	}
	data := s.data
	i = s.space(i + 1)
	if i < len(data) && data[i] == '}' {
		return i + 1
	}
	for {
		if i >= len(data) || data[i] != '"' {
			return s.unexpected(i, "where an object key should begin")
		}
		key := i
		if i = s.text(i); i < 0 {
			return i
		}
		child := at.member(data[key:i])
		if child != nil {
			child.reset()
		}
		name := span{key - s.shift, i - s.shift}
		i = s.gap(data, i)
		if i >= len(data) || data[i] != ':' {
			return s.unexpected(i, "after an object key")
		}
		i = s.gap(data, i+1)
		start, isList := i-s.shift, i < len(data) && data[i] == '['
		if i = s.value(i, depth, child); i < 0 {
			return i
		}
		if depth == 1 && (isList || len(s.lists.found) > 0) {
			s.lists.member(s.bytes(name), isList, span{start, i - s.shift})
		}
		i = s.gap(data, i)
		if i < len(data) && data[i] == ',' {
			i = s.gap(data, i+1)
			continue
		}
		if i < len(data) && data[i] == '}' {
			return i + 1
		}
		return s.unexpected(i, "after an object member")
	}
}

// list reads a list.
func (s *scanner) list(i, depth int, at *pathTree) int {
	if depth > s.limit {
		return s.tooDeep(i)
	}
	data := s.data
	marked := s.marked(i, depth, at)
	collects := s.collects(marked, at)
	i = s.space(i + 1)
	if i < len(data) && data[i] == ']' {
		return i + 1
	}
	for n := 0; ; n++ {
		if collects {
			i = s.item(i, depth)
		} else {
			i = s.value(i, depth, at.element(n))
		}
		if i < 0 {
			return i
		}
		i = s.gap(data, i)
		if marked {
			s.breaks = append(s.breaks, i-s.shift)
			if s.maxItems > 0 && len(s.breaks) > s.maxItems {
				s.err = &ItemsError{s.maxItems}
				return -1
			}
		}
		s.window.Pass(i, s.writePos)
		if i < len(data) && data[i] == ',' {
			i = s.gap(data, i+1)
			continue
		}
		if i < len(data) && data[i] == ']' {
			return i + 1
		}
		return s.unexpected(i, "after a list element")
	}
}

// marked reports whether the list at i is the one whose elements are separated.
func (s *scanner) marked(i, depth int, at *pathTree) bool {
	root := s.detect && (depth == 1 || depth == 2 && s.rootIsObject)
	if !root && (at == nil || !at.items) {
		return false
	}
	s.breaks, s.begins = s.breaks[:0], i-s.shift
	return true
}

// word reads true, false or null.
func (s *scanner) word(i int, word string) int {
	if end := i + len(word); end <= len(s.data) && string(s.data[i:end]) == word {
		return end
	}
	for k := range len(word) {
		if i+k >= len(s.data) || s.data[i+k] != word[k] {
			return s.unexpected(i+k, "in the literal "+word)
		}
	}
	return i + len(word)
}

// gap skips whitespace where there usually is none. Unlike space, it is inlined.
// data is s.data, which its callers hold in a register.
func (s *scanner) gap(data []byte, i int) int {
	if i < len(data) && data[i] <= ' ' {
		return s.space(i)
	}
	return i
}

// space skips whitespace, and counts it.
func (s *scanner) space(i int) int {
	end := s.skip(i)
	if end > i {
		s.spaces += end - i
		if s.compact {
			s.move(i)
			s.readPos, s.shift = end, s.spaces
		}
	}
	return end
}

// skip returns the offset after the whitespace at i. Of a document in a file it holds one
// window of the whitespace in memory at a time.
func (s *scanner) skip(i int) int {
	for s.window != nil {
		limit := i + spool.WindowBytes
		if limit >= len(s.data) {
			break
		}
		if i = skipSpace(s.data[:limit], i); i < limit {
			return i
		}
		s.window.Pass(i, s.writePos)
	}
	return skipSpace(s.data, i)
}

func (s *scanner) fail(i int, message string) int {
	s.err = &syntaxError{offset: i, message: message}
	return -1
}

func (s *scanner) end() int { return s.fail(len(s.data), "unexpected end of the document") }

// unexpected fails at the byte at i, if there is one.
func (s *scanner) unexpected(i int, where string) int {
	if i >= len(s.data) {
		return s.end()
	}
	character := fmt.Sprintf("0x%02x", s.data[i])
	if r, size := utf8.DecodeRune(s.data[i:]); r != utf8.RuneError || size > 1 {
		character = strconv.QuoteRune(r)
	}
	return s.fail(i, "invalid character "+character+" "+where)
}

func (s *scanner) tooDeep(i int) int {
	s.err = &DepthError{offset: i, limit: s.limit}
	return -1
}
