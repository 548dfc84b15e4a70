package redact

import (
	"encoding/base64"
	"encoding/hex"
	"net/url"
	"slices"
	"strings"
)

// A form is a way of writing a secret that is no escaping: escapes are removed
// before a text is searched.
type form struct {
	name   string
	of     func(secret string) string         // nil: it cannot be written again
	extend func(text string, inner span) span // what else gives the secret away
}

// shortForms are the forms of a secret that is shorter than [ShortestSecret].
var shortForms = []form{
	{"", func(secret string) string { return secret }, exactly},
	{"+", func(secret string) string { return strings.ReplaceAll(secret, " ", "+") }, exactly},
}

// forms are those of all other secrets. A text in base64 that contains the secret
// has one of three forms of it, depending on the position of the secret.
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

// base64Form is the part of a text in base64 that depends on the secret alone if the
// number of bytes before it, divided by 3, leaves the remainder before. The character
// on either side of it depends on the secret in part.
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

// Spell returns a secret in the form that [Found] names. It reports false for an
// unknown form.
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
	if escaped := url.QueryEscape(text); escaped != text { // in Basic, RFC 6749 escapes a secret before base64
		for _, f := range base64Forms {
			out = append(out, needle{text: f.of(escaped), form: form{extend: f.extend}})
		}
	}
	for u, ok := unescape(text); ok; u, ok = unescape(u.text) { // as a text that was unescaped has it
		out = append(out, needle{text: u.text, form: form{extend: exactly}, alone: len(u.text) < ShortestSecret})
	}
	return out
}
