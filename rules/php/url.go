package php

import (
	"strconv"
	"strings"

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
	u := parseURL(url)
	u.query, u.hasQuery = BuildQuery(mergeQuery(u.query, params)), true
	return u.String()
}

func mergeQuery(query string, params value.Object) value.Object {
	var all value.Object
	if query != "" {
		for pair := range strings.SplitSeq(query, "&") {
			name, raw, _ := strings.Cut(pair, "=")
			all = append(all, value.Member{Name: name, Value: unescape(raw)})
		}
	}
	for _, m := range params {
		if !Empty(m.Name) {
			all = append(all, m)
		}
	}
	return value.Object(nil).Merge(all)
}

// address is the result of PHP's parse_url.
type address struct {
	scheme, user, pass, host string
	port                     int // -1: none
	path, query, fragment    string

	hasUser, hasPass, hasQuery, hasFragment bool
}

// String returns the URL. Without both a scheme and a host it begins with the path.
func (u address) String() string {
	var b strings.Builder
	if !Empty(u.scheme) && !Empty(u.host) {
		b.WriteString(u.scheme + "://")
		if u.hasUser {
			b.WriteString(u.user)
			if u.hasPass {
				b.WriteString(":" + u.pass)
			}
			b.WriteByte('@')
		}
		b.WriteString(u.host)
		if u.port >= 0 {
			b.WriteString(":" + strconv.Itoa(u.port))
		}
	}
	b.WriteString(u.path)
	if u.hasQuery {
		b.WriteString("?" + u.query)
	}
	if u.hasFragment {
		b.WriteString("#" + u.fragment)
	}
	return b.String()
}

// parseURL is PHP's parse_url, which decides by the first colon whether the URL has a
// scheme or a port. A URL that it refuses has no parts.
func parseURL(url string) address {
	url = maskControls(url)
	u := address{port: -1}
	var ok bool
	switch form, colon := formOf(url); form {
	case schemeAndHost:
		u.scheme = url[:colon]
		ok = u.readHost(url[colon+len("://"):])
	case schemeAndPath:
		u.scheme = url[:colon]
		u.readPath(url[colon+1:])
		ok = true
	case hostOnly:
		ok = u.readHost(strings.TrimPrefix(url, "//"))
	case pathOnly:
		u.readPath(url)
		ok = true
	case refused:
	}
	if !ok {
		return address{port: -1}
	}
	return u
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

// form is what a URL begins with.
type form int

const (
	refused form = iota
	pathOnly
	hostOnly
	schemeAndPath
	schemeAndHost
)

// formOf returns what a URL begins with, and the index of its first colon.
func formOf(url string) (form, int) {
	withoutScheme := pathOnly
	if strings.HasPrefix(url, "//") {
		withoutScheme = hostOnly
	}
	colon := strings.IndexByte(url, ':')
	if colon < 0 {
		return withoutScheme, colon
	}
	before, after := url[:colon], url[colon+1:]
	switch {
	case url == ":":
		return refused, colon
	case isScheme(before) && strings.HasPrefix(after, "//"):
		return schemeAndHost, colon
	case isPort(after) && !strings.ContainsAny(before, "?#"):
		if number(after[:digits(after)]) > maxPort {
			return refused, colon
		}
		return hostOnly, colon
	case isScheme(before):
		return schemeAndPath, colon
	}
	return withoutScheme, colon
}

const maxPort = 1<<16 - 1

// isPort reports whether the text after the colon is up to five digits, followed by
// the path or nothing.
func isPort(after string) bool {
	n := digits(after)
	return n > 0 && n < 6 && (n == len(after) || after[n] == '/')
}

// isScheme reports whether a text may be a scheme. In PHP it may begin with a digit.
func isScheme(text string) bool {
	for _, c := range []byte(text) {
		letter := c|0x20 >= 'a' && c|0x20 <= 'z'
		if !letter && (c < '0' || c > '9') && c != '+' && c != '.' && c != '-' {
			return false
		}
	}
	return text != ""
}

// readHost reads user, password, host and port, and then the path. It reports false if
// there is no host or the port is invalid.
func (u *address) readHost(text string) bool {
	end := strings.IndexAny(text, "/?#")
	if end < 0 {
		end = len(text)
	}
	host, path := text[:end], text[end:]
	if at := strings.LastIndexByte(host, '@'); at >= 0 {
		u.user, u.pass, u.hasPass = strings.Cut(host[:at], ":")
		u.hasUser, host = true, host[at+1:]
	}
	colon := strings.LastIndexByte(host, ':')
	if strings.HasPrefix(host, "[") && strings.HasSuffix(host, "]") {
		colon = -1
	}
	if colon >= 0 {
		if text := host[colon+1:]; text != "" {
			n := digits(text)
			port := number(text[:n])
			if n == 0 || len(text) > 5 || port > maxPort {
				return false
			}
			u.port = port
		}
		host = host[:colon]
	}
	u.host = host
	u.readPath(path)
	return host != ""
}

func (u *address) readPath(text string) {
	text, u.fragment, u.hasFragment = strings.Cut(text, "#")
	u.path, u.query, u.hasQuery = strings.Cut(text, "?")
}
