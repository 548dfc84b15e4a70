package transport

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/stopwhen/stopwhen/rules/requests"
)

// Link returns the absolute URL of the first link with the relation rel in the Link headers (RFC
// 8288), as a string. With param, it returns the value of that parameter of the link. It returns
// nil if there is no such link or parameter. A link without a target is none. It returns a target that is not a valid address
// unchanged.
func (r *Response) Link(rel string, param ...string) any {
	for _, header := range r.Header.Values("Link") {
		for _, l := range parseLinks(header) {
			relations := strings.Fields(l.params["rel"])
			if !slices.ContainsFunc(relations, func(relation string) bool { return strings.EqualFold(relation, rel) }) {
				continue
			}
			if len(param) > 0 {
				if v, ok := l.params[strings.ToLower(param[0])]; ok {
					return v
				}
				return nil
			}
			if l.target == "" { // there is no further page; resolved, it would be the request's own address
				continue
			}
			target, err := requests.Resolve(r.URL, l.target)
			if err != nil {
				return l.target // the request that uses the target fails and shows it
			}
			return target
		}
	}
	return nil
}

// A link is one link-value of a Link header.
type link struct {
	target string
	params map[string]string // by lower-case name; the first parameter of a name counts
}

// The syntax of links: a target with its parameters, and a parameter with a token or a quoted
// string, whose closing quote may be missing. Some APIs write single quotes.
var (
	linkValue = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`<([^>]*)>((?:` + linkParam().String() + `)*)`) })
	linkParam = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`[ \t]*;([^=;,]*)(?:=[ \t]*(?:"((?s:[^"\\]|\\.)*\\?)"?|([^;,"][^;,]*)?))?`)
	})
	escaped = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?s)\\(.)`) })
)

// parseLinks returns the links in a header. It skips any other text.
func parseLinks(header string) (links []link) {
	for _, l := range linkValue().FindAllStringSubmatch(header, -1) {
		params := map[string]string{}
		for _, p := range linkParam().FindAllStringSubmatch(l[2], -1) {
			name := strings.ToLower(strings.TrimSpace(p[1]))
			if _, duplicate := params[name]; !duplicate && name != "" {
				params[name] = escaped().ReplaceAllString(p[2], "$1") + strings.Trim(strings.TrimSpace(p[3]), "'")
			}
		}
		links = append(links, link{strings.TrimSpace(l[1]), params})
	}
	return links
}
