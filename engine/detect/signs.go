package detect

import (
	"cmp"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/apinames"
	"github.com/stopwhen/stopwhen/rules/value"
)

// A candidate is a pagination that may be the right one.
type candidate struct {
	hypothesis
	values map[string]any // values of its placeholders
	score  int            // candidates with higher scores are tried first
	moved  []string       // parameters that the pagination sends instead of the job, also in the first request
	sets   value.Object   // parameters that the job gets

	pagination value.Object
	guess      string // the parameter, if nothing in the response or in the request names it
	alone      bool   // the token is sent without the parameters of the job
	base       bool   // it is not known whether counting begins at 0 or 1
}

// The scores of candidates. Statements of the API come first, guesses last.
const (
	stated     = 100
	namedParam = 90 // the request or a link in the response names the parameter
	typed      = 80 // the user wrote the parameter
	tokenGuess = 78
	echoed     = 75 // the response repeats the parameter
	keyGuess   = 60
	blind      = 50
	besideSize = 3  // bonus of a parameter that APIs have next to that of the page size
	otherKey   = 12 // penalty for each later name of the key of an item
	nextGuess  = 6  // penalty for each later name of a parameter
)

// candidates returns the paginations that may page through the list, the likeliest first.
func (d *detection) candidates() []candidate {
	var all []candidate
	for _, h := range hypotheses {
		inQuery := h.kind == connectionSign || h.post && (h.kind == numberSign || h.kind == indexSign)
		if h.post && !d.call.isJSON() || d.call.isGraphQL() && !inQuery { // its variables are known from the query only
			continue
		}
		for _, c := range h.kind.find(d, h) {
			c.hypothesis = h
			all = append(all, d.complete(c))
		}
	}
	slices.SortStableFunc(all, func(a, b candidate) int { return b.score - a.score })
	seen := map[string]bool{}
	return slices.DeleteFunc(all, func(c candidate) bool {
		text := jsonOf(c.pagination)
		repeated := seen[text]
		seen[text] = true
		return repeated || c.pagination == nil
	})
}

func jsonOf(v any) string {
	text, _ := value.Marshal(v)
	return string(text)
}

func one(score int, values map[string]any) []candidate {
	return []candidate{{score: score, values: values}}
}

func at(p path) map[string]any {
	return map[string]any{"at": p.String(), "body": rules.FormatPath("body", p)}
}

var afterVariable = regexp.MustCompile(`\bafter\s*:\s*\$([A-Za-z_][A-Za-z0-9_]*)`)

// connection finds pageInfo next to the list of a query.
func (d *detection) connection(h hypothesis) []candidate {
	variable := afterVariable.FindStringSubmatch(d.call.query())
	if variable == nil {
		return nil
	}
	for _, f := range d.page.named("pageInfo") {
		info, ok := f.value.(value.Object)
		above := f.parent()
		if !ok || len(above) == 0 || len(d.items.path) <= len(above) || !slices.Equal(d.items.path[:len(above)], above) {
			continue
		}
		if _, hasCursor := info.Get("endCursor"); hasCursor == (h.names == nil) {
			values := at(above)
			values["param"] = variable[1]
			return one(stated, values)
		}
	}
	return nil
}

// linkHeader finds the link to the next page in the Link header or, if there are names, a parameter
// of it that is true.
func (d *detection) linkHeader(h hypothesis) []candidate {
	if address, _ := d.page.link("next").(string); h.names == nil && address != "" {
		return one(stated, nil)
	}
	for _, name := range h.names {
		if d.page.link("next", name) == "true" {
			return one(stated, map[string]any{"name": name})
		}
	}
	return nil
}

// address finds texts that are addresses, under a name that means the next page, or under a
// name of an address in an object of such a name: next.href.
func (d *detection) address(h hypothesis) []candidate {
	score := stated
	if _, asQuery := h.pagination.Get("paramIsQuery"); asQuery {
		score = namedParam - 1
	}
	isNext := func(key string) bool { return apinames.IsNext(key) || slices.Contains(h.names, key) }
	var out []candidate
	for _, f := range d.page.facts {
		inner := slices.Contains([]string{"href", "url", "uri", "link"}, f.name()) && isNext(f.parent().name())
		if text, ok := f.value.(string); ok && (isNext(f.name()) || inner) && isAddress(text) {
			out = append(out, candidate{score: score, values: at(f.path)})
		}
	}
	return out
}

// isAddress reports whether a text is the address of another page: absolute, relative to
// the request's, or a query.
func isAddress(text string) bool {
	u, err := url.Parse(text)
	switch {
	case err != nil || text == "" || strings.ContainsAny(text, " \t\n"):
		return false
	case u.Scheme == "http" || u.Scheme == "https":
		return u.Host != ""
	case text[0] == '/' || text[0] == '?':
		return true
	}
	return u.Scheme == "" && strings.Contains(text, "?") && strings.Contains(text, "=")
}

// relation finds a link to the next page in a list of links.
func (d *detection) relation(h hypothesis) []candidate {
	for _, l := range d.page.lists {
		for _, item := range l.items {
			link, _ := item.(value.Object)
			for _, rel := range []string{"rel", "relation"} {
				for _, key := range []string{"href", "url", "uri"} {
					address, _ := link.Get(key)
					if is, _ := link.Get(rel); is != "next" || !isAddress(textOf(address)) {
						continue
					}
					if _, hasBody := link.Get("body"); hasBody != h.post {
						return nil
					}
					found := "find(" + rules.FormatPath("body", l.path) + ", ." + rel + ` == "next").`
					return one(stated, map[string]any{"at": l.String(), "body": found + key, "rest": found + "body"})
				}
			}
		}
	}
	return nil
}

// token finds texts and numbers that may be sent for the next page.
func (d *detection) token(h hypothesis) []candidate {
	if h.names == nil {
		return d.follower()
	}
	var out []candidate
	for _, f := range d.page.named(h.names...) {
		text := textOf(f.value)
		_, isFlag := f.value.(bool)
		n, isNumber := number(f.value)
		if isFlag || text == "" || text == "0" || text == "-1" || isAddress(text) || isNumber && h.textOnly {
			continue
		}
		if param := d.advanced(n); isNumber && apinames.IsNext(f.name()) && param != "" {
			c := candidate{score: namedParam, values: at(f.path)}
			c.values["param"] = param
			out = append(out, c)
			continue
		}
		sign := h
		if items := len(d.items.items); isNumber && apinames.Alike(f.name(), "next") && n == items && items > 2 { // it numbers no page
			sign.params = slices.Concat(apinames.ItemIndexes()[:3], h.params)
		}
		for _, c := range d.sent(sign, at(f.path), f.name()) {
			param := c.guess
			switch {
			case d.hasParam(param), d.linked(param, text), param == f.name() && !strings.HasPrefix(strings.ToLower(param), "next"):
				c.score, c.guess = namedParam, ""
			case !h.weak:
				c.score, c.guess = stated, ""
			}
			if d.call.isJSON() && !h.post {
				c.values["param"] = d.target(param)
			}
			out = append(out, c)
		}
	}
	return out
}

// advanced returns the parameter of the request whose number, plus one page or the items of the page, is
// a number of the response. It returns "" if there is none.
func (d *detection) advanced(to int) string {
	for _, f := range d.call.numbers() {
		from, _ := number(f.value)
		if step := to - from; !slices.Equal(f.path, d.size.path) && (step == len(d.items.items) ||
			step == 1 && !apinames.AlikeAny(f.name(), apinames.ItemIndexes())) {
			return d.call.nameOf(f.path)
		}
	}
	return ""
}

// follower finds values whose names say that they are the next value of a parameter, such as
// next_since for since, and values of parameters of the request that are positions.
func (d *detection) follower() []candidate {
	var out []candidate
	for _, f := range d.page.facts {
		text := textOf(f.value)
		if _, isFlag := f.value.(bool); isFlag || text == "" || isAddress(text) {
			continue
		}
		param, next := apinames.Following(f.name())
		known := !next && apinames.IsPosition(f.name())
		if known {
			param = f.name()
		}
		if param == "" {
			continue
		}
		values := at(f.path)
		i := slices.IndexFunc(d.call.params, func(m value.Member) bool {
			sent := textOf(m.Value)
			return apinames.Alike(m.Name, param) && sent != text && sent != "" && m.Name != d.size.param
		})
		switch {
		case i >= 0:
			values["param"] = d.call.nameOf(path{d.call.params[i].Name})
			out = append(out, candidate{score: namedParam, values: values})
		case next && !d.call.isJSON():
			values["param"] = param
			out = append(out, candidate{score: tokenGuess - 1, values: values, guess: param})
			own := maps.Clone(values) // some APIs expect the name that the response has
			own["param"] = f.name()
			out = append(out, candidate{score: tokenGuess - nextGuess, values: own, guess: f.name()})
		case known && !d.call.isJSON() && !apinames.Alike(param, "token") && !isNumber(text): // token may be a credential
			values["param"] = param
			out = append(out, candidate{score: tokenGuess - nextGuess, values: values, guess: param})
		}
	}
	return out
}

// headerToken finds headers with a value that may be sent for the next page.
func (d *detection) headerToken(h hypothesis) []candidate {
	var out []candidate
	for _, name := range h.names {
		if d.page.ResponseHeader.Get(name) == "" {
			continue
		}
		for _, c := range d.sent(h, map[string]any{"name": name}, strings.ToLower(strings.TrimPrefix(strings.TrimPrefix(name, "X-"), "Next-"))) {
			if d.hasParam(c.guess) {
				c.score, c.guess = namedParam, ""
			}
			out = append(out, c)
		}
	}
	return out
}

// sent returns a candidate for each parameter that may carry the value found under a name.
func (d *detection) sent(h hypothesis, values map[string]any, name string) []candidate {
	var out []candidate
	for _, param := range h.params {
		if param == "" {
			param = name
		}
		if slices.ContainsFunc(out, func(c candidate) bool { return c.guess == param }) {
			continue
		}
		c := candidate{score: tokenGuess - len(out)*nextGuess, values: maps.Clone(values), guess: param}
		c.values["param"] = param
		out = append(out, c)
	}
	return out
}

// hasParam reports whether the request has a parameter.
func (d *detection) hasParam(name string) bool {
	_, ok := d.call.params.Get(name)
	return ok
}

// linked reports whether a link in the response sends a value as a parameter.
func (d *detection) linked(param, text string) bool {
	return slices.ContainsFunc(d.page.facts, func(f fact) bool {
		address, _ := f.value.(string)
		u, err := url.Parse(address)
		return err == nil && strings.Contains(address, "?") && u.Query().Get(param) == text
	})
}

// target returns the path in a JSON body at which a parameter belongs: next to that of
// the page size, or among the params of JSON-RPC.
func (d *detection) target(param string) string {
	if _, isRPC := d.call.body.Get("jsonrpc"); isRPC {
		return rules.PathOf("params", param)
	}
	if at := d.size.path; len(at) > 1 {
		return at.parent().child(param).String()
	}
	return rules.PathOf(param)
}

// tokens finds several values that are sent together.
func (d *detection) tokens(h hypothesis) []candidate {
	if found := d.page.named(h.names[0]); len(found) > 0 && len(found[0].path) > 1 {
		return one(stated, at(found[0].parent()))
	}
	return nil
}

func (d *detection) object(h hypothesis) []candidate {
	for _, f := range d.page.named(h.names...) {
		if object, ok := f.value.(value.Object); ok && len(object) > 0 {
			values := at(f.path)
			if len(h.params) > 0 {
				values["param"] = h.params[0]
			}
			return one(stated, values)
		}
	}
	return nil
}

// highestCounter is above every number of a page or an item; larger ones are times.
const highestCounter = 10_000_000

// pageParams are the bare names of keys of a response that are parameters, too.
var pageParams = []string{"page", "p", "pagenumber", "pageindex"}

// counter finds the number of a page or the index of an item: in the request, in the response,
// or not at all.
func (d *detection) counter(h hypothesis) []candidate {
	if h.post != d.call.isJSON() {
		return nil
	}
	for _, name := range h.names {
		if at, n, ok := d.call.param(name); ok && n < highestCounter && !slices.Equal(at, d.size.path) {
			return d.counted(h, typed, d.call.nameOf(at), n)
		}
	}
	isLike := when(h.kind.pages, apinames.LikePageNumber, apinames.LikeItemIndex)
	for _, f := range d.call.numbers() {
		if n, _ := number(f.value); isLike(f.name()) && (n == 0 || n == 1) && !slices.Equal(f.path, d.size.path) {
			return d.counted(h, typed, d.call.nameOf(f.path), n)
		}
	}
	if h.post {
		if name := d.call.unset(h.names); name != "" {
			return d.counted(h, echoed, rules.PathOf("variables", name), when(h.kind.pages, 1, 0))
		}
		return nil
	}
	for _, f := range d.page.facts {
		if n, ok := number(f.value); ok && (n == 0 || n == 1) && apinames.AlikeAny(f.name(), h.names) {
			param := f.name()
			if h.kind.pages && !apinames.AlikeAny(param, pageParams) {
				param = h.params[0]
			}
			return d.counted(h, echoed, param, n)
		}
	}
	if d.isComplete() {
		return nil
	}
	score, first := when(h.kind.pages, blind, blind-2), when(h.kind.pages, 1, 0)
	if beside := when(h.kind.pages, apinames.PageNumberBeside, apinames.ItemIndexBeside)(d.size.param); beside != "" {
		return d.counted(h, score+besideSize, beside, first)
	}
	return d.counted(h, score, h.params[0], first)
}

// when returns yes if a condition is true, and otherwise no.
func when[T any](condition bool, yes, no T) T {
	if condition {
		return yes
	}
	return no
}

// nameOf returns a parameter as a pagination writes it: as the path in a JSON body, or otherwise as a name.
func (c *call) nameOf(at path) string {
	if c.isJSON() {
		return at.String()
	}
	return at.name()
}

// counted returns a candidate that counts from the value of the first request.
func (d *detection) counted(h hypothesis, score int, param string, first int) []candidate {
	c := candidate{score: score, values: map[string]any{"param": param, "first": first}}
	if score < typed {
		c.guess, c.base = param, score <= blind+besideSize
	}
	if f, _, ok := d.page.hint(apinames.HintPages, above(0)); ok {
		c.values[when(f.header == "", "pagesAt", "pagesHeader")] = f.String()
	}
	switch {
	case !h.kind.pages && !d.size.honoured(): // the job sends its own parameters, and the index from the second request on
	case h.kind.pages && score < typed: // the first request is that of the address
		c.values["sendFirst"] = false
	case !h.post: // the job keeps its body, in which the next value replaces the first
		c.moved = []string{param}
		if _, given := d.call.params.Get(d.size.param); given {
			c.moved = append(c.moved, d.size.param)
		}
		if !h.kind.pages && first != 0 {
			c.values["fromJob"] = true
			c.sets = value.Object{{Name: param, Value: first}}
		}
	}
	return []candidate{c}
}

// isComplete reports whether the response says that there is nothing more.
func (d *detection) isComplete() bool {
	f, _, ok := d.page.hint(apinames.HintTotal, exactly(len(d.items.items)))
	if ok && !strings.HasSuffix(f.name(), "ount") { // a count may be that of the page
		return true
	}
	return slices.ContainsFunc(d.page.flags(), func(f flag) bool { return !f.more })
}

// pathNumber finds a number in the path of the address.
func (d *detection) pathNumber(h hypothesis) []candidate {
	base := strings.TrimPrefix(d.call.base, d.call.address.Scheme+"://"+d.call.address.Host)
	all := append(strings.Split(strings.Trim(base, "/"), "/"), strings.Split(d.call.endpoint, "/")...)
	for i := 1; i < len(all); i++ {
		n, err := strconv.Atoi(all[i])
		if err != nil || n > 1 || n < 0 || !slices.Contains(h.names, all[i-1]) {
			continue
		}
		before := "/" + strings.TrimPrefix(strings.Join(all[:i], "/")+"/", "/")
		after := strings.Join(append([]string{""}, all[i+1:]...), "/")
		return one(typed, map[string]any{"before": before, "after": after, "first": n})
	}
	return nil
}

// key finds the identifiers of the items, whose last one may be the position.
func (d *detection) key(h hypothesis) []candidate {
	name, order := d.identifier()
	if d.call.method != http.MethodGet || d.isComplete() || name == "" || h.descending && order >= 0 {
		return nil
	}
	// A flag says that there is more, but no total does: an API with a total usually counts.
	_, _, total := d.page.hint(apinames.HintTotal, above(len(d.items.items)))
	flagged := len(d.more) > 0 && !total
	var out []candidate
	params := h.params
	for _, m := range d.call.params {
		if !h.descending && apinames.AlikeAny(m.Name, apinames.ItemKeys()) {
			params = append([]string{m.Name}, params...)
		}
	}
	for i, param := range params {
		c := candidate{score: blind - 4 - i*nextGuess, guess: param, values: map[string]any{"idKey": name, "param": param}}
		switch {
		case d.hasParam(param):
			c.score, c.guess = typed, ""
		case h.descending && !flagged:
			c.score = blind - 1 - i*nextGuess
		case !h.descending && flagged:
			c.score = keyGuess - i*otherKey
		}
		out = append(out, c)
	}
	return out
}

// identifier returns the key of the items whose values identify them, and whether these
// ascend (1), descend (-1) or neither (0).
func (d *detection) identifier() (name string, order int) {
	for _, id := range apinames.Identifiers() {
		var texts []string
		for _, item := range d.items.items {
			object, _ := item.(value.Object)
			v, _ := object.Get(id)
			texts = append(texts, textOf(v))
		}
		if !slices.Contains(texts, "") {
			return id, orderOf(texts)
		}
	}
	return "", 0
}

// orderOf reports whether texts, of which a longer one is greater, ascend (1), descend (-1) or
// neither (0).
func orderOf(texts []string) (order int) {
	for i := 1; i < len(texts); i++ {
		step := cmp.Or(cmp.Compare(len(texts[i]), len(texts[i-1])), strings.Compare(texts[i], texts[i-1]))
		if i > 1 && step != order {
			return 0
		}
		order = step
	}
	return order
}

// sortKey finds items that have the values by which they are sorted.
func (d *detection) sortKey(h hypothesis) []candidate {
	_, sorted := d.call.body.Get("sort")
	if !sorted || len(h.params) > 0 && len(d.page.named(h.params...)) == 0 {
		return nil
	}
	for _, item := range d.items.items {
		object, _ := item.(value.Object)
		v, _ := object.Get(h.names[0])
		if _, isList := v.([]any); !isList {
			return nil
		}
	}
	return one(stated, nil)
}

// A size is the number of items of a page.
type size struct {
	param string // parameter that carries it; may be empty
	path  path   // its path in a JSON body
	asked int    // number that the request asks for
	items int    // number of items on a page
}

// honoured reports whether pages have as many items as the request says.
func (s size) honoured() bool { return s.param != "" && s.asked == s.items }

// sizeOf finds the parameter that carries the page size.
func sizeOf(c *call, items int) size {
	found := size{items: items}
	for _, name := range apinames.PageSizes() {
		if at, n, ok := c.param(name); ok && n > 0 && !found.honoured() && (found.param == "" || n == items) {
			found.param, found.path, found.asked = at.name(), at, n
		}
	}
	return found
}

// complete writes the pagination of a candidate. It is nil if something that it needs was not
// found. The page size is only relied on if the API has honoured it.
func (d *detection) complete(c candidate) candidate {
	if c.values == nil {
		c.values = map[string]any{}
	}
	known := d.size.honoured()
	switch c.kind {
	case indexSign:
		if !known {
			c.values["counted"] = true
		}
	case keySign:
		known = false
	case numberSign:
		known = d.size.param != "" && c.values["sendFirst"] == nil
	}
	if known && len(d.size.path) == 1 { // limitParam cannot name a size within an object of a body
		c.values["limit"], c.values["limitParam"] = d.size.asked, d.size.param
	}
	template := c.hypothesis.pagination
	if c.kind == tokenSign && d.call.isJSON() && !c.post {
		template = inBody
	}
	if c.needs == "" || c.values[c.needs] != nil {
		c.fill(template)
	}
	return c
}

// fill writes the pagination of a candidate.
func (c *candidate) fill(template value.Object) {
	c.pagination, _ = fill(template, c.values).(value.Object)
}

var placeholder = regexp.MustCompile(`\$\{([A-Za-z]+)\}`)

// fill replaces the placeholders of a template. It returns nil for a text with a
// placeholder that has no value, and leaves out members that are nil.
func fill(v any, values map[string]any) any {
	switch v := v.(type) {
	case value.Object:
		out := value.Object{}
		for _, m := range v {
			name, _ := fill(m.Name, values).(string)
			if filled := fill(m.Value, values); filled != nil && name != "" {
				out = append(out, value.Member{Name: name, Value: filled})
			}
		}
		return out
	case []any:
		out := []any{}
		for _, item := range v {
			if filled := fill(item, values); filled != nil {
				out = append(out, filled)
			}
		}
		return out
	case string:
		return fillText(v, values)
	}
	return v
}

func fillText(text string, values map[string]any) any {
	if m := placeholder.FindStringSubmatch(text); m != nil && m[0] == text {
		return values[m[1]]
	}
	missing := false
	filled := placeholder.ReplaceAllStringFunc(text, func(found string) string {
		v, ok := values[strings.Trim(found, "${}")]
		missing = missing || !ok
		return textOf(v)
	})
	if missing {
		return nil
	}
	return filled
}
