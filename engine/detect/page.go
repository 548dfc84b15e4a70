package detect

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/apinames"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime/format"
	"github.com/stopwhen/stopwhen/runtime/spool"
	"github.com/stopwhen/stopwhen/runtime/transport"
)

// A page is a response that was read.
type page struct {
	*exchange
	root   any
	format string
	gzip   bool
	facts  []fact // of the response, outside of its lists
	lists  []list // the likeliest first
}

// A fact is a value in a response, with its path.
type fact struct {
	keys  []string
	value any
}

func (f fact) name() string { return f.keys[len(f.keys)-1] }

func (f fact) path() string { return rules.PathOf(f.keys...) }

// A list is a list in a response that may be that of the items.
type list struct {
	keys  []string
	items []any
	score int
}

// path returns the path of the list as dataField writes it.
func (l list) path() string { return rules.PathOf(l.keys...) }

// readPage decodes a response.
func readPage(x *exchange) (*page, error) {
	data, err := x.data()
	if err != nil {
		return nil, err
	}
	p := &page{exchange: x, gzip: len(data) != len(x.body)}
	body := format.Body{Status: x.status, ContentType: x.header.Get("Content-Type"), Data: data}
	if p.format, err = format.Of(body); err != nil {
		return nil, err
	}
	if p.format != rules.JSON {
		into := &spool.Buffer{}
		defer into.Release()
		response := rules.Response{Format: p.format, Header: true}
		converter := format.NewConverter(format.Options{Response: response, MaxBytes: maxBytes, MaxDepth: maxDepth})
		if _, err := converter.Convert(body, into); err != nil {
			return nil, err
		}
		if data, _, err = into.Body(); err != nil {
			return nil, err
		}
	}
	if p.root, err = parseJSON(data); err != nil {
		return nil, fmt.Errorf("the response is not JSON: %w", err)
	}
	p.collect(p.root, nil)
	slices.SortStableFunc(p.lists, func(a, b list) int { return b.score - a.score })
	return p, nil
}

// maxFacts bounds how much of a response is looked at; real envelopes are small.
const maxFacts = 2000

// collect finds the facts and the lists of a value.
func (p *page) collect(v any, keys []string) {
	if len(p.facts) >= maxFacts || len(keys) > 8 {
		return
	}
	switch v := v.(type) {
	case value.Object:
		if len(keys) > 0 {
			p.facts = append(p.facts, fact{keys, v})
		}
		for _, m := range v {
			p.collect(m.Value, append(slices.Clone(keys), m.Name))
		}
	case []any:
		if isEnvelope(v) {
			for i, member := range v {
				p.collect(member, append(slices.Clone(keys), strconv.Itoa(i)))
			}
			return
		}
		p.lists = append(p.lists, list{keys, v, listScore(keys, v)})
	default:
		if len(keys) > 0 {
			p.facts = append(p.facts, fact{keys, v})
		}
	}
}

// isEnvelope reports whether a list is no list of items, but has one, next to objects that
// describe it: [{"page": 1, "pages": 3}, [{"id": 1}, {"id": 2}]].
func isEnvelope(list []any) bool {
	const most = 4
	lists, objects := 0, 0
	for _, member := range list[:min(len(list), most)] {
		switch member.(type) {
		case []any:
			lists++
		case value.Object:
			objects++
		}
	}
	return lists == 1 && objects > 0 && lists+objects == len(list)
}

// listScore estimates how likely a list is that of the items: by its name, its members
// and its depth.
func listScore(keys []string, items []any) int {
	score := -2 * len(keys)
	name := ""
	if len(keys) > 0 {
		name = keys[len(keys)-1]
	}
	switch apinames.OfList(name) {
	case apinames.LikelyList:
		score += 20
	case apinames.UnlikelyList:
		score -= 40
	}
	score += min(len(items), 10)
	if len(items) == 0 {
		return score - 15
	}
	switch items[0].(type) {
	case value.Object:
		score += 20
	case []any:
		score += 5
	}
	return score
}

// list returns the list at a path.
func (p *page) list(keys []string) []any {
	for _, l := range p.lists {
		if slices.Equal(l.keys, keys) {
			return l.items
		}
	}
	return nil
}

// named returns the facts under one of the names, those nearest to the root first. A name
// with a dot is the end of a path.
func (p *page) named(names ...string) []fact {
	var out []fact
	for _, f := range p.facts {
		if slices.ContainsFunc(names, func(name string) bool { return endsWith(f.keys, name) }) {
			out = append(out, f)
		}
	}
	slices.SortStableFunc(out, func(a, b fact) int { return len(a.keys) - len(b.keys) })
	return out
}

func endsWith(keys []string, name string) bool {
	if keys[len(keys)-1] == name {
		return true
	}
	ending := strings.Split(name, ".")
	return len(ending) > 1 && len(ending) <= len(keys) && slices.Equal(ending, keys[len(keys)-len(ending):])
}

// previous returns where a response points to an earlier page; empty: nowhere.
func (p *page) previous() string {
	response := &transport.Response{Header: p.header, URL: p.address.String()}
	for _, rel := range []string{"prev", "previous"} {
		if response.Link(rel) != nil && response.Link(rel, "results") != "false" {
			return "The Link header"
		}
	}
	for _, f := range p.named(apinames.Previous()...) {
		if text, ok := value.Text(f.value); ok && text != "" && text != "0" && f.value != false {
			return f.path()
		}
	}
	return ""
}

// number returns an integer that is written as a number or as text.
func number(v any) (int, bool) {
	var text string
	switch v := v.(type) {
	case json.Number:
		text = v.String()
	case string:
		text = v
	case int:
		return v, true
	}
	n, err := strconv.Atoi(text)
	return n, err == nil && strconv.Itoa(n) == text
}

// hint returns the first fact of a kind that is a number of which the check approves.
func (p *page) hint(kind apinames.HintKind, ok func(n int) bool) (f fact, n int, found bool) {
	for _, f := range p.named(apinames.OfHint(kind)...) {
		v := f.value
		if object, isObject := v.(value.Object); isObject {
			inner, has := object.Get("value")
			if !has {
				continue
			}
			v = inner
			f.keys = append(slices.Clone(f.keys), "value")
		}
		if n, isNumber := number(v); isNumber && ok(n) {
			return f, n, true
		}
	}
	return fact{}, 0, false
}

// headerHint returns the first header of a kind with a number of which the check approves.
func (p *page) headerHint(kind apinames.HintKind, ok func(n int) bool) (name string, n int, found bool) {
	for _, h := range apinames.HintHeaders() {
		if h.Kind != kind {
			continue
		}
		if n, isNumber := number(p.header.Get(h.Name)); isNumber && ok(n) {
			return h.Name, n, true
		}
	}
	return "", 0, false
}

// flatten writes the members of a JSON value as parameters, by their paths.
func flatten(v any, path string, into url.Values) {
	switch v := v.(type) {
	case value.Object:
		for _, m := range v {
			flatten(m.Value, strings.TrimPrefix(path+"."+m.Name, "."), into)
		}
	case []any:
		for i, item := range v {
			flatten(item, fmt.Sprintf("%s.%d", path, i), into)
		}
	default:
		text, _ := value.Text(v)
		into.Add(path, text)
	}
}
