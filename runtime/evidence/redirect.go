package evidence

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/stopwhen/stopwhen/rules/wording"
)

// A redirectSearch finds pages without items that come from elsewhere than the pages before them.
type redirectSearch struct {
	*listView
	memory *redirectMemory
}

// A redirectMemory is what a [redirectSearch] remembers of earlier pages.
type redirectMemory struct {
	Redirects []string `json:"redirects,omitempty"` // paths to which earlier pages were redirected, with # for each number
}

// maxRedirects is the largest number of paths that are remembered.
const maxRedirects = 16

// notice notices the first page without items that was redirected to a path to which no page before it was, such as /login.
// On page 1, the path must say that it is not that of a list.
func (s redirectSearch) notice(landed string) {
	c := s.context
	if landed == "" || c.Status >= http.StatusBadRequest {
		return
	}
	path := pathOf(landed)
	if path == pathOf(s.sent.URL) {
		return
	}
	kind := digits().ReplaceAllString(path, "#")
	switch known := slices.Contains(s.memory.Redirects, kind); {
	case known:
	case c.Count > 0:
		if len(s.memory.Redirects) < maxRedirects {
			s.memory.Redirects = append(s.memory.Redirects, kind)
		}
	case s.facts.LandedPage == 0 && (c.Page > 1 || refusalPath().MatchString(path)):
		s.facts.LandedPage, s.facts.LandedPath = c.Page, wording.Clip(path, 200)
	}
}

// pathOf returns the path of an address without a slash at its end.
func pathOf(address string) string {
	parsed, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return strings.TrimRight(parsed.Path, "/")
}

var (
	digits      = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[0-9]+`) })
	refusalPath = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)(^|[/_.-])(log-?in|sign-?in|sso|expired|errors?|maintenance|unavailable|denied|` +
			`forbidden|unauthori[sz]ed|` +
			`captcha|blocked|timeout)([/_.-]|$)`)
	})
)
