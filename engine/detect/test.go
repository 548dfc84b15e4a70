package detect

import (
	"context"
	"net/http"
	"slices"
	"unicode/utf8"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/apinames"
	"github.com/stopwhen/stopwhen/rules/secret"
	"github.com/stopwhen/stopwhen/rules/value"
)

// test makes a test from the pages that were seen, shortened. It is the first of several
// forms that passes: with few items per page, with all of them, and with a last page that
// was made from the last one seen. It returns nil if none passes.
func (d *detection) test(ctx context.Context, root value.Object, t *trial) value.Object {
	pages := []*page{d.page}
	if t != nil && len(t.pages) > 1 {
		pages = t.decoded()
	}
	const few, many, most = 2, 100, 10
	if len(pages) > most { // the recording is long
		pages = pages[:2]
	}
	for _, keep := range []int{few, many} {
		for _, end := range []bool{false, true} {
			answers := []any{}
			items := 0
			for _, p := range pages {
				answers = append(answers, d.answer(p, keep, false))
				n := len(p.list(d.items.path))
				if p.format == rules.JSON { // other formats are not shortened
					n = min(n, keep)
				}
				items += n
			}
			if end {
				answers = append(answers, d.answer(pages[len(pages)-1], 0, true))
			}
			if test := d.passing(ctx, root, answers, items, end); test != nil {
				return test
			}
			if t == nil {
				break
			}
		}
	}
	d.advise("No test could be made from these pages; stopwhen test shows an example to start from.")
	return nil
}

// passing runs a test and returns it with its expectations. It returns nil unless the run requests
// exactly the pages of the test.
func (d *detection) passing(ctx context.Context, root value.Object, answers []any, items int, made bool) value.Object {
	if slices.ContainsFunc(answers, func(a any) bool { return a == nil }) {
		return nil
	}
	name := "reads the pages that were seen"
	if made {
		name = "reads the pages that were seen, and ends after the last one (which is made up)"
	}
	inputs := value.Object{}
	for _, input := range d.call.inputs {
		text := d.call.values[input]
		if secret.Name(input) {
			text = "example"
		}
		inputs = inputs.With(input, text)
	}
	test := given("name", name, "inputs", inputs, "pages", answers,
		"expect", object("outcome", string(rules.Complete), "pages", len(answers), "items", items))
	text, err := value.Marshal(append(slices.Clone(root), value.Member{Name: "tests", Value: []any{test}}))
	if err != nil || len(text) > rules.MaxConfigBytes/2 {
		return nil
	}
	e, err := engine.Load("detect.json", text, engine.WithPlaceholders())
	if err != nil || e.Test(ctx).Failed() > 0 {
		return nil
	}
	return test
}

// answer returns a page as a response of a test, with at most keep items. The last page
// has no items, and nothing that says that there is more.
func (d *detection) answer(p *page, keep int, last bool) any {
	if p.format != rules.JSON {
		return d.textAnswer(p, last)
	}
	body := d.shorten(p.root, nil, keep, last)
	headers := value.Object{}
	for _, name := range d.pagingHeaders() {
		list := []any{}
		for _, text := range p.ResponseHeader.Values(name) {
			list = append(list, d.hide(text))
		}
		switch {
		case len(list) == 0 || last:
		case len(list) == 1:
			headers = headers.With(name, list[0])
		default:
			headers = headers.With(name, list)
		}
	}
	if len(headers) == 0 {
		return body
	}
	return object("headers", headers, "body", body)
}

// textAnswer returns a page of another format as it was sent, unless it is long.
func (d *detection) textAnswer(p *page, last bool) any {
	const longest = 4000
	data, err := p.data()
	if err != nil || len(data) > longest || !utf8.Valid(data) || last {
		return nil
	}
	return object("headers", value.Object{}, "body", d.hide(string(data)))
}

// pagingHeaders are the headers that a test needs.
func (d *detection) pagingHeaders() []string {
	names := []string{"Link"}
	for _, h := range apinames.HintHeaders() {
		names = append(names, http.CanonicalHeaderKey(h.Name))
	}
	for _, sign := range hypotheses {
		if sign.kind == headerSign {
			names = append(names, sign.names...)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// shorten returns a value of a response with few items, and without secrets and long
// texts.
func (d *detection) shorten(v any, keys []string, keep int, last bool) any {
	isItems := slices.Equal(keys, d.items.path)
	switch v := v.(type) {
	case value.Object:
		out := value.Object{}
		for _, m := range v {
			inner := append(slices.Clone(keys), m.Name)
			switch {
			case last && d.isPointer(m, inner):
			case last && m.Value == true && apinames.IsHint(m.Name, apinames.HintMore):
				out = append(out, value.Member{Name: m.Name, Value: false})
			case last && m.Value == false && apinames.IsHint(m.Name, apinames.HintLast):
				out = append(out, value.Member{Name: m.Name, Value: true})
			default:
				out = append(out, value.Member{Name: m.Name, Value: d.shorten(d.withoutSecret(m), inner, keep, last)})
			}
		}
		return out
	case []any:
		n := len(v)
		if isItems {
			n = min(n, keep)
		}
		out := []any{}
		for _, item := range v[:n] {
			if isItems {
				item = brief(item)
			}
			out = append(out, d.shorten(item, append(slices.Clone(keys), "*"), keep, last))
		}
		return out
	case string:
		return d.hide(v)
	}
	return v
}

// isPointer reports whether a member of the last page would point to another one.
func (d *detection) isPointer(m value.Member, keys []string) bool {
	_, isList := m.Value.([]any)
	return !isList && !slices.Equal(keys, d.items.path) && pointsOn(keys, false)
}

func (d *detection) withoutSecret(m value.Member) any {
	if text, ok := m.Value.(string); ok && secret.Like(m.Name, text) {
		return "…"
	}
	return m.Value
}

// brief returns an item with its first members that are not long: those that identify it
// usually come first.
func brief(item any) any {
	const most, longest = 4, 80
	object, ok := item.(value.Object)
	if !ok {
		return item
	}
	out := value.Object{}
	for _, m := range object {
		text, isText := m.Value.(string)
		id := slices.Contains(apinames.Identifiers(), m.Name)
		if id || len(out) < most && !(isText && len(text) > longest) && !value.Exceeds(m.Value, longest) {
			out = append(out, m)
		}
	}
	return out
}
