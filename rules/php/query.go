package php

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/stopwhen/stopwhen/rules/value"
)

// BuildQuery is PHP's http_build_query in its default encoding (RFC 1738): a space
// is +, ~ is %7E, true is 1, false is 0, and lists and objects are written element by
// element (l%5B0%5D=a, o%5Bx%5D=1). It leaves out nil and empty lists and objects.
func BuildQuery(params value.Object) string {
	var pairs []string
	for _, m := range params {
		pairs = appendPairs(pairs, escape(m.Name), m.Value)
	}
	return strings.Join(pairs, "&")
}

// appendPairs adds name=value for a value, or for each of its leaves. The name
// is already escaped.
func appendPairs(pairs []string, name string, v any) []string {
	switch v := v.(type) {
	case nil:
		return pairs
	case bool:
		if v {
			return append(pairs, name+"=1")
		}
		return append(pairs, name+"=0")
	case []any:
		for i, element := range v {
			pairs = appendPairs(pairs, name+"%5B"+strconv.Itoa(i)+"%5D", element)
		}
		return pairs
	}
	if members, ok := value.Members(v); ok {
		for _, m := range members {
			pairs = appendPairs(pairs, name+"%5B"+escape(m.Name)+"%5D", m.Value)
		}
		return pairs
	}
	return append(pairs, name+"="+escape(String(v)))
}

// ParseQuery parses a query string as the reference does for `paramIsQuery`: it
// ignores leading question marks and decodes names and values. The values of a repeated
// name become a list. The value of a name without = is nil, which [BuildQuery] leaves
// out.
func ParseQuery(text string) value.Object {
	text = strings.TrimLeft(text, "?")
	if text == "" {
		return value.Object{}
	}
	var params value.Object
	for pair := range strings.SplitSeq(text, "&") {
		name, raw, assigned := strings.Cut(pair, "=")
		param := value.Member{Name: unescape(name)}
		if assigned {
			param.Value = unescape(raw)
		}
		params = append(params, param)
	}
	return params.Gather()
}

// escape is PHP's urlencode: letters, digits, "-", "." and "_" stand for themselves, a
// space is "+", and every other byte is escaped.
func escape(text string) string { return strings.ReplaceAll(url.QueryEscape(text), "~", "%7E") }

// unescape is PHP's urldecode. Unlike net/url, it does not change a % that is not
// followed by two hexadecimal digits.
func unescape(text string) string {
	if !strings.ContainsAny(text, "%+") {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c == '+' {
			c = ' '
		}
		if c == '%' && i+2 < len(text) {
			if n, err := strconv.ParseUint(text[i+1:i+3], 16, 8); err == nil {
				c = byte(n)
				i += 2
			}
		}
		b.WriteByte(c)
	}
	return b.String()
}
