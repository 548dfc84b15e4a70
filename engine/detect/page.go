package detect

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/apinames"
	"github.com/stopwhen/stopwhen/rules/keypath"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime/format"
	"github.com/stopwhen/stopwhen/runtime/spool"
)

// The limits of a response.
const (
	maxDepth = 100
	maxBytes = 32 << 20
)

// A page is a response that was read.
type page struct {
	*exchange
	root   any
	format rules.Format
	gzip   bool
	facts  []fact // facts of the response, outside of its lists
	lists  []list // the likeliest first
}

// A path leads to a value in a response.
type path []string

func (p path) String() string { return keypath.Join(p...) }

// name returns the last key, or "" for the root.
func (p path) name() string {
	if len(p) == 0 {
		return ""
	}
	return p[len(p)-1]
}

// parent returns the path of the object that holds the value.
func (p path) parent() path { return p[:len(p)-1] }

// child returns the path of a member of the value.
func (p path) child(key string) path { return append(slices.Clip(p), key) }

// isNamed reports whether a path ends with a name. A name with dots is the end of a path.
func (p path) isNamed(name string) bool {
	ending := strings.Split(name, ".")
	return p.name() == name || len(ending) <= len(p) && slices.Equal(ending, p[len(p)-len(ending):])
}

// A fact is a value in a response, or in a header of it.
type fact struct {
	path   // in a header, of a member of its JSON
	value  any
	header string // name of the header; empty for a value in the body
}

// String returns where the value is.
func (f fact) String() string {
	if f.header != "" && len(f.path) > 0 {
		return f.header + "." + f.path.String()
	}
	return cmp.Or(f.header, f.path.String())
}

// expression returns an expression for the value.
func (f fact) expression() string {
	switch {
	case f.header == "":
		return keypath.Format("body", f.path)
	case f.header == contentRange:
		return fmt.Sprintf(`split(header(%q), "/")[1]`, f.header)
	case len(f.path) > 0:
		return keypath.Format(fmt.Sprintf(`fromJSON(header(%q) ?? "{}")`, f.header), f.path)
	}
	return fmt.Sprintf("header(%q)", f.header)
}

// A list is a list in a response that may hold the items. Its path is written as
// dataField has it.
type list struct {
	path
	items []any
	score int
}

// first returns the first item, or nil if the list is empty.
func (l list) first() any {
	if len(l.items) == 0 {
		return nil
	}
	return l.items[0]
}

// readPage decodes a response.
func readPage(x *exchange) (*page, error) {
	data, err := x.data()
	if err != nil {
		return nil, err
	}
	p := &page{exchange: x, gzip: len(data) != len(x.ResponseBody)}
	body := format.Body{Status: x.Status, ContentType: x.ResponseHeader.Get("Content-Type"), Data: data}
	if p.format, err = format.Of(body); err != nil {
		return nil, err
	}
	if p.format != rules.FormatJSON {
		buffer := &spool.Buffer{}
		defer buffer.Release()
		response := rules.ResponseFormat{Format: p.format, Header: true}
		converter := format.NewConverter(format.Options{Response: response, MaxBytes: maxBytes, MaxDepth: maxDepth})
		if _, err := converter.Convert(body, buffer); err != nil {
			return nil, err
		}
		if data, _, err = buffer.Body(); err != nil {
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

// parseJSON decodes a JSON text, which has one value, with or without a byte order mark before it.
// Objects keep their order, numbers all their digits.
func parseJSON(text []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(bytes.TrimPrefix(text, []byte("\ufeff"))))
	dec.UseNumber()
	v, err := nextValue(dec, maxDepth)
	if err != nil {
		return nil, err
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, errors.New("there is more after the value")
	}
	return v, nil
}

// nextValue decodes a value. levels is the number of levels of nesting that it may have.
func nextValue(dec *json.Decoder, levels int) (any, error) {
	token, err := dec.Token()
	delim, nested := token.(json.Delim)
	switch {
	case err != nil || !nested:
		return token, err
	case levels == 0:
		return nil, fmt.Errorf("the value has more than %d levels", maxDepth)
	}
	list, object := []any{}, value.Object{}
	for dec.More() {
		name := ""
		if delim == '{' {
			token, err := dec.Token()
			if err != nil {
				return nil, err
			}
			name = token.(string)
		}
		v, err := nextValue(dec, levels-1)
		if err != nil {
			return nil, err
		}
		if delim == '{' {
			object = append(object, value.Member{Name: name, Value: v})
		} else {
			list = append(list, v)
		}
	}
	_, err = dec.Token()
	if delim == '{' {
		return object, err
	}
	return list, err
}

// maxFacts is the maximum number of facts that are read from a response. Real envelopes are small.
const maxFacts = 2000

// collect finds the facts and the lists of a value.
func (p *page) collect(v any, place path) {
	if len(p.facts) >= maxFacts || len(place) > 8 {
		return
	}
	items, isList := v.([]any)
	if len(place) > 0 && !isList {
		p.facts = append(p.facts, fact{path: place, value: v})
	}
	if object, ok := v.(value.Object); ok {
		for _, m := range object {
			p.collect(m.Value, place.child(m.Name))
		}
	}
	if !isList {
		return
	}
	if !isEnvelope(items) {
		p.lists = append(p.lists, list{place, items, listScore(place, items)})
		return
	}
	for i, member := range items {
		p.collect(member, place.child(strconv.Itoa(i)))
	}
}

// isEnvelope reports whether a list only contains the list of items, next to objects that
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

// listScore estimates how likely a list holds the items: by its name, its members
// and its depth.
func listScore(at path, items []any) int {
	score := min(len(items), 10) - 2*len(at)
	switch apinames.Key(at.name()).ListKind() {
	case apinames.LikelyList:
		score += 20
	case apinames.UnlikelyList:
		score -= 40
	}
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
func (p *page) list(at path) []any {
	for _, l := range p.lists {
		if slices.Equal(l.path, at) {
			return l.items
		}
	}
	return nil
}

// at returns the value at a place that a fact states, or nil.
func (p *page) at(place string) any {
	for _, f := range p.facts {
		if f.String() == place {
			return f.value
		}
	}
	return nil
}

// named returns the facts under one of the names. Facts near the root come first. A name with a dot is the
// end of a path.
func (p *page) named(names ...string) []fact {
	var out []fact
	for _, f := range p.facts {
		if slices.ContainsFunc(names, f.isNamed) {
			out = append(out, f)
		}
	}
	slices.SortStableFunc(out, func(a, b fact) int { return len(a.path) - len(b.path) })
	return out
}

// factsOf returns the facts of a kind. Facts near the root come first, and headers last.
func (p *page) factsOf(kind apinames.SignKind) []fact {
	var out []fact
	for _, f := range p.facts {
		pages := p.countsPages(f)
		switch {
		case pages && kind == apinames.SignTotal:
			f.path = f.parent().child(apinames.JQGridRecords)
			f.value = p.at(f.String())
			out = append(out, f)
		case pages && kind == apinames.SignPages, !pages && apinames.Key(f.name()).Is(kind):
			out = append(out, f)
		}
	}
	slices.SortStableFunc(out, func(a, b fact) int { return len(a.path) - len(b.path) })
	for _, h := range apinames.SignHeaders() {
		text := p.ResponseHeader.Get(h.Name)
		if text == "" || h.Kind != kind || h.Range {
			continue
		}
		header := fact{header: h.Name, value: numberOr(text)}
		if h.JSON {
			key, v := h.Member(text)
			if header.path, header.value = (path{key}), v; key == "" {
				continue
			}
		}
		out = append(out, header)
	}
	if total, ok := p.rangeOfItems(); ok && kind == apinames.SignTotal {
		out = append(out, fact{header: contentRange, value: numberOr(total)})
	}
	return out
}

// countsPages reports whether the total at a fact is the number of pages.
func (p *page) countsPages(f fact) bool {
	if len(p.lists) == 0 || len(f.path) == 0 {
		return false
	}
	records := p.at(f.parent().child(apinames.JQGridRecords).String())
	return apinames.IsJQGridTotal(f.name(), f.value, records, len(p.lists[0].items))
}

// numberOr returns an integer that a text holds, or the text.
func numberOr(text string) any {
	if n, ok := number(text); ok {
		return n
	}
	return text
}

// rangeOfItems returns the total of a range of items, such as 0-9/25, items 0-9/25 or 0-9/*. It
// reports false if there is no such range.
func (x *exchange) rangeOfItems() (total string, ok bool) {
	m := contentRanges().FindStringSubmatch(x.ResponseHeader.Get(contentRange))
	if m == nil || strings.EqualFold(m[1], "bytes") {
		return "", false
	}
	return m[2], true
}

const contentRange = "Content-Range"

var contentRanges = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?:([\w-]+) )?(?:[0-9]+-[0-9]+|\*)/([0-9]+|\*)$`) })

// previous describes the place where a response points to an earlier page. It returns "" if there is
// no such place.
func (p *page) previous() string {
	for _, rel := range []string{"prev", "previous"} {
		if p.link(rel) != nil && p.link(rel, "results") != "false" {
			return "The Link header"
		}
	}
	for _, f := range p.facts {
		if text := textOf(f.value); apinames.AlikeAny(f.name(), apinames.PreviousNames()) && text != "" && text != "0" && f.value != false {
			return f.String()
		}
	}
	return ""
}

// textOf returns a scalar as text, or "" for any other value.
func textOf(v any) string {
	text, _ := value.Text(v)
	return text
}

// number returns an integer that is written as a number or as text.
func number(v any) (int, bool) {
	text := textOf(v)
	n, err := strconv.Atoi(text)
	return n, err == nil && strconv.Itoa(n) == text
}

// A check reports whether a number satisfies a condition.
type check func(n int) bool

func above(limit int) check { return func(n int) bool { return n > limit } }

func exactly(want int) check { return func(n int) bool { return n == want } }

// numberOf returns the first fact of a kind that is a number that satisfies a check.
func (p *page) numberOf(kind apinames.SignKind, ok check) (f fact, n int, found bool) {
	for _, f := range p.factsOf(kind) {
		_, isObject := f.value.(value.Object)
		n, least, isNumber := apinames.Total(f.value)
		if isObject {
			f.path = f.child("value")
		}
		if isNumber && !least && ok(n) {
			return f, n, true
		}
	}
	return fact{}, 0, false
}
