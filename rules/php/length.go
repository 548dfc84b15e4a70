package php

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"unicode/utf8"
)

// EncodedLen returns the length in bytes of PHP's json_encode(json_decode(raw)),
// which forceStop.volume counts: without blanks, / as \/, characters beyond ASCII as
// \uXXXX, numbers in PHP's format, and only the last value of a repeated name. It
// returns 0 if a number is beyond the range of a float, because PHP then encodes
// nothing.
//
// EncodedLen makes one pass over the document, which must be valid JSON. The length of
// anything else is undefined.
func EncodedLen(raw []byte) int {
	m := measure{raw: raw}
	n := m.value()
	switch {
	case m.infinite:
		return 0
	case m.unusual:
		return decodedLen(raw)
	}
	return n
}

// decodedLen is [EncodedLen] of a document whose numbers are in the range of a float. It
// decodes the document, which takes several times as long.
func decodedLen(raw []byte) int {
	var v any
	decoder := json.NewDecoder(bytes.NewReader(bytes.ToValidUTF8(raw, nil)))
	decoder.UseNumber()
	if decoder.Decode(&v) != nil {
		return 0
	}
	return len(EncodeJSON(v))
}

// measure is the state of a pass over a document.
type measure struct {
	raw      []byte
	at       int
	infinite bool
	unusual  bool     // there is an object with many members, or an escape in a name
	open     []member // the members so far of the objects around the position
}

// member is one member of an object: its name as it is spelled between the quotes,
// and the encoded length of its value.
type member struct {
	name  []byte
	value int
}

// peek skips blanks and the punctuation between values, and returns the next byte, or
// 0 at the end.
func (m *measure) peek() byte {
	for ; m.at < len(m.raw); m.at++ {
		switch c := m.raw[m.at]; c {
		case ' ', '\t', '\n', '\r', ',', ':':
		default:
			return c
		}
	}
	return 0
}

func (m *measure) value() int {
	switch m.peek() {
	case '{':
		return m.object()
	case '[':
		return m.list()
	case '"':
		_, n := m.text()
		return n
	}
	return m.scalar()
}

func (m *measure) list() int {
	m.at++
	n := len("[]")
	for i := 0; ; i++ {
		switch m.peek() {
		case ']':
			m.at++
			return n
		case 0:
			return n
		}
		if i > 0 {
			n += len(",")
		}
		n += m.value()
	}
}

func (m *measure) object() int {
	m.at++
	n, first := len("{}"), len(m.open)
	for m.peek() == '"' {
		name, nameLen := m.text()
		valueLen := m.value()
		m.unusual = m.unusual || len(m.open)-first > manyMembers || bytes.IndexByte(name, '\\') >= 0
		if i := m.member(first, name); i >= 0 {
			n += valueLen - m.open[i].value
			m.open[i].value = valueLen
			continue
		}
		if len(m.open) > first {
			n += len(",")
		}
		n += nameLen + len(":") + valueLen
		m.open = append(m.open, member{name, valueLen})
	}
	m.open = m.open[:first]
	m.skip(len("}"))
	return n
}

// manyMembers is the number of members up to which a name is compared with all others.
const manyMembers = 128

// member returns the position of a name among the members of the object that begin at a
// position, or -1.
func (m *measure) member(first int, name []byte) int {
	if m.unusual {
		return -1
	}
	for i := first; i < len(m.open); i++ {
		if bytes.Equal(m.open[i].name, name) {
			return i
		}
	}
	return -1
}

// text reads a string. It returns the bytes between the quotes, and the encoded length
// including the quotes.
func (m *measure) text() ([]byte, int) {
	m.at++
	start, n := m.at, len(`""`)
	for m.at < len(m.raw) {
		c := m.raw[m.at]
		switch {
		case c == '"':
			m.at++
			return m.raw[start : m.at-1], n
		case c == '\\':
			n += m.escape()
		case c == '/':
			n += len(`\/`)
			m.at++
		case c < utf8.RuneSelf:
			n++
			m.at++
		default:
			n += m.rune()
		}
	}
	return m.raw[start:], n
}

// escape reads one escape.
func (m *measure) escape() int {
	if m.at+1 >= len(m.raw) || m.raw[m.at+1] != 'u' {
		m.skip(len(`\n`))
		return len(`\n`)
	}
	digits := m.raw[min(m.at+2, len(m.raw)):min(m.at+6, len(m.raw))]
	m.skip(len(`\uXXXX`))
	unit, err := strconv.ParseUint(string(digits), 16, 16)
	switch {
	case err != nil || unit >= utf8.RuneSelf:
		return len(`\uXXXX`)
	case shortEscapes[unit] != 0:
		return len(`\n`)
	case unit < ' ':
		return len(`\uXXXX`)
	}
	return 1
}

// skip moves forward by n bytes, but not beyond the end.
func (m *measure) skip(n int) { m.at = min(m.at+n, len(m.raw)) }

// rune reads one character beyond ASCII. Bytes that are not UTF-8 count nothing: the
// reference drops them before it decodes.
func (m *measure) rune() int {
	r, size := utf8.DecodeRune(m.raw[m.at:])
	m.at += size
	switch {
	case r == utf8.RuneError && size == 1:
		return 0
	case r > 0xffff:
		return len(`\uXXXX\uXXXX`)
	}
	return len(`\uXXXX`)
}

// scalar reads a number, true, false or null.
func (m *measure) scalar() int {
	start, fraction := m.at, false
	for ; m.at < len(m.raw); m.at++ {
		switch c := m.raw[m.at]; {
		case c == '.' || c == 'e' || c == 'E':
			fraction = true
		case c == '-' || c == '+' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z':
		case m.at == start:
			m.at++ // not JSON
			return 0
		default:
			return m.scalarLen(m.raw[start:m.at], fraction)
		}
	}
	return m.scalarLen(m.raw[start:], fraction)
}

func (m *measure) scalarLen(token []byte, fraction bool) int {
	const safeDigits = 18 // every integer of this length fits into 64 bits
	if !fraction && len(token) <= safeDigits || len(token) == 0 || token[0] >= 'a' {
		if string(token) == "-0" {
			return len("0")
		}
		return len(token)
	}
	if !fraction {
		if _, err := strconv.ParseInt(string(token), 10, 64); err == nil {
			return len(token)
		}
	}
	f := float(string(token))
	if math.IsInf(f, 0) {
		m.infinite = true
		return 0
	}
	var buffer [32]byte
	return len(floatJSON(buffer[:0], f))
}
