package scan

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/bits"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// text reads a string.
func (s *Scanner) text(i int) int { return s.textRest(i + 1) }

// textRest reads a string from an offset in it.
func (s *Scanner) textRest(i int) int {
	i = s.stop(i)
	if i < len(s.input) && s.input[i] == '"' {
		return i + 1
	}
	return s.badText(i)
}

// badText fails at a byte at which a string is not valid.
func (s *Scanner) badText(i int) int {
	if i >= len(s.input) {
		return s.end()
	}
	switch c := s.input[i]; {
	case c >= utf8.RuneSelf && !utf8.FullRune(s.input[i:]):
		return s.end()
	case c >= utf8.RuneSelf:
		s.err = &SyntaxError{Offset: s.source.base + i, Message: fmt.Sprintf("invalid UTF-8 (0x%02x) in a string", c), NotUTF8: true}
		return -1
	case c != '\\':
		return s.fail(i, fmt.Sprintf("control character 0x%02x in a string", c))
	}
	if i+6 <= len(s.input) && s.input[i+1] == 'u' && hexRune(s.input[i+2:]) >= 0 {
		return s.fail(i, fmt.Sprintf("unpaired surrogate %s in a string", s.input[i:i+6]))
	}
	if i++; i < len(s.input) && s.input[i] != 'u' {
		return s.unexpected(i, "in an escape")
	}
	for i++; i < len(s.input) && hexDigits[s.input[i]] >= 0; {
		i++
	}
	return s.unexpected(i, `in a \u escape`)
}

// escape reports whether the escape at i is valid. It sets Respelt and Surplus for its spelling.
func (s *Scanner) escape(i int) bool {
	data := s.input
	if i+1 >= len(data) {
		return false
	}
	switch escapeKinds[data[i+1]] {
	case plainEscape:
		return true
	case slashEscape:
		s.Respelt = true
		s.Surplus++
		return true
	case hexEscape:
		if hexRune(data[i+2:]) < 0 {
			return false
		}
		r, size := Unescape(data[i:])
		switch half := utf16.IsSurrogate(r); {
		case half && i != s.block.lowHalf:
			return false
		case half: // its first half has counted
			return true
		case size > 6:
			s.block.lowHalf = i + 6
		}
		s.Respelt = true
		s.Surplus += surplus(r, size)
		return true
	}
	return false
}

// The kinds of escapes, by the byte after the backslash; 0 is not valid.
const (
	plainEscape = iota + 1
	slashEscape
	hexEscape
)

var escapeKinds = [256]uint8{
	'"': plainEscape, '\\': plainEscape, 'b': plainEscape, 'f': plainEscape, 'n': plainEscape, 'r': plainEscape, 't': plainEscape,
	'/': slashEscape,
	'u': hexEscape,
}

// surplus returns by how many bytes the \u escape of a character is longer than its canonical
// spelling. size is its length, with the second half of a surrogate pair.
func surplus(r rune, size int) int {
	switch r {
	case '"', '\\', '\b', '\f', '\n', '\r', '\t':
		return size - 2
	}
	if r < ' ' {
		return 0
	}
	return size - utf8.RuneLen(r)
}

// Unescape reads the escape at the beginning of s, with the second half of a
// surrogate pair. It returns a lone half as it is. The escape must be valid.
func Unescape(s []byte) (r rune, size int) {
	switch s[1] {
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't':
		return '\t', 2
	case 'u':
		r = hexRune(s[2:])
		if utf16.IsSurrogate(r) && len(s) >= 12 && s[6] == '\\' && s[7] == 'u' {
			if pair := utf16.DecodeRune(r, hexRune(s[8:])); pair != utf8.RuneError {
				return pair, 12
			}
		}
		return r, 6
	}
	return rune(s[1]), 2
}

// Character reads one character of a valid document, escaped or not. An escaped
// quote differs from a quote that ends a string.
func Character(s []byte) (r rune, size int) {
	if s[0] != '\\' {
		return utf8.DecodeRune(s)
	}
	if r, size = Unescape(s); r == '"' {
		r = -r
	}
	return r, size
}

// hexRune returns the character whose four hexadecimal digits data begins with, or a negative
// number if there are no such digits.
func hexRune(data []byte) rune {
	if len(data) < 4 {
		return -1
	}
	return rune(hexDigits[data[0]])<<12 | rune(hexDigits[data[1]])<<8 | rune(hexDigits[data[2]])<<4 | rune(hexDigits[data[3]])
}

// hexDigits has the values of the hexadecimal digits; other bytes have -1.
var hexDigits = func() (table [256]int8) {
	for c := range table {
		table[c] = -1
	}
	for value, c := range "0123456789abcdef" {
		table[c] = int8(value)
		table[unicode.ToUpper(c)] = int8(value)
	}
	return table
}()

// Unquote returns the content of a valid string.
// If there are no escapes, the result is a slice of quoted.
func Unquote(quoted []byte) []byte {
	rest := quoted[1 : len(quoted)-1]
	plain := bytes.IndexByte(rest, '\\')
	if plain < 0 {
		return rest
	}
	out := make([]byte, 0, len(rest))
	for ; plain >= 0; plain = bytes.IndexByte(rest, '\\') {
		r, size := Unescape(rest[plain:])
		out = utf8.AppendRune(append(out, rest[:plain]...), r)
		rest = rest[plain+size:]
	}
	return append(out, rest...)
}

// number reads a number.
func (s *Scanner) number(i int) int {
	data := s.input
	start := i
	if data[i] == '-' {
		i++
	}
	end := digitsEnd(data, i)
	if end == len(data) && s.needs(end+1) {
		return s.number(s.slide(start))
	}
	if end == i {
		return s.unexpected(i, "in a number")
	}
	if data[i] == '0' && end > i+1 {
		return s.fail(i, "a number with a leading zero")
	}
	c := byteAt(data, end)
	if c == '.' {
		i = end + 1
		if end = digitsEnd(data, i); end == len(data) && s.needs(end+1) {
			return s.number(s.slide(start))
		}
		if end == i {
			return s.unexpected(i, "in a number")
		}
		c = byteAt(data, end)
	}
	if c == 'e' || c == 'E' {
		return s.exponent(start, end)
	}
	return end
}

// exponent reads the exponent at i of the number at start.
func (s *Scanner) exponent(start, i int) int {
	i++
	if i < len(s.input) && (s.input[i] == '+' || s.input[i] == '-') {
		i++
	}
	end := digitsEnd(s.input, i)
	if end == len(s.input) && s.needs(end+1) {
		return s.number(s.slide(start))
	}
	if end == i {
		return s.unexpected(i, "in a number")
	}
	return end
}

// digitsEnd returns the offset after the digits at i.
func digitsEnd(data []byte, i int) int {
	for i >= 0 && i < len(data)-7 {
		n := countDigits(binary.LittleEndian.Uint64(data[i : i+8]))
		i += n
		if n < 8 {
			return i
		}
	}
	for i < len(data) && isDigit(data[i]) {
		i++
	}
	return i
}

// countDigits returns the number of digits that the bytes begin with. Without the bits of
// '0', digits are less than 10.
func countDigits(word uint64) int {
	word ^= '0' * everyByte
	return bits.TrailingZeros64((word+(0x80-10)*everyByte|word)&highBits) / 8
}
