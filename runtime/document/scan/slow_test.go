package scan

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// A slowScanner does what a [Scanner] does, one byte at a time: it expects no keys, looks at
// no more than one byte, and copies the document instead of compacting it. It is the oracle
// of the scanner.
type slowScanner struct {
	Targets
	Found
	in   []byte
	i    int
	out  []byte // the document without whitespace
	item int    // number of the item that is read, or 0
}

// slowFailure is the error with which a slowScanner ends.
type slowFailure struct{ err error }

func slowly(m Targets, data []byte) (found Found, err error) {
	defer func() {
		if failure, failed := recover().(slowFailure); failed {
			err = failure.err
		}
	}()
	s := &slowScanner{Targets: m, in: data, Found: Found{Begins: -1, Row: make([]Span, m.Body.Width)}}
	s.space()
	if s.i == len(data) {
		s.fail(s.i, "the document is empty")
	}
	s.Root = s.value(0, nil, m.Body.Root, s.Row)
	if s.space(); s.i < len(data) {
		s.fail(s.i, "extra data after the document")
	}
	s.Data, s.Size = data, len(s.out)
	if m.Compact {
		s.Data = s.out
	}
	return s.Found, nil
}

func (s *slowScanner) fail(at int, format string, args ...any) {
	panic(slowFailure{&SyntaxError{Offset: at, Item: s.item, Message: fmt.Sprintf(format, args...), Cut: at == len(s.in) && strings.HasPrefix(format, "unexpected end")}})
}

// unexpected fails at the byte at i.
func (s *slowScanner) unexpected(where string) {
	if s.i >= len(s.in) {
		s.fail(len(s.in), "unexpected end of the document")
	}
	name := fmt.Sprintf("0x%02x", s.in[s.i])
	if r, size := utf8.DecodeRune(s.in[s.i:]); r != utf8.RuneError || size > 1 {
		name = strconv.QuoteRune(r)
	}
	s.fail(s.i, "invalid character %s %s", name, where)
}

func (s *slowScanner) peek() byte {
	if s.i < len(s.in) {
		return s.in[s.i]
	}
	return 0
}

// take passes a byte that belongs to the document.
func (s *slowScanner) take() {
	s.out = append(s.out, s.in[s.i])
	s.i++
}

func (s *slowScanner) space() {
	for s.i < len(s.in) && strings.IndexByte(" \n\r\t", s.in[s.i]) >= 0 {
		s.i++
	}
}

// offset returns where the next byte is in the document that the scan leaves.
func (s *slowScanner) offset() int {
	if s.Compact {
		return len(s.out)
	}
	return s.i
}

// value reads a value at a path, and notes it where paths lead.
func (s *slowScanner) value(depth int, path []string, at *Node, row []Span) (where Span) {
	start := s.offset()
	switch c := s.peek(); {
	case c == '{':
		s.object(depth+1, path, at, row)
	case c == '[':
		s.list(depth+1, path, at, row)
	case c == '"':
		s.text()
	case c == '-' || c >= '0' && c <= '9':
		s.number()
	case c == 't':
		s.word("true")
	case c == 'f':
		s.word("false")
	case c == 'n':
		s.word("null")
	default:
		s.unexpected("where a value should begin")
	}
	where = Span{start, s.offset()}
	if at != nil && at.noted {
		row[at.cell] = where
	}
	return where
}

func (s *slowScanner) deeper(depth int) {
	if depth > s.MaxDepth {
		panic(slowFailure{&DepthError{s.i, s.MaxDepth}})
	}
}

func (s *slowScanner) object(depth int, path []string, at *Node, row []Span) {
	s.deeper(depth)
	s.take()
	for first := true; ; first = false {
		if s.space(); s.peek() == '}' && first {
			break
		}
		if s.peek() != '"' {
			s.unexpected("where an object key should begin")
		}
		key := unquoteSlowly(s.text())
		if s.space(); s.peek() != ':' {
			s.unexpected("after an object key")
		}
		s.take()
		s.space()
		var child *Node
		if at != nil {
			for _, c := range at.Children {
				if c.Key == key {
					child = c
					if s.Duplicate == nil && slices.ContainsFunc(row[c.cell:c.end], Span.Present) {
						s.Duplicate = c
					}
					clear(row[c.cell:c.end])
				}
			}
		}
		s.value(depth, append(slices.Clip(path), key), child, row)
		if s.space(); s.peek() == '}' {
			break
		}
		if s.peek() != ',' {
			s.unexpected("after an object member")
		}
		s.take()
	}
	s.take()
}

func (s *slowScanner) list(depth int, path []string, at *Node, row []Span) {
	s.deeper(depth)
	rootIsObject := bytes.HasPrefix(bytes.TrimLeft(s.in, " \n\r\t"), []byte("{"))
	separates := at != nil && at == s.Items || s.Detect && (len(path) == 0 && depth == 1 || depth == 2 && rootIsObject)
	if separates {
		s.Begins, s.Breaks, s.Cells = s.offset(), nil, nil
	}
	columns := separates && s.Columns != nil && (at == nil || len(at.Children) == 0)
	s.take()
	for n := 0; ; n++ {
		if s.space(); s.peek() == ']' && n == 0 {
			break
		}
		var child *Node
		if at != nil {
			for _, c := range at.Children {
				if c.Key == strconv.Itoa(n) {
					child = c
				}
			}
		}
		if separates {
			s.item = n + 1
		}
		if columns {
			item := make([]Span, s.Columns.Width)
			s.value(depth, append(slices.Clip(path), "*"), s.Columns.Root, item)
			s.Cells = append(s.Cells, item...)
		} else {
			s.value(depth, append(slices.Clip(path), "*"), child, row)
		}
		if separates {
			s.item = 0
		}
		s.space()
		if separates {
			s.Breaks = append(s.Breaks, s.offset())
			if s.MaxItems > 0 && len(s.Breaks) > s.MaxItems {
				panic(slowFailure{&ItemsError{s.MaxItems}})
			}
		}
		if s.peek() == ']' {
			break
		}
		if s.peek() != ',' {
			s.unexpected("after a list element")
		}
		s.take()
	}
	s.take()
}

// text reads a string and returns it with its quotes.
func (s *slowScanner) text() []byte {
	start := s.i
	s.take()
	for s.i < len(s.in) && s.in[s.i] != '"' {
		switch c := s.in[s.i]; {
		case c < ' ':
			s.fail(s.i, "control character 0x%02x in a string", c)
		case c == '\\':
			s.escape()
		default:
			r, size := utf8.DecodeRune(s.in[s.i:])
			if !utf8.FullRune(s.in[s.i:]) {
				s.fail(len(s.in), "unexpected end of the document")
			}
			if r == utf8.RuneError && size == 1 {
				err := &SyntaxError{Offset: s.i, Item: s.item, Message: fmt.Sprintf("invalid UTF-8 (0x%02x) in a string", c), NotUTF8: true}
				panic(slowFailure{err})
			}
			for range size {
				s.take()
			}
		}
	}
	if s.i >= len(s.in) {
		s.unexpected("")
	}
	s.take()
	return s.in[start:s.i]
}

// escape reads an escape; both halves of a surrogate pair are one.
func (s *slowScanner) escape() {
	start := s.i
	first := s.oneEscape()
	if first < 0 {
		return
	}
	if rest := s.in[s.i:]; utf16.IsSurrogate(first) && len(rest) >= 6 && rest[0] == '\\' && rest[1] == 'u' {
		if second, err := strconv.ParseUint(string(rest[2:6]), 16, 32); err == nil && utf16.DecodeRune(first, rune(second)) != utf8.RuneError {
			s.oneEscape()
			s.Surplus += 12 - 4
			return
		}
	}
	switch {
	case utf16.IsSurrogate(first):
		s.fail(start, "unpaired surrogate %s in a string", s.in[start:s.i])
	case first == '"' || first == '\\' || strings.ContainsRune("\b\f\n\r\t", first):
		s.Surplus += 6 - 2
	case first >= ' ':
		s.Surplus += 6 - utf8.RuneLen(first)
	}
}

// oneEscape reads an escape, and returns the character of one with hexadecimal digits; -1
// for another one.
func (s *slowScanner) oneEscape() rune {
	s.take()
	switch c := s.peek(); {
	case c == '/':
		s.Respelt = true
		s.Surplus++
	case c != 0 && strings.IndexByte(`"\bfnrt`, c) >= 0:
	case c == 'u':
		s.take()
		start := s.i
		for s.i < start+4 {
			if c := s.peek(); c == 0 || strings.IndexByte("0123456789abcdefABCDEF", c) < 0 {
				s.unexpected(`in a \u escape`)
			}
			s.take()
		}
		s.Respelt = true
		r, _ := strconv.ParseUint(string(s.in[start:s.i]), 16, 32)
		return rune(r)
	default:
		s.unexpected("in an escape")
	}
	s.take()
	return -1
}

func (s *slowScanner) number() {
	if s.peek() == '-' {
		s.take()
	}
	start := s.i
	s.digits()
	if s.in[start] == '0' && s.i > start+1 {
		s.fail(start, "a number with a leading zero")
	}
	if s.peek() == '.' {
		s.take()
		s.digits()
	}
	if s.peek() == 'e' || s.peek() == 'E' {
		s.take()
		if s.peek() == '+' || s.peek() == '-' {
			s.take()
		}
		s.digits()
	}
}

func (s *slowScanner) digits() {
	for first := true; first || s.peek() >= '0' && s.peek() <= '9'; first = false {
		if s.peek() < '0' || s.peek() > '9' {
			s.unexpected("in a number")
		}
		s.take()
	}
}

func (s *slowScanner) word(word string) {
	for _, c := range []byte(word) {
		if s.peek() != c {
			s.unexpected("in the literal " + word)
		}
		s.take()
	}
}

// unquoteSlowly returns the content of a string.
func unquoteSlowly(quoted []byte) string {
	var text string
	if err := json.Unmarshal(quoted, &text); err != nil {
		panic(err)
	}
	return text
}
