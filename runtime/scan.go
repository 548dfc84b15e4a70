package runtime

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"strconv"
	"unicode/utf8"
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

// span is where a value stands in a document; the zero span is no value, since
// no value is empty.
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
	root      span
	lists     rootLists

	err error
}

// scan reads the whole of data and fills the tree, which may be nil. Offsets
// in errors count from the beginning of data.
func scan(data []byte, tree *pathTree, limit int) (*scanner, error) {
	s := &scanner{data: data, limit: limit}
	start := s.space(0)
	if start == len(data) {
		return s, &SyntaxError{Offset: start, Message: "the document is empty"}
	}
	end := s.value(start, 0, tree)
	if end < 0 {
		return s, s.err
	}
	s.root = span{start, end}
	if rest := s.space(end); rest < len(data) {
		return s, &SyntaxError{Offset: rest, Message: "extra data after the document"}
	}
	return s, nil
}

// The methods that read a piece of syntax take the offset at which it begins
// and return the offset behind it, or -1 with the error set.

func (s *scanner) value(i, depth int, at *pathTree) int {
	if i >= len(s.data) {
		return s.end()
	}
	start := i
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
		at.span = span{start, i}
	}
	return i
}

func (s *scanner) object(i, depth int, at *pathTree) int {
	if depth > s.limit {
		return s.tooDeep(i)
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
		name := data[key:i]
		if i < len(data) && data[i] <= ' ' {
			i = s.space(i)
		}
		if i >= len(data) || data[i] != ':' {
			return s.unexpected(i, "after an object key")
		}
		if i++; i < len(data) && data[i] <= ' ' {
			i = s.space(i)
		}
		child := at.member(name)
		if child != nil {
			child.forget()
		}
		start := i
		if i = s.value(i, depth, child); i < 0 {
			return i
		}
		if depth == 1 {
			s.lists.member(data, name, span{start, i})
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

func (s *scanner) list(i, depth int, at *pathTree) int {
	if depth > s.limit {
		return s.tooDeep(i)
	}
	data := s.data
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
		if i < len(data) && data[i] == ',' {
			if i++; i < len(data) && data[i] <= ' ' {
				i = s.space(i)
			}
			continue
		}
		if i < len(data) && data[i] == ']' {
			return i + 1
		}
		return s.unexpected(i, "after a list element")
	}
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
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
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
		return i + 6
	}
	return s.unexpected(i+1, "in an escape")
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
	for i < len(s.data) && isDigit(s.data[i]) {
		i++
	}
	if i == start {
		return s.unexpected(i, "in a number")
	}
	return i
}

func (s *scanner) word(i int, word string) int {
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
	s.spaces += end - i
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

func (l *rootLists) member(data, quoted []byte, value span) {
	isList := data[value.start] == '['
	if !isList && len(l.found) == 0 {
		return
	}
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
