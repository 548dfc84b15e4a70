package redact

import (
	"encoding/base64"
	"encoding/hex"
	"html"
	"net/url"
	"slices"
	"sort"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// A form is a spelling of a secret, apart from escapes, which are removed before a search.
type form struct {
	name   string
	of     func(secret string) string         // nil if the form cannot be written
	extend func(text string, inner span) span // extends a needle to the surrounding text that also reveals the secret
}

// shortForms are the forms of a secret that is shorter than [ShortestSecret].
var shortForms = []form{
	{"", func(secret string) string { return secret }, exactly},
	{"+", func(secret string) string { return strings.ReplaceAll(secret, " ", "+") }, exactly},
}

// forms are the forms of all other secrets. A base64 text that contains the secret has one of three
// forms of it, depending on its offset.
var forms = slices.Concat(shortForms, []form{
	{"hex", func(secret string) string { return hex.EncodeToString([]byte(secret)) }, exactly},
	{"HEX", func(secret string) string { return strings.ToUpper(hex.EncodeToString([]byte(secret))) }, exactly},
}, base64Forms)

var base64Forms = []form{
	base64Form("b64.0", base64.RawStdEncoding, 0), base64Form("b64url.0", base64.RawURLEncoding, 0),
	base64Form("b64.1", base64.RawStdEncoding, 1), base64Form("b64url.1", base64.RawURLEncoding, 1),
	base64Form("b64.2", base64.RawStdEncoding, 2), base64Form("b64url.2", base64.RawURLEncoding, 2),
}

func exactly(_ string, inner span) span { return inner }

// base64Form returns the part of a base64 text that depends on the secret alone, if the number of
// bytes before the secret leaves the remainder before when divided by 3. The characters on either
// side depend on the secret in part.
func base64Form(name string, encoding *base64.Encoding, before int) form {
	skipped := []int{0, 2, 3}[before]
	core := func(secret string) string {
		text := encoding.EncodeToString([]byte(strings.Repeat("\x00", before) + secret))
		if (before+len(secret))%3 != 0 {
			text = text[:len(text)-1]
		}
		return text[min(skipped, len(text)):]
	}
	return form{name, core, func(text string, inner span) span {
		partial := (skipped+inner.end-inner.start)%4 != 0
		if before > 0 && inner.start > 0 && isBase64(text[inner.start-1]) {
			inner.start--
		}
		if partial && inner.end < len(text) && isBase64(text[inner.end]) {
			inner.end++
		}
		for inner.end < len(text) && text[inner.end] == '=' {
			inner.end++
		}
		return inner
	}}
}

func isBase64(c byte) bool {
	return c < 0x80 && isAlphanumeric(rune(c)) || c == '+' || c == '/' || c == '-' || c == '_'
}

// Spell returns a secret in the form that [Match] states. It reports false for an unknown form.
func Spell(name, secret string) (string, bool) {
	for _, f := range forms {
		if f.name == name {
			return f.of(secret), true
		}
	}
	return "", false
}

// needlesOf returns the forms of a secret.
func needlesOf(text string) []needle {
	var out []needle
	if len(text) < ShortestSecret {
		for _, f := range shortForms {
			out = append(out, needle{text: f.of(text), form: f, alone: true})
		}
		return out
	}
	for _, f := range forms {
		out = append(out, needle{text: f.of(text), form: f})
	}
	if escaped := url.QueryEscape(text); escaped != text { // RFC 6749 escapes a secret before base64 in Basic credentials
		for _, f := range base64Forms {
			out = append(out, needle{text: f.of(escaped), form: form{extend: f.extend}})
		}
	}
	for u, ok := unescape(text); ok; u, ok = unescape(u.text) { // forms in a text after unescaping
		out = append(out, needle{text: u.text, form: form{extend: exactly}, alone: len(u.text) < ShortestSecret})
	}
	return out
}

// An unescapedText is a text in which every escape of URLs, JSON, PHP and HTML was replaced by its
// character.
type unescapedText struct {
	text    string
	escapes []escape // in order
}

// An escape is an escape sequence that was replaced: size bytes at from became length bytes at at.
type escape struct{ at, length, from, size int }

// unescape replaces the escapes of a text once. The result may contain escapes again. It reports
// false if the text has no escapes.
func unescape(text string) (unescapedText, bool) {
	first := strings.IndexAny(text, `%\&`)
	if first < 0 {
		return unescapedText{}, false
	}
	u := unescapedText{}
	var b strings.Builder
	copied := 0
	for i := first; i < len(text); {
		char, size := escapeAt(text[i:])
		if size == 0 {
			i++
			continue
		}
		b.WriteString(text[copied:i])
		u.escapes = append(u.escapes, escape{at: b.Len(), length: len(char), from: i, size: size})
		b.WriteString(char)
		i += size
		copied = i
	}
	if copied == 0 {
		return unescapedText{}, false
	}
	b.WriteString(text[copied:])
	u.text = b.String()
	return u, true
}

// source returns the part of the escaped text from which a part of the unescaped text comes.
func (u unescapedText) source(part span) span {
	return span{u.startOffset(part.start), u.endOffset(part.end)}
}

// startOffset returns the offset in the escaped text for the start of a part of the unescaped text. An
// escape that the part begins in belongs to it.
func (u unescapedText) startOffset(start int) int {
	i := sort.Search(len(u.escapes), func(i int) bool { return u.escapes[i].at > start }) - 1
	if i < 0 {
		return start
	}
	if e := u.escapes[i]; start < e.at+e.length {
		return e.from
	}
	return u.escapes[i].after(start)
}

// endOffset is startOffset for the end of a part. An escape that the part ends in belongs to it.
func (u unescapedText) endOffset(end int) int {
	i := sort.Search(len(u.escapes), func(i int) bool { return u.escapes[i].at >= end }) - 1
	if i < 0 {
		return end
	}
	if e := u.escapes[i]; end < e.at+e.length {
		return e.from + e.size
	}
	return u.escapes[i].after(end)
}

// after returns the offset in the escaped text for an offset in the unescaped text between the escape
// and the next.
func (e escape) after(at int) int { return e.from + e.size + at - (e.at + e.length) }

// percent decodes %2f or %u00e9 at the beginning of a text. The size is 0 if there is no escape.
func percent(text string) (plain string, size int) {
	if r, ok := hexRune(text, 2, 4); ok && (text[1] == 'u' || text[1] == 'U') {
		return string(r), 6
	}
	if b, ok := hexByte(text, 1); ok {
		return string([]byte{b}), 3
	}
	return "", 0
}

// backslash decodes an escape of JSON or PHP: \/, \u00e9, \xe9, \n.
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

// unicodeEscape decodes \u00e9, or two such escapes that form one character.
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

// entity decodes &amp;, &#233; or &#xE9;.
func entity(text string) (char string, size int) {
	const longest = 34
	end := 1
	for end < min(len(text), longest) && (text[end] == '#' || isAlphanumeric(rune(text[end]))) {
		end++
	}
	if end < len(text) && text[end] == ';' {
		end++
	}
	if char = html.UnescapeString(text[:end]); char == text[:end] {
		return "", 0
	}
	return char, end
}

func hexByte(text string, at int) (byte, bool) {
	r, ok := hexRune(text, at, 2)
	return byte(r), ok
}

func hexRune(text string, start, digits int) (rune, bool) {
	if len(text) < start+digits {
		return 0, false
	}
	n, err := strconv.ParseUint(text[start:start+digits], 16, 32)
	return rune(n), err == nil
}
