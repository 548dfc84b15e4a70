package detect

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime/transport"
)

// A candidate is a pagination that may be the right one.
type candidate struct {
	sign   rules.PagingSign
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
	nextGuess  = 6 // what each further name of a parameter costs
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
	for i, sign := range rules.PagingSigns() {
		if find := finders[sign.Kind]; find != nil && (!sign.POST || s.call.isJSON()) {
			for _, c := range find(s, sign) {
				c.sign = sign
				c.score = c.score*len(rules.PagingSigns()) - i
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
var finders = map[rules.PagingKind]func(*seeker, rules.PagingSign) []candidate{
	rules.PagingConnection: (*seeker).connection,
	rules.PagingLink:       (*seeker).link,
	rules.PagingLinkFlag:   (*seeker).linkFlag,
	rules.PagingURL:        (*seeker).address,
	rules.PagingRelation:   (*seeker).relation,
	rules.PagingToken:      (*seeker).token,
	rules.PagingTokens:     (*seeker).tokens,
	rules.PagingObject:     (*seeker).object,
	rules.PagingHeader:     (*seeker).header,
	rules.PagingNumber:     (*seeker).number,
	rules.PagingIndex:      (*seeker).index,
	rules.PagingKey:        (*seeker).key,
	rules.PagingSortKey:    (*seeker).sortKey,
	rules.PagingPath:       (*seeker).path,
}

func one(score int, values map[string]any) []candidate {
	return []candidate{{score: score, values: values}}
}

func at(keys []string) map[string]any {
	return map[string]any{"at": rules.PathOf(keys...), "body": rules.FormatPath("body", keys)}
}

var afterVariable = regexp.MustCompile(`\bafter\s*:\s*\$([A-Za-z_][A-Za-z0-9_]*)`)

// connection finds pageInfo next to the list of a query.
func (s *seeker) connection(sign rules.PagingSign) []candidate {
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

func (s *seeker) link(rules.PagingSign) []candidate {
	if address, _ := s.next(); address != "" {
		return one(stated, nil)
	}
	return nil
}

func (s *seeker) linkFlag(sign rules.PagingSign) []candidate {
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
		isNext := func(key string) bool { return rules.IsNextName(key) || slices.Contains(names, key) }
		if isNext(f.name()) || len(f.keys) > 1 && slices.Contains(inner, f.name()) && isNext(f.keys[len(f.keys)-2]) {
			out = append(out, f)
		}
	}
	return out
}

// address finds texts that are addresses.
func (s *seeker) address(sign rules.PagingSign) []candidate {
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
func (s *seeker) relation(sign rules.PagingSign) []candidate {
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

func (s *seeker) relationOf(sign rules.PagingSign, l list, link value.Object, rel, key string) []candidate {
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

// token finds texts and numbers that may be sent for the next page.
func (s *seeker) token(sign rules.PagingSign) []candidate {
	var out []candidate
	for _, f := range s.page.named(sign.Names...) {
		text, ok := value.Text(f.value)
		_, isFlag := f.value.(bool)
		_, isNumber := number(f.value)
		if !ok || isFlag || text == "" || text == "0" || text == "-1" || s.isAddress(text) || isNumber && sign.ID == "text-token" {
			continue
		}
		for i, param := range s.params(sign, f.name()) {
			c := candidate{score: tokenGuess - i*nextGuess, values: at(f.keys), guess: param}
			c.values["param"] = param
			switch {
			case s.hasParam(param), s.linked(param, text), param == f.name() && !strings.HasPrefix(strings.ToLower(param), "next"):
				c.score, c.guess = namedParam, ""
			case !sign.Weak:
				c.score, c.guess = stated, ""
			}
			if s.call.isJSON() && !sign.POST {
				c.values["param"] = s.target(param)
			}
			out = append(out, c)
		}
	}
	return out
}

// params returns the names of the parameters of a sign. "" is the name of what was found.
func (s *seeker) params(sign rules.PagingSign, name string) []string {
	var out []string
	for _, p := range sign.Params {
		if p == "" {
			p = name
		}
		if !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	return out
}

// hasParam reports whether the request has a parameter.
func (s *seeker) hasParam(name string) bool {
	_, ok := s.call.params.Get(name)
	return ok
}

// linked reports whether a link in the response sends a value as a parameter.
func (s *seeker) linked(param, text string) bool {
	for _, f := range s.page.facts {
		if address, ok := f.value.(string); ok && strings.Contains(address, "?") {
			if u, err := url.Parse(address); err == nil && u.Query().Get(param) == text {
				return true
			}
		}
	}
	return false
}

// target returns the path in a JSON body at which a parameter belongs: next to that of
// the page size, or among the params of JSON-RPC.
func (s *seeker) target(param string) string {
	if _, isRPC := s.call.body.Get("jsonrpc"); isRPC {
		return rules.PathOf("params", param)
	}
	if keys := s.size.keys; len(keys) > 1 {
		return rules.PathOf(append(slices.Clone(keys[:len(keys)-1]), param)...)
	}
	return rules.PathOf(param)
}

// tokens finds several values that are sent together.
func (s *seeker) tokens(sign rules.PagingSign) []candidate {
	found := s.page.named(sign.Names[0])
	if len(found) == 0 {
		return nil
	}
	keys := found[0].keys[:len(found[0].keys)-1]
	prefix := rules.PathOf(keys...)
	if len(keys) == 0 {
		return nil
	}
	return one(stated, map[string]any{"at": prefix, "body": rules.FormatPath("body", keys)})
}

func (s *seeker) object(sign rules.PagingSign) []candidate {
	for _, f := range s.page.named(sign.Names...) {
		if object, ok := f.value.(value.Object); ok && len(object) > 0 {
			values := at(f.keys)
			if len(sign.Params) > 0 {
				values["param"] = sign.Params[0]
			}
			return one(stated, values)
		}
	}
	return nil
}

func (s *seeker) header(sign rules.PagingSign) []candidate {
	var out []candidate
	for _, name := range sign.Names {
		text := s.page.exchange.header.Get(name)
		if text == "" {
			continue
		}
		for i, param := range s.params(sign, strings.ToLower(strings.TrimPrefix(strings.TrimPrefix(name, "X-"), "Next-"))) {
			c := candidate{score: tokenGuess - i*nextGuess, values: map[string]any{"name": name, "param": param}, guess: param}
			if s.hasParam(param) {
				c.score, c.guess = namedParam, ""
			}
			out = append(out, c)
		}
	}
	return out
}

// number finds the number of a page: in the request, in the response, or not at all.
func (s *seeker) number(sign rules.PagingSign) []candidate {
	if sign.POST != s.call.isJSON() {
		return nil
	}
	if name, first, ok := s.counter(sign); ok {
		return []candidate{s.counted(sign, typed, name, first)}
	}
	if sign.POST {
		return nil
	}
	for _, f := range s.page.named(sign.Names...) {
		if n, ok := number(f.value); ok && (n == 0 || n == 1) {
			c := s.counted(sign, echoed, f.name(), n)
			if !slices.Contains([]string{"page", "p", "pageNumber", "page_number", "pageIndex", "page_index"}, f.name()) {
				c.values["param"] = sign.Params[0]
			}
			c.guess = asText(c.values["param"])
			return []candidate{c.later()}
		}
	}
	if s.isComplete() {
		return nil
	}
	c := s.counted(sign, blind, sign.Params[0], 1)
	c.guess, c.base = sign.Params[0], true
	return []candidate{c.later()}
}

// later lets the first request be the one of the address: the number of the page is only
// sent from the second one on.
func (c candidate) later() candidate {
	c.values["sendFirst"], c.moved, c.extra = false, nil, nil
	return c
}

// counter finds an integer parameter of the request under one of the names of a sign.
func (s *seeker) counter(sign rules.PagingSign) (name string, n int, ok bool) {
	const highest = 10_000_000 // larger numbers are times
	for _, name := range sign.Names {
		if keys, n, ok := s.call.param(name); ok && n <= highest && !slices.Equal(keys, s.size.keys) {
			return rules.PathOf(keys...), n, true
		}
	}
	return "", 0, false
}

// counted is a candidate that counts from the value of the first request.
func (s *seeker) counted(sign rules.PagingSign, score int, param string, first int) candidate {
	c := candidate{score: score, values: map[string]any{"param": param, "first": first}, moved: []string{param}, extra: []string{param}}
	if s.size.param != "" && !sign.POST {
		c.moved, c.extra = append(c.moved, s.size.param), append(c.extra, s.size.param)
	}
	if f, _, ok := s.page.hint(rules.HintPages, func(n int) bool { return n > 0 }); ok {
		c.values["pagesAt"] = f.path()
	} else if name, _, ok := s.page.headerHint(rules.HintPages, func(n int) bool { return n > 0 }); ok {
		c.values["pagesHeader"] = name
	}
	return c
}

// index finds the index of an item: in the request, in the response, or not at all.
func (s *seeker) index(sign rules.PagingSign) []candidate {
	if sign.POST != s.call.isJSON() || s.size.items == 0 {
		return nil
	}
	if name, first, ok := s.counter(sign); ok {
		return []candidate{s.indexed(sign, typed, name, first)}
	}
	if sign.POST {
		return nil
	}
	for _, f := range s.page.named(sign.Names...) {
		if n, ok := number(f.value); ok && (n == 0 || n == 1) {
			c := s.indexed(sign, echoed, f.name(), n)
			c.guess = f.name()
			return []candidate{c}
		}
	}
	if s.isComplete() {
		return nil
	}
	c := s.indexed(sign, blind-2, sign.Params[0], 0)
	c.guess, c.base = sign.Params[0], true
	return []candidate{c}
}

func (s *seeker) indexed(sign rules.PagingSign, score int, param string, first int) candidate {
	c := s.counted(sign, score, param, first)
	if s.size.asked != s.size.items || s.size.param == "" { // the sign with Needs "counted", whose job keeps its parameters
		return c.withJobParams(s.hasParam(param), first)
	}
	if first != 0 && !sign.POST {
		c.values["fromJob"] = true
		c.sets = value.Object{{Name: param, Value: first}}
	}
	return c
}

// withJobParams lets the job send its own parameters, and the index from the second
// request on.
func (c candidate) withJobParams(sent bool, first int) candidate {
	c.moved, c.extra = nil, nil
	if !sent && first != 0 {
		c.base = false
	}
	return c
}

// isComplete reports whether the response says that there is nothing more.
func (s *seeker) isComplete() bool {
	if f, _, ok := s.page.hint(rules.HintTotal, func(n int) bool { return n == len(s.items.items) }); ok && !strings.HasSuffix(f.name(), "ount") {
		return true
	}
	for _, f := range s.page.named(rules.HintNames(rules.HintMore)...) {
		if f.value == false {
			return true
		}
	}
	for _, f := range s.page.named(rules.HintNames(rules.HintLast)...) {
		if f.value == true {
			return true
		}
	}
	return false
}

// key finds the identifiers of the items, whose last one may be the position.
func (s *seeker) key(sign rules.PagingSign) []candidate {
	if s.call.method != http.MethodGet || len(s.items.items) == 0 || s.isComplete() {
		return nil
	}
	name, direction := s.identifier()
	descends := sign.ID == "last-key-descending"
	if name == "" || descends && direction >= 0 {
		return nil
	}
	var out []candidate
	for i, param := range sign.Params {
		c := candidate{score: blind - 4 - i*nextGuess, guess: param, values: map[string]any{"idKey": name, "param": param}}
		switch {
		case s.hasParam(param):
			c.score, c.guess = typed, ""
		case descends && !s.flagged():
			c.score = blind - 1 - i*nextGuess
		case !descends && s.flagged():
			c.score = keyGuess - i*nextGuess
		}
		out = append(out, c)
	}
	return out
}

// flagged reports whether a flag says that there is more, but no total does: an API with a
// total usually counts.
func (s *seeker) flagged() bool {
	_, _, counted := s.page.hint(rules.HintTotal, func(n int) bool { return n > len(s.items.items) })
	return len(s.more) > 0 && !counted
}

// identifier returns the key of the items whose values identify them, and whether these
// ascend (1), descend (-1) or neither (0).
func (s *seeker) identifier() (name string, direction int) {
	for _, id := range rules.IdentifierNames() {
		var texts []string
		for _, item := range s.items.items {
			object, _ := item.(value.Object)
			v, _ := object.Get(id)
			text, ok := value.Text(v)
			if !ok || text == "" {
				texts = nil
				break
			}
			texts = append(texts, text)
		}
		if len(texts) > 0 {
			return id, directionOf(texts)
		}
	}
	return "", 0
}

func directionOf(texts []string) int {
	ascends, descends := len(texts) > 1, len(texts) > 1
	for i := 1; i < len(texts); i++ {
		a, b := texts[i-1], texts[i]
		ascends = ascends && (len(a) < len(b) || len(a) == len(b) && a < b)
		descends = descends && (len(a) > len(b) || len(a) == len(b) && a > b)
	}
	switch {
	case ascends:
		return 1
	case descends:
		return -1
	}
	return 0
}

// sortKey finds items that have the values by which they are sorted.
func (s *seeker) sortKey(sign rules.PagingSign) []candidate {
	if _, sorted := s.call.body.Get("sort"); !sorted || len(s.items.items) == 0 {
		return nil
	}
	if len(sign.Params) > 0 && len(s.page.named(sign.Params...)) == 0 {
		return nil
	}
	for _, item := range s.items.items {
		object, _ := item.(value.Object)
		v, _ := object.Get(sign.Names[0])
		if _, isList := v.([]any); !isList {
			return nil
		}
	}
	return one(stated, map[string]any{})
}

// path finds a number in the path of the address.
func (s *seeker) path(sign rules.PagingSign) []candidate {
	segments := strings.Split(s.call.endpoint, "/")
	path := strings.TrimPrefix(s.call.base, s.call.address.Scheme+"://"+s.call.address.Host)
	all := append(strings.Split(strings.Trim(path, "/"), "/"), segments...)
	for i := 1; i < len(all); i++ {
		n, err := strconv.Atoi(all[i])
		if err != nil || n > 1 || n < 0 || !slices.Contains(sign.Names, all[i-1]) {
			continue
		}
		before := "/" + strings.TrimPrefix(strings.Join(all[:i], "/")+"/", "/")
		after := strings.Join(append([]string{""}, all[i+1:]...), "/")
		return one(typed, map[string]any{"before": before, "after": after, "first": n})
	}
	return nil
}
