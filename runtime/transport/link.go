package transport

import (
	"strings"

	"github.com/stopwhen/stopwhen/rules/requests"
)

// Link returns the absolute URL, as a string, of the first link with the relation
// rel in the Link headers (RFC 8288). With param, it returns the value of that
// parameter of the link instead. It returns nil if there is none, and a target that
// is not an address unchanged.
func (r *Response) Link(rel string, param ...string) any {
	for _, header := range r.Header.Values("Link") {
		for _, l := range parseLinks(header) {
			if !l.has(rel) {
				continue
			}
			if len(param) > 0 {
				if v, ok := l.params[strings.ToLower(param[0])]; ok {
					return v
				}
				return nil
			}
			target, err := requests.Resolve(r.URL, l.target)
			if err != nil {
				return l.target // the request that uses it fails and shows it
			}
			return target
		}
	}
	return nil
}

// A link is one link-value of a Link header.
type link struct {
	target string
	params map[string]string // by lower-case name; the first of a name counts
}

// has reports whether the link has a relation. Relations are separated by spaces
// and compared without case.
func (l link) has(rel string) bool {
	for relation := range strings.FieldsSeq(l.params["rel"]) {
		if strings.EqualFold(relation, rel) {
			return true
		}
	}
	return false
}

// parseLinks reads the links of a header. It skips text that is not a link.
func parseLinks(header string) []link {
	var links []link
	for {
		_, rest, found := strings.Cut(header, "<")
		target, rest, closed := strings.Cut(rest, ">")
		if !found || !closed {
			return links
		}
		l := link{target: strings.TrimSpace(target), params: map[string]string{}}
		header = l.readParams(rest)
		links = append(links, l)
	}
}

// readParams reads parameters of the form `; name=value` up to the comma that
// ends the link, and returns the text after it.
func (l link) readParams(s string) string {
	for {
		s = strings.TrimLeft(s, " \t")
		if s == "" || s[0] != ';' {
			return strings.TrimPrefix(s, ",")
		}
		s = strings.TrimLeft(s[1:], " \t")
		end := strings.IndexAny(s, "=;,")
		if end < 0 {
			end = len(s)
		}
		name, value := strings.ToLower(strings.TrimSpace(s[:end])), ""
		s = s[end:]
		if strings.HasPrefix(s, "=") {
			value, s = paramValue(strings.TrimLeft(s[1:], " \t"))
		}
		if _, duplicate := l.params[name]; !duplicate && name != "" {
			l.params[name] = value
		}
	}
}

// paramValue reads a token or a quoted string, and returns the text after it.
func paramValue(s string) (value, rest string) {
	if !strings.HasPrefix(s, `"`) {
		end := strings.IndexAny(s, ";,")
		if end < 0 {
			end = len(s)
		}
		return strings.TrimSpace(s[:end]), s[end:]
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '\\' && i+1 < len(s):
			i++
			b.WriteByte(s[i])
		case s[i] == '"':
			return b.String(), s[i+1:]
		default:
			b.WriteByte(s[i])
		}
	}
	return b.String(), ""
}
