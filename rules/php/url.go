package php

import (
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/stopwhen/stopwhen/rules/value"
)

// MergeURL merges params into the query of a URL as the reference does. Without params
// it returns the URL unchanged. Otherwise it drops params named "" or "0", puts the
// URL's own parameters first, overrides those of the same name in their place, and
// rewrites the URL with these peculiarities:
//
//   - names in the URL's query are not decoded but encoded once more (a%5B0%5D becomes
//     a%255B0%255D), a repeated name has its first place and its last value, and a name
//     without = gets one;
//   - scheme and host are dropped unless the URL has both, so //host/x becomes /x and
//     a:b becomes b;
//   - a URL that PHP cannot parse (http:///x) is reduced to the query.
func MergeURL(url string, params value.Object) string {
	if len(params) == 0 {
		return url
	}
	origin, rest := splitURL(maskControls(url))
	rest, fragment, hasFragment := strings.Cut(rest, "#")
	path, query, _ := strings.Cut(rest, "?")
	url = origin + path + "?" + BuildQuery(mergeQuery(query, params))
	if hasFragment {
		url += "#" + fragment
	}
	return url
}

func mergeQuery(query string, params value.Object) value.Object {
	var merged value.Object
	if query != "" {
		for pair := range strings.SplitSeq(query, "&") {
			name, raw, _ := strings.Cut(pair, "=")
			merged = append(merged, value.Member{Name: name, Value: unescape(raw)})
		}
	}
	for _, m := range params {
		if !Empty(m.Name) {
			merged = append(merged, m)
		}
	}
	return value.Object(nil).Merge(merged)
}

// maskControls replaces control characters by underscores, as PHP does.
func maskControls(url string) string {
	out := []byte(url)
	for i, c := range out {
		if c < ' ' || c == 0x7f {
			out[i] = '_'
		}
	}
	return string(out)
}

var (
	schemeForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9+.-]+$`) }) // in PHP, it may begin with a digit
	portForm   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([0-9]{1,5})(?:/|$)`) })
)

const maxPort = 1<<16 - 1

// splitURL splits a URL into its scheme and host, if it has both, and the text after the host.
// Like PHP's parse_url it decides by the first colon whether there is a scheme or a port.
// Both parts of a URL that PHP refuses are empty.
func splitURL(url string) (origin, rest string) {
	before, after, colon := strings.Cut(url, ":")
	hasScheme := colon && schemeForm().MatchString(before)
	port := portForm().FindStringSubmatch(after)
	switch {
	case hasScheme && strings.HasPrefix(after, "//"):
		host, rest := splitHost(after[len("//"):])
		if host == "" || Empty(before) {
			return "", rest
		}
		return before + "://" + host, rest
	case port != nil && !strings.ContainsAny(before, "?#"):
		if number(port[1]) > maxPort {
			return "", ""
		}
		_, rest := splitHost(strings.TrimPrefix(url, "//"))
		return "", rest
	case strings.HasPrefix(url, "//"):
		_, rest := splitHost(url[len("//"):])
		return "", rest
	case hasScheme:
		return "", after
	case url == ":":
		return "", ""
	}
	return "", url
}

// splitHost splits the host, with its user and its port, from the text after it. A name that PHP takes
// for empty is not a host. Without a host, or with an invalid port, both are empty.
func splitHost(text string) (host, rest string) {
	end := strings.IndexAny(text, "/?#")
	if end < 0 {
		end = len(text)
	}
	host, rest = text[:end], text[end:]
	name := host[strings.LastIndexByte(host, '@')+1:]
	user, port := strings.TrimSuffix(host, name), ""
	if colon := strings.LastIndexByte(name, ':'); colon >= 0 && (name[0] != '[' || !strings.HasSuffix(name, "]")) {
		name, port = name[:colon], name[colon+1:]
	}
	if port != "" { // the digits at its beginning count
		digits := port[:len(port)-len(strings.TrimLeft(port, "0123456789"))]
		if digits == "" || len(port) > 5 || number(digits) > maxPort {
			return "", ""
		}
		port = ":" + strconv.Itoa(number(digits))
	}
	switch {
	case name == "":
		return "", ""
	case Empty(name):
		return "", rest
	}
	return user + name + port, rest
}
