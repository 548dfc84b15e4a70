package detect

import (
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/apinames"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime/transport"
)

// A candidate is a pagination that may be the right one.
type candidate struct {
	sign   apinames.PagingSign
	values map[string]any // of the placeholders of the sign
	score  int            // the likeliest are tried first
	moved  []string       // parameters that the pagination sends instead of the job
	sets   value.Object   // parameters that the job gets
	extra  []string       // parameters that the first request has in addition

	pagination value.Object
	guess      string // the parameter, if nothing in the response or in the request names it
	alone      bool   // the token is sent without the parameters of the job
	base       bool   // it is not known whether counting begins at 0 or 1
}

// The scores of candidates. What the API states comes first, guesses come last.
const (
	stated     = 100
	namedParam = 90 // the request or a link in the response names the parameter
	typed      = 80 // the user wrote the parameter
	tokenGuess = 78
	echoed     = 75 // the response repeats the parameter
	keyGuess   = 60
	blind      = 50
	otherKey   = 12 // what each further name costs for the key of an item
	nextGuess  = 6  // what each further name of a parameter costs
)

// A seeker looks for signs on the first page.
type seeker struct {
	call  *call
	page  *page
	items list
	more  []fact // flags that say that there is more
	size  size
}

// candidates returns what may page through the list, the likeliest first.
func (s *seeker) candidates() []candidate {
	var all []candidate
	for i, sign := range apinames.PagingSigns() {
		if s.call.isGraphQL() && sign.Kind != apinames.PagingConnection {
			continue // its variables are known from the query only
		}
		if find := finders[sign.Kind]; find != nil && (!sign.POST || s.call.isJSON()) {
			for _, c := range find(s, sign) {
				c.sign = sign
				c.score = c.score*len(apinames.PagingSigns()) - i
				all = append(all, c)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b candidate) int { return b.score - a.score })
	var out []candidate
	for _, c := range all {
		s.complete(&c)
		text := textOf(c.pagination)
		if c.pagination != nil && !slices.ContainsFunc(out, func(o candidate) bool { return textOf(o.pagination) == text }) {
			out = append(out, c)
		}
	}
	return out
}

func textOf(v any) string {
	text, _ := value.Marshal(v)
	return string(text)
}

// finders look for a sign of each kind.
var finders = map[apinames.PagingKind]func(*seeker, apinames.PagingSign) []candidate{
	apinames.PagingConnection: (*seeker).connection,
	apinames.PagingLink:       (*seeker).link,
	apinames.PagingLinkFlag:   (*seeker).linkFlag,
	apinames.PagingURL:        (*seeker).address,
	apinames.PagingRelation:   (*seeker).relation,
	apinames.PagingToken:      (*seeker).token,
	apinames.PagingTokens:     (*seeker).tokens,
	apinames.PagingObject:     (*seeker).object,
	apinames.PagingHeader:     (*seeker).header,
	apinames.PagingNumber:     (*seeker).number,
	apinames.PagingIndex:      (*seeker).index,
	apinames.PagingKey:        (*seeker).key,
	apinames.PagingSortKey:    (*seeker).sortKey,
	apinames.PagingPath:       (*seeker).path,
}

func one(score int, values map[string]any) []candidate {
	return []candidate{{score: score, values: values}}
}

func at(keys []string) map[string]any {
	return map[string]any{"at": rules.PathOf(keys...), "body": rules.FormatPath("body", keys)}
}

var afterVariable = regexp.MustCompile(`\bafter\s*:\s*\$([A-Za-z_][A-Za-z0-9_]*)`)

// connection finds pageInfo next to the list of a query.
func (s *seeker) connection(sign apinames.PagingSign) []candidate {
	query, _ := s.call.body.Get("query")
	text, _ := query.(string)
	variable := afterVariable.FindStringSubmatch(text)
	if variable == nil {
		return nil
	}
	for _, f := range s.page.named("pageInfo") {
		info, ok := f.value.(value.Object)
		keys := f.keys[:len(f.keys)-1]
		if !ok || len(keys) == 0 || len(s.items.keys) <= len(keys) || !slices.Equal(s.items.keys[:len(keys)], keys) {
			continue
		}
		_, hasCursor := info.Get("endCursor")
		if hasCursor == (sign.Names == nil) {
			values := at(keys)
			values["param"] = variable[1]
			return one(stated, values)
		}
	}
	return nil
}

func (s *seeker) next() (address string, response *transport.Response) {
	response = &transport.Response{Header: s.page.exchange.header, URL: s.page.address.String()}
	address, _ = response.Link("next").(string)
	return address, response
}

func (s *seeker) link(apinames.PagingSign) []candidate {
	if address, _ := s.next(); address != "" {
		return one(stated, nil)
	}
	return nil
}

func (s *seeker) linkFlag(sign apinames.PagingSign) []candidate {
	_, response := s.next()
	for _, name := range sign.Names {
		if response.Link("next", name) == "true" {
			return one(stated, map[string]any{"name": name})
		}
	}
	return nil
}

// nextNamed returns the facts under a name that means the next page, or under a name of
// an address in an object of such a name: next.href.
func (s *seeker) nextNamed(names []string) []fact {
	inner := []string{"href", "url", "uri", "link"}
	var out []fact
	for _, f := range s.page.facts {
		isNext := func(key string) bool { return apinames.IsNext(key) || slices.Contains(names, key) }
		if isNext(f.name()) || len(f.keys) > 1 && slices.Contains(inner, f.name()) && isNext(f.keys[len(f.keys)-2]) {
			out = append(out, f)
		}
	}
	return out
}

// address finds texts that are addresses.
func (s *seeker) address(sign apinames.PagingSign) []candidate {
	var out []candidate
	for _, f := range s.nextNamed(sign.Names) {
		if text, ok := f.value.(string); ok && s.isAddress(text) {
			score := stated
			if _, asQuery := sign.Pagination.Get("paramIsQuery"); asQuery {
				score = namedParam - 1
			}
			out = append(out, candidate{score: score, values: at(f.keys)})
		}
	}
	return out
}

// isAddress reports whether a text is the address of another page: absolute, relative to
// the request's, or a query.
func (s *seeker) isAddress(text string) bool {
	if text == "" || strings.ContainsAny(text, " \t\n") {
		return false
	}
	u, err := url.Parse(text)
	if err != nil {
		return false
	}
	switch {
	case u.Scheme == "http" || u.Scheme == "https":
		return u.Host != ""
	case strings.HasPrefix(text, "/"), strings.HasPrefix(text, "?"):
		return true
	}
	return u.Scheme == "" && strings.Contains(text, "?") && strings.Contains(text, "=")
}

// relation finds a link to the next page in a list of links.
func (s *seeker) relation(sign apinames.PagingSign) []candidate {
	for _, l := range s.page.lists {
		for _, item := range l.items {
			link, ok := item.(value.Object)
			if !ok {
				break
			}
			for _, name := range []string{"rel", "relation"} {
				if rel, _ := link.Get(name); rel != "next" {
					continue
				}
				for _, key := range []string{"href", "url", "uri"} {
					if address, ok := link.Get(key); ok && s.isAddress(asText(address)) {
						return s.relationOf(sign, l, link, name, key)
					}
				}
			}
		}
	}
	return nil
}

func (s *seeker) relationOf(sign apinames.PagingSign, l list, link value.Object, rel, key string) []candidate {
	find := "find(" + rules.FormatPath("body", l.keys) + ", ." + rel + ` == "next").`
	values := map[string]any{"at": l.path(), "body": find + key, "rest": find + "body"}
	_, hasBody := link.Get("body")
	if hasBody != sign.POST {
		return nil
	}
	return one(stated, values)
}

func asText(v any) string {
	text, _ := value.Text(v)
	return text
}
