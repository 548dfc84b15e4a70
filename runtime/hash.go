package runtime

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"unicode/utf16"
	"unicode/utf8"
)

// Hash is a hash of the content, the same in every process: equal for documents
// that differ only in insignificant whitespace and in the escapes of strings.
// Order of keys and spelling of numbers count. The values at the ignored paths
// are left out; their keys are not.
func (d *Document) Hash(ignore [][]string) [sha256.Size]byte {
	if len(ignore) == 0 && !d.facts.escapes && d.facts.spaces == 0 {
		return sha256.Sum256(d.raw)
	}
	var skip *pathTree
	if len(ignore) > 0 {
		skip = newPathTree(ignore)
	}
	hash := sha256.New()
	w := bufio.NewWriterSize(hash, 8<<10)
	c := canonical{out: w, raw: d.raw}
	if skip == nil && d.facts.spaces == 0 {
		c.text(d.raw) // only strings hold backslashes, so no structure need be followed
	} else {
		c.value(d.facts.root.start, skip)
	}
	_ = w.Flush() // a hash never fails
	return [sha256.Size]byte(hash.Sum(nil))
}

// canonical writes a valid document without insignificant whitespace and with
// every string in one spelling: escaped is only what must be.
type canonical struct {
	out     *bufio.Writer // the caller flushes it and looks at the error
	raw     []byte
	numbers func(raw []byte) []byte // how to write a number; nil: as it was sent
}

// value writes the value at i, leaving out what the tree tracks, and returns
// the offset behind it.
func (c *canonical) value(i int, skip *pathTree) int {
	if skip != nil && skip.tracked {
		return valueEnd(c.raw, i)
	}
	switch c.raw[i] {
	case '{', '[':
		return c.container(i, skip)
	case '"':
		end := textEnd(c.raw, i)
		c.text(c.raw[i:end])
		return end
	}
	end := valueEnd(c.raw, i)
	if number := c.raw[i] == '-' || isDigit(c.raw[i]); number && c.numbers != nil {
		_, _ = c.out.Write(c.numbers(c.raw[i:end]))
	} else {
		_, _ = c.out.Write(c.raw[i:end])
	}
	return end
}

func (c *canonical) container(i int, skip *pathTree) int {
	open := c.raw[i]
	_ = c.out.WriteByte(open)
	i = skipSpace(c.raw, i+1)
	for n := 0; c.raw[i] != open+2; n++ { // '}' is '{'+2, and ']' is '['+2
		if c.raw[i] == ',' {
			_ = c.out.WriteByte(',')
			i = skipSpace(c.raw, i+1)
		}
		var inner *pathTree
		if open == '{' {
			end := textEnd(c.raw, i)
			inner = skip.member(c.raw[i:end])
			c.text(c.raw[i:end])
			_ = c.out.WriteByte(':')
			i = skipSpace(c.raw, skipSpace(c.raw, end)+1)
		} else {
			inner = skip.element(n)
		}
		i = skipSpace(c.raw, c.value(i, inner))
	}
	_ = c.out.WriteByte(open + 2)
	return i + 1
}

// text writes strings in their one spelling, and whatever has no backslash as it
// is.
func (c *canonical) text(quoted []byte) {
	for {
		plain := bytes.IndexByte(quoted, '\\')
		if plain < 0 {
			_, _ = c.out.Write(quoted)
			return
		}
		_, _ = c.out.Write(quoted[:plain])
		r, size := unescape(quoted[plain:])
		switch {
		case r == '"' || r == '\\':
			_ = c.out.WriteByte('\\')
			_ = c.out.WriteByte(byte(r))
		case r < ' ' || utf16.IsSurrogate(r):
			const hex = "0123456789abcdef"
			_, _ = c.out.WriteString(`\u`)
			for shift := 12; shift >= 0; shift -= 4 {
				_ = c.out.WriteByte(hex[r>>shift&15])
			}
		default:
			_, _ = c.out.WriteRune(r)
		}
		quoted = quoted[plain+size:]
	}
}

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
