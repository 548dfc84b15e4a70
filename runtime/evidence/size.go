package evidence

import (
	"bytes"
	"cmp"
	"strconv"
	"strings"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/apinames"
	"github.com/stopwhen/stopwhen/rules/requests"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/rules/wording"
	"github.com/stopwhen/stopwhen/runtime/document"
	"github.com/stopwhen/stopwhen/runtime/trace"
)

// A sizeSearch finds requests that lose the parameter of the page size.
type sizeSearch struct {
	comparison
	memory *sizeMemory
}

// A sizeMemory is what a [sizeSearch] remembers of earlier pages.
type sizeMemory struct {
	Sizes [2]int `json:"sizes,omitzero"` // number of items on the first two pages
	Lost  string `json:"lost,omitempty"` // parameters of the first request that the second lacks
}

// notice notices that page 1 has as many items as one of its parameters says, that page 2 has
// another number, and that its request lacks the parameter. The last page may be smaller, so page 3
// decides.
func (s sizeSearch) notice() {
	c := s.context
	if c.Page <= len(s.memory.Sizes) {
		s.memory.Sizes[c.Page-1] = c.Count
	}
	first, second := s.memory.Sizes[0], s.memory.Sizes[1]
	address := func(sent trace.Request) string { path, _, _ := strings.Cut(sent.URL, "?"); return path }
	if c.Page == 2 && second != first && address(s.first.First) == address(s.sent) {
		s.memory.Lost = lost(s.first.First, s.sent, strconv.Itoa(first))
	}
	if s.memory.Lost != "" && (c.Page == 2 && second > first || c.Page == 3 && second < first && c.Count > 0) {
		s.facts.LostParams, s.facts.SizeBefore, s.facts.SizeAfter = s.memory.Lost, first, second
	}
}

// lost returns the names of the parameters of the first request that another request lacks. It returns
// "" unless one of them has the value v.
func lost(first, sent trace.Request, v string) string {
	var names []string
	after, found := parametersOf(sent), false
	for _, m := range parametersOf(first) {
		if _, has := after.Get(m.Name); !has {
			names = append(names, m.Name)
			found = found || shortText(m.Value) == v
		}
	}
	if !found {
		return ""
	}
	return wording.Clip(strings.Join(names, ", "), 200)
}

// difference returns the names of the parameters of a request that are new or have other values
// than in the first request.
func difference(first, sent trace.Request) string {
	before, after := parametersOf(first), parametersOf(sent)
	var changed []string
	for _, m := range after {
		text := shortText(m.Value)
		if earlier, ok := before.Get(m.Name); !ok || shortText(earlier) != text {
			changed = append(changed, m.Name+"="+text)
		}
	}
	if changed == nil {
		return "the address " + wording.Clip(sent.URL, 200)
	}
	return strings.Join(changed, ", ")
}

// askedSize returns the parameter of the latest request with the page size, if the page has as many items, and more than one, or "".
func (p *listView) askedSize() string {
	size := strconv.Itoa(p.context.Count)
	if p.context.Count < 2 || !strings.Contains(p.sent.URL, size) && !bytes.Contains(p.sent.Body, []byte(size)) {
		return ""
	}
	return pageSizeIn(parametersOf(p.sent), size)
}

// pageSizeIn returns the first parameter with the name of a page size and the value size, also within objects, or "".
func pageSizeIn(params rules.Object, size string) (found string) {
	for _, m := range params {
		inner, _ := value.Members(m.Value)
		if inner != nil {
			found = cmp.Or(found, pageSizeIn(inner, size))
		} else if apinames.AlikeAny(m.Name, apinames.PageSizeNames()) && shortText(m.Value) == size {
			found = cmp.Or(found, m.Name+"="+size)
		}
	}
	return found
}

func parametersOf(sent trace.Request) rules.Object {
	params := requests.ParseQuery(sent.URL)
	body, _ := document.Decode(sent.Body)
	if form, ok := body.(string); ok {
		return append(params, requests.ParseQuery(form)...)
	}
	object, _ := value.Members(body)
	return append(params, object...)
}

func shortText(v any) string {
	if text, ok := value.Text(v); ok {
		return wording.Clip(text, 60)
	}
	text, _ := value.Marshal(v)
	return wording.Clip(string(text), 60)
}
