package document

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/stopwhen/stopwhen/runtime/spool"
)

// Depths of nesting, in lists and objects around a value.
const (
	DefaultDepth = 512    // what a response may have unless the limits say otherwise
	MaxDepth     = 10_000 // what the limits can allow: reading recurses
)

// SyntaxError is a response that is not one JSON document (RFC 8259).
type SyntaxError struct {
	Offset  int    // in bytes, in the body as it was sent
	Message string // lower case, without the place
}

// Error writes the message and the offset.
func (e *SyntaxError) Error() string { return fmt.Sprintf("%s at byte %d", e.Message, e.Offset) }

// DepthError is a document that nests deeper than the limit; whether it is
// valid beyond that point is not known.
type DepthError struct {
	Offset int // of the list or object that is too deep
	Limit  int
}

// Error names the limit and the offset.
func (e *DepthError) Error() string {
	return fmt.Sprintf("nested more than %d levels deep at byte %d", e.Limit, e.Offset)
}

// ItemsError is a page of more items than the limit.
type ItemsError struct{ Limit int }

// Error names the limit.
func (e *ItemsError) Error() string { return fmt.Sprintf("more than %d items", e.Limit) }

// DefaultItems is how many items a page may have unless the limits say otherwise.
const DefaultItems = 1_000_000

// span is where a value stands in a document, compacted if the scan compacts it;
// the zero span is no value, since no value is empty.
type span struct{ start, end int }

func (s span) present() bool { return s.end > s.start }

func (s span) of(data []byte) []byte { return data[s.start:s.end:s.end] }

// scanner validates a document in one pass and collects on the way what the
// page reader wants to know of it.
type scanner struct {
	data  []byte
	limit int // of nesting

	spaces    int  // bytes of insignificant whitespace
	escapes   bool // a string holds an escape
	exponents bool // a number has an exponent
	invalid   bool // a string is not valid UTF-8
	respelt   bool // a string holds an escape that may be spelt otherwise: \/ or \u
	surplus   int  // bytes by which such escapes are longer than need be
	root      span
	lists     rootLists

	// A scan that compacts closes the gaps that whitespace leaves, in place:
	// data[:kept] is compacted, and data[run:] has yet to move down to it. What
	// is to be read at i stands shift bytes lower in the end.
	compact          bool
	kept, run, shift int

	// breaks are where the elements of one list end, and begins is where it
	// begins: the list that a path marks, or with detect the last one in the
	// root, or the root itself.
	detect       bool
	most         int // elements of that list; 0: any number
	rootIsObject bool
	breaks       []int
	begins       int

	keys []foretold // of the element before, in their order; empty: none are remembered
	key  int        // how many were met in this one

	window *spool.Window // of a document too large for memory; nil: it is in memory

	err error
}

// scan reads the whole of data and fills the tree, which may be nil. Offsets
// in errors count from the beginning of data.
func scan(data []byte, tree *pathTree, limit int) (*scanner, error) {
	s := &scanner{}
	return s, s.scan(data, tree, limit)
}

func (s *scanner) scan(data []byte, tree *pathTree, limit int) error {
	s.data, s.limit, s.begins, s.breaks, s.lists, s.err = data, limit, -1, s.breaks[:0], rootLists{}, nil
	s.spaces, s.surplus, s.kept, s.run, s.shift, s.key = 0, 0, 0, 0, 0, len(s.keys)
	s.escapes, s.exponents, s.invalid, s.respelt = false, false, false, false
	s.window.Rewind()
	start := s.space(0)
	if start == len(data) {
		return &SyntaxError{Offset: start, Message: "the document is empty"}
	}
	s.root.start, s.rootIsObject = start-s.shift, data[start] == '{'
	end := s.value(start, 0, tree)
	if end < 0 {
		return s.err
	}
	s.root.end = end - s.shift
	if rest := s.space(end); rest < len(data) {
		return &SyntaxError{Offset: rest, Message: "extra data after the document"}
	}
	if s.compact {
		s.close(len(data))
		s.data = data[:s.kept]
	}
	return nil
}

// close moves down what stands before i.
func (s *scanner) close(i int) {
	if s.kept == s.run {
		s.kept = i
		return
	}
	s.kept += copy(s.data[s.kept:], s.data[s.run:i])
}

// moved is what stands at a place of the compacted document, whether it has been
// moved there yet or not.
func (s *scanner) moved(at span) []byte {
	if at.start >= s.kept {
		return s.data[at.start+s.shift : at.end+s.shift]
	}
	return at.of(s.data)
}

// The methods that read a piece of syntax take the offset at which it begins
// and return the offset behind it, or -1 with the error set.

func (s *scanner) value(i, depth int, at *pathTree) int {
	if i >= len(s.data) {
		return s.end()
	}
	start := i - s.shift
	switch s.data[i] {
	case '"':
		i = s.text(i)
	case '{':
		i = s.object(i, depth+1, at)
	case '[':
		i = s.list(i, depth+1, at)
	case 't':
		i = s.word(i, "true")
	case 'f':
		i = s.word(i, "false")
	case 'n':
		i = s.word(i, "null")
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		i = s.number(i)
	default:
		return s.unexpected(i, "where a value should begin")
	}
	if at != nil && i >= 0 {
		at.span = span{start, i - s.shift}
	}
	return i
}

func (s *scanner) object(i, depth int, at *pathTree) int {
	if depth > s.limit {
		return s.tooDeep(i)
	}
	if at == nil && depth > 1 {
		return s.inner(i, depth)
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
			child.forget()
		}
		name := span{key - s.shift, i - s.shift}
		if i < len(data) && data[i] <= ' ' {
			i = s.space(i)
		}
		if i >= len(data) || data[i] != ':' {
			return s.unexpected(i, "after an object key")
		}
		if i++; i < len(data) && data[i] <= ' ' {
			i = s.space(i)
		}
		start, isList := i-s.shift, i < len(data) && data[i] == '['
		if i = s.value(i, depth, child); i < 0 {
			return i
		}
		if depth == 1 && (isList || len(s.lists.found) > 0) {
			s.lists.member(s.moved(name), isList, span{start, i - s.shift})
		}
		if i < len(data) && data[i] <= ' ' {
			i = s.space(i)
		}
		if i < len(data) && data[i] == ',' {
			if i++; i < len(data) && data[i] <= ' ' {
				i = s.space(i)
			}
			continue
		}
		if i < len(data) && data[i] == '}' {
			return i + 1
		}
		return s.unexpected(i, "after an object member")
	}
}

// inner reads an object of which nothing is to be found. Most are items, or stand
// in one, and have the keys of the item before: where they do, a key is two
// comparisons.
func (s *scanner) inner(i, depth int) int {
	data := s.data
	if i++; i < len(data) && data[i] <= ' ' {
		i = s.space(i)
	}
	if i < len(data) && data[i] == '}' {
		return i + 1
	}
	for {
		var key *foretold
		if s.key < len(s.keys) {
			key = &s.keys[s.key]
			s.key++
		}
		if key != nil && i+16 <= len(data) && key.size > 0 && (binary.LittleEndian.Uint64(data[i:])^key.low)&key.lowMask|(binary.LittleEndian.Uint64(data[i+8:])^key.high)&key.highMask == 0 {
			i += key.size
		} else if i = s.name(i, key); i < 0 {
			return i
		}
		if i < len(data) && data[i] <= ' ' {
			i = s.space(i)
		}
		if i < len(data) && data[i] == '"' {
			i = s.text(i)
		} else {
			i = s.value(i, depth, nil)
		}
		if i < 0 {
			return i
		}
		if i < len(data) && data[i] <= ' ' {
			i = s.space(i)
		}
		if i < len(data) && data[i] == ',' {
			if i++; i < len(data) && data[i] <= ' ' {
				i = s.space(i)
			}
			continue
		}
		if i < len(data) && data[i] == '}' {
			return i + 1
		}
		return s.unexpected(i, "after an object member")
	}
}

// foretold is a key with its quotes and the colon, of at most 16 bytes; a larger
// one, or one with space before the colon, has size 0.
type foretold struct {
	low, lowMask, high, highMask uint64
	size                         int
}

// name reads a key and its colon, and remembers it in the place of another, which
// may be nil.
func (s *scanner) name(i int, key *foretold) int {
	data := s.data
	if i >= len(data) || data[i] != '"' {
		return s.unexpected(i, "where an object key should begin")
	}
	start := i
	if i = s.text(i); i < 0 {
		return i
	}
	direct := i < len(data) && data[i] == ':'
	if !direct && i < len(data) && data[i] <= ' ' {
		i = s.space(i)
	}
	if i >= len(data) || data[i] != ':' {
		return s.unexpected(i, "after an object key")
	}
	i++
	if key == nil {
		return i
	}
	*key = foretold{}
	if direct && i-start <= 16 {
		var text, mask [16]byte
		for n := range copy(text[:], data[start:i]) {
			mask[n] = 0xff
		}
		*key = foretold{
			binary.LittleEndian.Uint64(text[:]), binary.LittleEndian.Uint64(mask[:]),
			binary.LittleEndian.Uint64(text[8:]), binary.LittleEndian.Uint64(mask[8:]), i - start,
		}
	}
	return i
}

func (s *scanner) list(i, depth int, at *pathTree) int {
	if depth > s.limit {
		return s.tooDeep(i)
	}
	data := s.data
	marked := s.marked(i, depth, at)
	i = s.space(i + 1)
	if i < len(data) && data[i] == ']' {
		return i + 1
	}
	for n := 0; ; n++ {
		if i = s.value(i, depth, at.element(n)); i < 0 {
			return i
		}
		if i < len(data) && data[i] <= ' ' {
			i = s.space(i)
		}
		if marked {
			s.key = 0
			s.breaks = append(s.breaks, i-s.shift)
			if s.most > 0 && len(s.breaks) > s.most {
				s.err = &ItemsError{s.most}
				return -1
			}
		}
		s.window.Pass(i, s.kept)
		if i < len(data) && data[i] == ',' {
			if i++; i < len(data) && data[i] <= ' ' {
				i = s.space(i)
			}
			continue
		}
		if i < len(data) && data[i] == ']' {
			if marked {
				s.key = len(s.keys) // what follows is no element
			}
			return i + 1
		}
		return s.unexpected(i, "after a list element")
	}
}

// marked tells whether the list at i is the one whose elements are told apart.
func (s *scanner) marked(i, depth int, at *pathTree) bool {
	root := s.detect && (depth == 1 || depth == 2 && s.rootIsObject)
	if !root && (at == nil || !at.items) {
		return false
	}
	s.breaks, s.begins, s.key = s.breaks[:0], i-s.shift, 0
	return true
}

// text reads a string, eight bytes at a time as long as they are plain.
func (s *scanner) text(i int) int {
	data := s.data
	start := i
	i++
	var high uint64
	for {
		for i+8 <= len(data) {
			word := binary.LittleEndian.Uint64(data[i:])
			high |= word & highBits
			if found := special(word) | controls(word); found != 0 {
				i += bits.TrailingZeros64(found) / 8
				break
			}
			i += 8
		}
		for i < len(data) && !stops[data[i]] {
			high |= uint64(data[i]) & highBits
			i++
		}
		if i >= len(data) {
			return s.end()
		}
		switch data[i] {
		case '"':
			i++
			// high may hold a bit of a byte behind the string: then the check
			// is in vain, but never wrong.
			if high != 0 && !s.invalid && !utf8.Valid(data[start:i]) {
				s.invalid = true
			}
			return i
		case '\\':
			if i = s.escape(i); i < 0 {
				return i
			}
		default:
			return s.fail(i, fmt.Sprintf("control character 0x%02x in a string", data[i]))
		}
	}
}

func (s *scanner) escape(i int) int {
	s.escapes = true
	if i+1 >= len(s.data) {
		return s.end()
	}
	switch s.data[i+1] {
	case '"', '\\', 'b', 'f', 'n', 'r', 't':
		return i + 2
	case '/':
		s.respelt = true
		s.surplus++
		return i + 2
	case 'u':
		for k := i + 2; k < i+6; k++ {
			if k >= len(s.data) {
				return s.end()
			}
			if hexDigit(s.data[k]) < 0 {
				return s.unexpected(k, `in a \u escape`)
			}
		}
		s.respelt = true
		s.surplus += surplus(s.data[i:])
		return i + 6
	}
	return s.unexpected(i+1, "in an escape")
}

// surplus is by how many bytes the \u escape at the beginning is longer than what
// it stands for, with the second half of a surrogate pair.
func surplus(text []byte) int {
	r, size := unescape(text)
	switch r {
	case '"', '\\', '\b', '\f', '\n', '\r', '\t':
		return size - 2
	}
	if r < ' ' || utf16.IsSurrogate(r) {
		return 0
	}
	return size - utf8.RuneLen(r)
}

func (s *scanner) number(i int) int {
	data := s.data
	if data[i] == '-' {
		i++
	}
	if i < len(data) && data[i] == '0' {
		i++
		if i < len(data) && isDigit(data[i]) {
			return s.fail(i-1, "a number with a leading zero")
		}
	} else if i = s.digits(i); i < 0 {
		return i
	}
	if i < len(data) && data[i] == '.' {
		if i = s.digits(i + 1); i < 0 {
			return i
		}
	}
	if i < len(data) && (data[i] == 'e' || data[i] == 'E') {
		s.exponents = true
		i++
		if i < len(data) && (data[i] == '+' || data[i] == '-') {
			i++
		}
		return s.digits(i)
	}
	return i
}

// digits reads at least one digit.
func (s *scanner) digits(i int) int {
	start := i
	for i+8 <= len(s.data) && eightDigits(binary.LittleEndian.Uint64(s.data[i:])) {
		i += 8
	}
	for i < len(s.data) && isDigit(s.data[i]) {
		i++
	}
	if i == start {
		return s.unexpected(i, "in a number")
	}
	return i
}

func (s *scanner) word(i int, word string) int {
	if end := i + len(word); end <= len(s.data) && string(s.data[i:end]) == word {
		return end
	}
	for k := range len(word) {
		if i+k >= len(s.data) || s.data[i+k] != word[k] {
			return s.unexpected(i+k, "in the word "+word)
		}
	}
	return i + len(word)
}

// space skips whitespace and counts it.
func (s *scanner) space(i int) int {
	end := skipSpace(s.data, i)
	if end > i {
		s.spaces += end - i
		if s.compact {
			s.close(i)
			s.run, s.shift = end, s.spaces
		}
	}
	return end
}

func (s *scanner) fail(i int, message string) int {
	s.err = &SyntaxError{Offset: i, Message: message}
	return -1
}

func (s *scanner) end() int { return s.fail(len(s.data), "unexpected end of the document") }

func (s *scanner) unexpected(i int, where string) int {
	if i >= len(s.data) {
		return s.end()
	}
	shown := fmt.Sprintf("0x%02x", s.data[i])
	if r, size := utf8.DecodeRune(s.data[i:]); r != utf8.RuneError || size > 1 {
		shown = strconv.QuoteRune(r)
	}
	return s.fail(i, "invalid character "+shown+" "+where)
}

func (s *scanner) tooDeep(i int) int {
	s.err = &DepthError{Offset: i, Limit: s.limit}
	return -1
}

// rootLists are the members of a root object that are lists, in the order of
// the document; of duplicate names the last value decides.
type rootLists struct {
	found []rootList
	index map[string]int // name -> place in found, once a search would be slow
}

type rootList struct {
	name string
	span span // zero: a later duplicate is no list
}

// present are those that the last value of their name made lists.
func (l *rootLists) present() []rootList {
	return slices.DeleteFunc(slices.Clone(l.found), func(list rootList) bool { return !list.span.present() })
}

func (l *rootLists) member(quoted []byte, isList bool, value span) {
	name := unquote(quoted)
	at := l.search(name)
	switch {
	case at >= 0 && isList:
		l.found[at].span = value
	case at >= 0:
		l.found[at].span = span{}
	case isList:
		if l.index != nil {
			l.index[string(name)] = len(l.found)
		}
		l.found = append(l.found, rootList{string(name), value})
	}
}

func (l *rootLists) search(name []byte) int {
	const few = 16
	if l.index == nil && len(l.found) > few {
		l.index = make(map[string]int, 2*few)
		for at, list := range l.found {
			l.index[list.name] = at
		}
	}
	if l.index != nil {
		if at, ok := l.index[string(name)]; ok {
			return at
		}
		return -1
	}
	for at, list := range l.found {
		if list.name == string(name) {
			return at
		}
	}
	return -1
}

// Eight bytes of a string are examined at once. A mask has the high bit of
// every byte it is about, and of bytes above such a one at most: the lowest
// bit is exact.
const (
	everyByte = 0x0101010101010101
	highBits  = 0x80 * everyByte
)

// special marks quotes and backslashes.
func special(word uint64) uint64 {
	quote := word ^ '"'*everyByte
	slash := word ^ '\\'*everyByte
	return ((quote-everyByte)&^quote | (slash-everyByte)&^slash) & highBits
}

// controls marks the bytes below the space.
func controls(word uint64) uint64 { return (word - ' '*everyByte) &^ word & highBits }

// eightDigits tells whether every byte is a digit: its high half is 3, and stays 3
// when 6 is added.
func eightDigits(word uint64) bool {
	return word&(0xf0*everyByte) == 0x30*everyByte && (word+6*everyByte)&(0xf0*everyByte) == 0x30*everyByte
}

// stops marks the bytes that end a plain run of a string.
var stops = func() (table [256]bool) {
	for c := range ' ' {
		table[c] = true
	}
	table['"'], table['\\'] = true, true
	return table
}()

// textEnd is the offset behind the string that begins at i, in a valid document.
func textEnd(data []byte, i int) int {
	i++
	for {
		for i+8 <= len(data) {
			if found := special(binary.LittleEndian.Uint64(data[i:])); found != 0 {
				i += bits.TrailingZeros64(found) / 8
				break
			}
			i += 8
		}
		for i < len(data) && data[i] != '"' && data[i] != '\\' {
			i++
		}
		if i >= len(data) || data[i] == '"' {
			return min(i+1, len(data))
		}
		i += 2
	}
}

func skipSpace(data []byte, i int) int {
	for i < len(data) && isSpace(data[i]) {
		i++
		for i+8 <= len(data) && binary.LittleEndian.Uint64(data[i:]) == ' '*everyByte {
			i += 8
		}
	}
	return i
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\r' || c == '\t' }

func isDigit(c byte) bool { return c-'0' <= 9 }

func hexDigit(c byte) rune {
	switch {
	case isDigit(c):
		return rune(c - '0')
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return rune(c|0x20-'a') + 10
	}
	return -1
}
