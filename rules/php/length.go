package php

import (
	"bytes"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/stopwhen/stopwhen/rules/value"
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
	n := m.document()
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
	if value.Unmarshal(bytes.ToValidUTF8(raw, nil), &v) != nil {
		return 0
	}
	return len(EncodeJSON(v))
}

// measure is the state of a pass over a document.
type measure struct {
	raw      []byte
	at       int
	infinite bool
	unusual  bool     // an object repeats a name, has an escape in one, or has many members
	names    [][]byte // the names so far, as they are spelled, of the objects around the position
	objects  []int    // where the names of each of these objects begin
}

// document returns the encoded length of the tokens of the document.
func (m *measure) document() int {
	n, text := 0, []byte(nil)
	for m.at < len(m.raw) {
		switch c := m.raw[m.at]; c {
		case ' ', '\t', '\n', '\r':
			m.at++
			continue
		case '"':
			var length int
			text, length = m.text()
			n += length
			continue
		case '{':
			m.objects = append(m.objects, len(m.names))
		case '}':
			m.names, m.objects = m.names[:m.first()], m.objects[:max(len(m.objects)-1, 0)]
		case ':':
			m.name(text)
		case '[', ']', ',':
		default:
			n += m.scalar()
			continue
		}
		m.at++
		n++
	}
	return n
}

// first returns the position of the first name of the object around the position.
func (m *measure) first() int {
	if len(m.objects) == 0 {
		return 0
	}
	return m.objects[len(m.objects)-1]
}

// manyMembers is the number of members up to which a name is compared with all others.
const manyMembers = 128

// name adds a name to those of the enclosing object.
func (m *measure) name(text []byte) {
	others := m.names[m.first():]
	m.unusual = m.unusual || len(others) > manyMembers || bytes.IndexByte(text, '\\') >= 0 ||
		slices.ContainsFunc(others, func(name []byte) bool { return bytes.Equal(name, text) })
	if !m.unusual {
		m.names = append(m.names, text)
	}
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
