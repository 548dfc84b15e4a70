package document

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

// unescape reads the escape at the beginning of a valid string's rest, and the
// second half of a surrogate pair with it. A lone surrogate is returned as it is.
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

// character reads one character of a valid document, escaped or not. A quote that
// is escaped is none that ends a string, and bytes that are not UTF-8 are none.
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

// unquote is the content of a valid string; a lone surrogate becomes U+FFFD.
// Without escapes it is a part of the argument.
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

// valueEnd is the offset behind the value that begins at i, in a valid document.
func valueEnd(raw []byte, i int) int {
	for depth := 0; i < len(raw); {
		switch structure[raw[i]] {
		case isQuote:
			i = textEnd(raw, i)
			if depth == 0 {
				return i
			}
			continue
		case isOpen:
			depth++
		case isClose:
			if depth == 0 {
				return i
			}
			if depth--; depth == 0 {
				return i + 1
			}
		case isComma, isBlank:
			if depth == 0 {
				return i
			}
		}
		i++
	}
	return i
}

// structure sorts the bytes of a valid document, outside strings.
var structure = [256]byte{
	'"': isQuote,
	'{': isOpen, '[': isOpen,
	'}': isClose, ']': isClose,
	',': isComma,
	' ': isBlank, '\n': isBlank, '\r': isBlank, '\t': isBlank,
}

const (
	isQuote = iota + 1
	isOpen
	isClose
	isComma
	isBlank
)
