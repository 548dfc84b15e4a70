package detect

import (
	"cmp"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/stopwhen/stopwhen/rules/apinames"
	"github.com/stopwhen/stopwhen/rules/keypath"
	"github.com/stopwhen/stopwhen/rules/value"
)

// pageParams are the bare names of keys of a response that are parameters, too.
var pageParams = []string{"page", "p", "pagenumber", "pageindex"}

// counter finds the number of a page or the index of an item: in the request, in the response,
// or not at all.
func (d *detection) counter(h hypothesis) []candidate {
	if h.post != d.call.isJSON() {
		return nil
	}
	for _, name := range h.names {
		if at, n, ok := d.call.param(name); ok && n < apinames.HighestCounter && !slices.Equal(at, d.size.path) {
			return d.counted(h, typed, d.call.nameOf(at), n)
		}
	}
	isLike := when(h.kind.pages, apinames.MayBePageNumber, apinames.MayBeItemIndex)
	for _, f := range d.call.numbers() {
		if n, _ := number(f.value); isLike(f.name()) && (n == 0 || n == 1) && !slices.Equal(f.path, d.size.path) {
			return d.counted(h, typed, d.call.nameOf(f.path), n)
		}
	}
	if h.post {
		if name := d.call.unset(h.names); name != "" {
			return d.counted(h, echoed, keypath.Join("variables", name), when(h.kind.pages, 1, 0))
		}
		return nil
	}
	beside := when(h.kind.pages, apinames.PageNumberBeside(d.size.param), d.indexBeside())
	for _, f := range d.page.facts {
		if n, ok := number(f.value); ok && (n == 0 || n == 1) && apinames.AlikeAny(f.name(), h.names) {
			param := f.name()
			if h.kind.pages && !apinames.AlikeAny(param, pageParams) {
				param = h.params[0]
			}
			if beside != "" && !apinames.Alike(beside, param) {
				return append(d.counted(h, echoed, beside, n), d.counted(h, echoed-nextGuess, param, n)...)
			}
			return d.counted(h, echoed, param, n)
		}
	}
	if d.isComplete() {
		return nil
	}
	score, first := when(h.kind.pages, blind, blind-2), when(h.kind.pages, 1, 0)
	if beside != "" {
		return d.counted(h, score+besideSize, beside, first)
	}
	if h.kind.pages {
		hasHeader := func(name string) bool { return d.page.ResponseHeader.Get(name) != "" }
		if param := apinames.PageNumberWith(hasHeader); param != "" {
			return append(d.counted(h, score+besideSize, param, first), d.counted(h, score, h.params[0], first)...)
		}
	}
	return d.counted(h, score, h.params[0], first)
}

// indexBeside returns the parameter with the index of an item that APIs have next to the page size and the flag, or "".
func (d *detection) indexBeside() string {
	flag := ""
	if d.flag != nil {
		flag = d.flag.name()
	}
	return apinames.ItemIndexBeside(d.size.param, flag)
}

// ranges matches a range of items in a parameter, such as 0-9.
var ranges = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?:items=)?([0-9]{1,7})-([0-9]{1,7})$`) })

// rangeParam finds a parameter of the request with the indexes of the first and the last item.
func (d *detection) rangeParam(h hypothesis) []candidate {
	for _, m := range d.call.params {
		found := ranges().FindStringSubmatch(textOf(m.Value))
		if found == nil || !apinames.AlikeAny(m.Name, h.names) || d.call.method != http.MethodGet {
			continue
		}
		first, _ := strconv.Atoi(found[1])
		last, _ := strconv.Atoi(found[2])
		values := map[string]any{
			"param": m.Name, "from": strconv.Itoa(first), "to": strconv.Itoa(last), "size": strconv.Itoa(last - first + 1),
			"unit": strings.TrimSuffix(textOf(m.Value), found[1]+"-"+found[2]),
		}
		if last-first+1 == len(d.items.items) {
			values["honoured"] = true
		}
		return oneCandidate(typed, values)
	}
	return nil
}

// boundParams are the names of pairs of parameters with the indexes at which a page begins and ends.
var boundParams = [][2]string{{"start", "end"}, {"from", "to"}, {"first", "last"}, {"begin", "end"}}

// bounds finds two parameters of the request with the indexes at which the page begins and ends. The second
// may be the index of the last item, or the one after it: the page must have as many items as they say.
func (d *detection) bounds(h hypothesis) []candidate {
	if d.call.method != http.MethodGet {
		return nil
	}
	for _, names := range boundParams {
		begin, from, okBegin := d.call.param(names[0])
		end, to, okEnd := d.call.param(names[1])
		if size := len(d.items.items); okBegin && okEnd && size > 1 && (to-from == size || to-from+1 == size) {
			return oneCandidate(typed, map[string]any{
				"param": d.call.nameOf(begin), "endParam": d.call.nameOf(end), "honoured": true,
				"from": strconv.Itoa(from), "to": strconv.Itoa(to), "size": strconv.Itoa(size),
			})
		}
	}
	return nil
}

// when returns yes if a condition is true, and otherwise no.
func when[T any](condition bool, yes, no T) T {
	if condition {
		return yes
	}
	return no
}

// nameOf returns a parameter as a pagination writes it: as the path in a JSON body, or otherwise as a name.
func (c *call) nameOf(place path) string {
	if c.isJSON() {
		return place.String()
	}
	return place.name()
}

// counted returns a candidate that counts from the value of the first request.
func (d *detection) counted(h hypothesis, score int, param string, first int) []candidate {
	c := candidate{score: score, values: map[string]any{"param": param, "first": first}}
	if score < typed {
		c.guess, c.baseUnknown = param, score <= blind+besideSize
	}
	if f, _, ok := d.page.numberOf(apinames.SignPages, above(0)); ok && (f.header == "" || len(f.path) == 0) {
		c.values[when(f.header == "", "pagesAt", "pagesHeader")] = f.String()
	}
	switch {
	case !h.kind.pages && !d.size.honoured(): // the job sends its own parameters, and the index from the second request on
	case h.kind.pages && score < typed: // the first request is the given address
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
	f, _, ok := d.page.numberOf(apinames.SignTotal, exactly(len(d.items.items)))
	if ok && !apinames.Key(f.name()).MayCountPage() {
		return true
	}
	return slices.ContainsFunc(d.page.flags(), func(f flag) bool { return !f.more })
}

// pathNumber finds a number in the path of the address.
func (d *detection) pathNumber(h hypothesis) []candidate {
	base := strings.TrimPrefix(d.call.base, d.call.address.Scheme+"://"+d.call.address.Host)
	segments := append(strings.Split(strings.Trim(base, "/"), "/"), strings.Split(d.call.endpoint, "/")...)
	for i := 1; i < len(segments); i++ {
		n, err := strconv.Atoi(segments[i])
		if err != nil || n > 1 || n < 0 || !slices.Contains(h.names, segments[i-1]) {
			continue
		}
		before := "/" + strings.TrimPrefix(strings.Join(segments[:i], "/")+"/", "/")
		after := strings.Join(append([]string{""}, segments[i+1:]...), "/")
		return oneCandidate(typed, map[string]any{"before": before, "after": after, "first": n})
	}
	return nil
}

// key finds the identifiers of the items. The identifier of the last item may be the position.
func (d *detection) key(h hypothesis) []candidate {
	name, order := d.identifier()
	if d.call.method != http.MethodGet || d.isComplete() || name == "" || h.descending && order >= 0 {
		return nil
	}
	// A flag says that there is more, but no total does: an API with a total, or with the index of an item, counts.
	_, _, total := d.page.numberOf(apinames.SignTotal, above(len(d.items.items)))
	flagged := len(d.more) > 0 && !total && d.indexBeside() == ""
	var out []candidate
	params := h.params
	for _, m := range d.call.params {
		if !h.descending && apinames.AlikeAny(m.Name, apinames.ItemKeyNames()) {
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
	for _, id := range apinames.IdentifierNames() {
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

// orderOf reports whether texts ascend (1), descend (-1) or neither (0). A longer text is greater.
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
	return oneCandidate(stated, nil)
}
