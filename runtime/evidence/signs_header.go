package evidence

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/stopwhen/stopwhen/compile/language"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/apinames"
	"github.com/stopwhen/stopwhen/rules/lists"
)

// appendRange appends the sign in the Content-Range header, if it begins after the first item and the request did not ask for that.
func (s signSearch) appendRange(found []foundSign) []foundSign {
	if m := rangeStart().FindStringSubmatch(s.header.Get("Content-Range")); m != nil && !contains(s.context.Sent.Params, m[1]) {
		at := "that the range of Content-Range begins with " + m[1] + ", after the first item,"
		found = append(found, foundSign{kind: apinames.SignPrevious, at: at, value: true})
	}
	return found
}

// rangeStart matches the range of a Content-Range of items that begins after the first one, and a range counts from 0 or 1.
var rangeStart = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:items|records|rows|results) ([1-9]\d+|[2-9])-\d+/`)
})

// appendLink appends the signs in the Link header, if there is one.
func (s signSearch) appendLink(found []foundSign) []foundSign {
	if len(s.header["Link"]) == 0 {
		return found
	}
	if s.context.Page == 1 { // see noticeTotal
		for _, relation := range []string{"prev", "previous"} {
			found = append(found, foundSign{kind: apinames.SignBack, at: "the Link header", value: s.context.Link(relation)})
		}
	}
	text, next := s.header.Get("Link"), s.context.Link("next")
	switch {
	case leadsNowhere().MatchString(text):
	case next != nil:
		found = append(found, foundSign{kind: apinames.SignNext, at: "the Link header", value: next, by: s.readsNextLink})
	case relNext().MatchString(text), slices.ContainsFunc(s.subject.decisives, s.readsNextLink) && isCutOff(text):
		found = append(found, foundSign{kind: apinames.SignNext, at: "the Link header, whose next link cannot be read,", value: text})
	}
	return found
}

// isCutOff reports whether the last link of a Link header has no relation, or one without its closing quote. The header
// may have been cut off within a next link.
func isCutOff(header string) bool {
	header = quoted().ReplaceAllString(header, "quoted") // a title may have any character
	last := strings.LastIndexByte(header, '<')
	return last >= 0 && !relation().MatchString(header[last:])
}

// relNext finds a next link in a Link header that cannot be read, or has a relation of the API's own: rel="nextPage".
var relNext = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\brel\s*=\s*["']?([^"';,\s]*[/:#])?next([-_]?page)?\b`)
})

// leadsNowhere matches a next link that says that there is nothing, as that of Sentry's last page does, or has no target.
var leadsNowhere = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\brel\s*=\s*"?next"?\s*;\s*results\s*=\s*"?false|<\s*>\s*;\s*rel\s*=\s*"?next\b`)
})

// readsNextLink reports whether a rule reads the next link of the Link header. A link with another relation may lead
// through the list, too, but not if page 1 lacks it.
func (p *listView) readsNextLink(read language.Read) bool {
	return read.Root == rules.ContextLink && (p.context.Page > 1 || len(read.Args) == 0 || strings.EqualFold(read.Args[0], "next"))
}

// readsHeader returns a function that reports whether a rule reads a header.
func readsHeader(name string) func(language.Read) bool {
	return func(read language.Read) bool {
		return read.Root == rules.ContextHeader && len(read.Args) > 0 && strings.EqualFold(read.Args[0], name)
	}
}

// headerSigns has the headers of signs with their keys in a response.
var headerSigns = sync.OnceValue(func() []headerSign {
	return lists.Map(apinames.SignHeaders(), func(h apinames.SignHeader) headerSign {
		return headerSign{h, http.CanonicalHeaderKey(h.Name)}
	})
})

type headerSign struct {
	apinames.SignHeader
	key string
}

// isLinks reports whether a key has links to other pages.
func isLinks(key string) bool { return apinames.Alike(key, "link") || apinames.Alike(key, "links") }
