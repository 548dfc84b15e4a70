package document

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/bits"
	"unicode/utf16"
	"unicode/utf8"
)

// text reads a string: eight bytes at a time, as long as they are plain.
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
			// high may include bytes after the string: then the check is
			// unnecessary, but not wrong.
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

// escape reads an escape of a string.
func (s *scanner) escape(i int) int {
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

// surplus returns by how many bytes the \u escape at the beginning of text, with
// the second half of a surrogate pair, is longer than its canonical spelling.
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

// unescape reads the escape at the beginning of s, with the second half of a
// surrogate pair. It returns a lone surrogate as it is. s is part of a valid string.
func unescape(s []byte) (r rune, size int) {
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
		r = hexRune(s[2:6])
		if utf16.IsSurrogate(r) && len(s) >= 12 && s[6] == '\\' && s[7] == 'u' {
			if pair := utf16.DecodeRune(r, hexRune(s[8:12])); pair != utf8.RuneError {
				return pair, 12
			}
		}
		return r, 6
	}
	return rune(s[1]), 2
}

// character reads one character of a valid document, escaped or not. An escaped
// quote differs from one that ends a string, and every byte that is not UTF-8
// differs from all characters.
func character(s []byte) (r rune, size int) {
	if s[0] == '\\' {
		if r, size = unescape(s); r == '"' {
			r = -r
		}
		return r, size
	}
	if r, size = utf8.DecodeRune(s); r == utf8.RuneError && size == 1 {
		r = utf8.MaxRune + 1 + rune(s[0])
	}
	return r, size
}

func hexRune(digits []byte) (r rune) {
	for _, c := range digits {
		r = r<<4 | hexDigit(c)
	}
	return r
}

// unquote returns the content of a valid string. A lone surrogate becomes U+FFFD.
// If there are no escapes, the result is a slice of quoted.
func unquote(quoted []byte) []byte {
	rest := quoted[1 : len(quoted)-1]
	plain := bytes.IndexByte(rest, '\\')
	if plain < 0 {
		return rest
	}
	out := make([]byte, 0, len(rest))
	for ; plain >= 0; plain = bytes.IndexByte(rest, '\\') {
		r, size := unescape(rest[plain:])
		out = utf8.AppendRune(append(out, rest[:plain]...), r)
		rest = rest[plain+size:]
	}
	return append(out, rest...)
}
