package redact

import (
	"html"
	"sort"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// An unescaped text is one in which every escape of URLs, JSON, PHP and HTML was
// replaced by what it stands for.
type unescaped struct {
	text    string
	escapes []escape // in their order
}

// An escape is one that was replaced: size bytes at from became length bytes at.
type escape struct{ at, length, from, size int }

// unescape replaces the escapes of a text, once: what results may be an escape
// again. It reports false if there are none.
func unescape(text string) (unescaped, bool) {
	first := strings.IndexAny(text, `%\&`)
	if first < 0 {
		return unescaped{}, false
	}
	u := unescaped{}
	var b strings.Builder
	copied := 0
	for i := first; i < len(text); {
		plain, size := "", 0
		switch text[i] {
		case '%':
			plain, size = percent(text[i:])
		case '\\':
			plain, size = backslash(text[i:])
		case '&':
			plain, size = entity(text[i:])
		}
		if size == 0 {
			i++
			continue
		}
		b.WriteString(text[copied:i])
		u.escapes = append(u.escapes, escape{at: b.Len(), length: len(plain), from: i, size: size})
		b.WriteString(plain)
		i += size
		copied = i
	}
	if copied == 0 {
		return unescaped{}, false
	}
	b.WriteString(text[copied:])
	u.text = b.String()
	return u, true
}

// source returns the part of the text with escapes that a part of the text without
// them comes from.
func (u unescaped) source(part span) span {
	return span{u.offset(part.start, false), u.offset(part.end, true)}
}

// offset returns where a byte comes from. Within an escape it is the escape's
// beginning or, as the end of a part, its end.
func (u unescaped) offset(at int, end bool) int {
	i := sort.Search(len(u.escapes), func(i int) bool {
		return u.escapes[i].at > at || end && u.escapes[i].at == at
	}) - 1
	if i < 0 {
		return at
	}
	e := u.escapes[i]
	if within := at - e.at; within >= e.length {
		return e.from + e.size + within - e.length
	}
	if end {
		return e.from + e.size
	}
	return e.from
}

// percent reads %2f or %u00e9 at the beginning of a text. The size is 0 if there is
// no escape.
func percent(text string) (plain string, size int) {
	if r, ok := hexRune(text, 2, 4); ok && (text[1] == 'u' || text[1] == 'U') {
		return string(r), 6
	}
	if b, ok := hexByte(text, 1); ok {
		return string([]byte{b}), 3
	}
	return "", 0
}

// backslash reads an escape of JSON or PHP: \/, \u00e9, \xe9, \n.
func backslash(text string) (plain string, size int) {
	if len(text) < 2 {
		return "", 0
	}
	switch c := text[1]; c {
	case 'u':
		return unicodeEscape(text)
	case 'x':
		if b, ok := hexByte(text, 2); ok {
			return string([]byte{b}), 4
		}
		return "", 0
	default:
		if i := strings.IndexByte("nrtbf0", c); i >= 0 {
			return "\n\r\t\b\f\x00"[i : i+1], 2
		}
		if c < utf8.RuneSelf && !isAlphanumeric(rune(c)) && c > ' ' {
			return text[1:2], 2
		}
		return "", 0
	}
}

// unicodeEscape reads \u00e9, or two such escapes that are one character.
func unicodeEscape(text string) (plain string, size int) {
	r, ok := hexRune(text, 2, 4)
	if !ok {
		return "", 0
	}
	if utf16.IsSurrogate(r) && len(text) >= 12 && text[6:8] == `\u` {
		if low, ok := hexRune(text, 8, 4); ok {
			return string(utf16.DecodeRune(r, low)), 12
		}
	}
	return string(r), 6
}

// entity reads &amp;, &#233; or &#xE9;.
func entity(text string) (plain string, size int) {
	const longest = 34
	end := 1
	for end < min(len(text), longest) && (text[end] == '#' || isAlphanumeric(rune(text[end]))) {
		end++
	}
	if end < len(text) && text[end] == ';' {
		end++
	}
	if plain = html.UnescapeString(text[:end]); plain == text[:end] {
		return "", 0
	}
	return plain, end
}

func hexByte(text string, at int) (byte, bool) {
	r, ok := hexRune(text, at, 2)
	return byte(r), ok
}

func hexRune(text string, at, digits int) (rune, bool) {
	if len(text) < at+digits {
		return 0, false
	}
	n, err := strconv.ParseUint(text[at:at+digits], 16, 32)
	return rune(n), err == nil
}
