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

// test makes a test from the pages that were seen, shortened. It tries several forms: with few items per
// page and with many, and each also with a made-up last page. It returns the first form that passes, or nil.
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
				answers = append(answers, d.answer(p, shortening{keep: keep}))
				n := len(p.list(d.items.path))
				if p.format == rules.FormatJSON { // other formats are not shortened
					n = min(n, keep)
				}
				items += n
			}
			name := "reads the pages that were seen"
			if end {
				answers = append(answers, d.answer(pages[len(pages)-1], shortening{last: true}))
				name = "reads the pages that were seen, and ends after the last one (which is made up)"
			}
			if test := d.passing(ctx, root, name, answers, items); test != nil {
				return test
			}
			if t == nil {
				break
			}
		}
	}
	d.advise("No test could be made from these pages. To have one, write it under the key tests.")
	return nil
}

// passing runs a test and returns it with its expectations. It returns nil unless the run requests
// exactly the pages of the test.
func (d *detection) passing(ctx context.Context, root value.Object, name string, answers []any, items int) value.Object {
	if slices.ContainsFunc(answers, func(a any) bool { return a == nil }) {
		return nil
	}
	inputs := value.Object{}
	for _, input := range d.call.inputs {
		text := d.call.values[input]
		if secret.IsName(input) {
			text = "example"
		}
		inputs = inputs.With(input, text)
	}
	test := value.Given("name", name, "inputs", inputs, "pages", answers,
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

// A shortening says how a page becomes a response of a test.
type shortening struct {
	keep int  // number of items that stay
	last bool // the page becomes the last page: nothing in it says that there is more
}

// answer returns a page as a response of a test.
func (d *detection) answer(p *page, s shortening) any {
	if p.format != rules.FormatJSON {
		return d.textAnswer(p, s)
	}
	body := d.shorten(p.root, nil, s)
	headers := value.Object{}
	for _, name := range d.pagingHeaders() {
		list := []any{}
		for _, text := range p.ResponseHeader.Values(name) {
			list = append(list, d.header(name, text, s))
		}
		switch {
		case len(list) == 0 || s.last:
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

// header returns the value of a header without secrets. Some APIs put JSON into a header, whose members
// and escapes hide secrets from d.hide.
func (d *detection) header(name, text string, s shortening) string {
	if v, err := parseJSON([]byte(text)); err == nil {
		if object, isObject := v.(value.Object); isObject {
			if shown, err := value.Marshal(d.shorten(object, []string{name}, s)); err == nil {
				return string(shown)
			}
		}
	}
	return d.hide(text)
}

// textAnswer returns a page of another format as it was sent. It returns nil if the page is long, or is to
// become the last page.
func (d *detection) textAnswer(p *page, s shortening) any {
	const longest = 4000
	data, err := p.data()
	if err != nil || len(data) > longest || !utf8.Valid(data) || s.last {
		return nil
	}
	return object("headers", value.Object{}, "body", d.hide(string(data)))
}

// pagingHeaders are the headers that a test needs.
func (d *detection) pagingHeaders() []string {
	names := []string{"Link"}
	for _, h := range apinames.SignHeaders() {
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

// shorten returns a shortened value of a response, without secrets and long texts. keys is its path.
func (d *detection) shorten(v any, keys []string, s shortening) any {
	isItems := slices.Equal(keys, d.items.path)
	switch v := v.(type) {
	case value.Object:
		out := value.Object{}
		for _, m := range v {
			inner := append(slices.Clone(keys), m.Name)
			switch {
			case s.last && d.isPointer(m, inner):
			case s.last && m.Value == true && apinames.Key(m.Name).Is(apinames.SignMore):
				out = append(out, value.Member{Name: m.Name, Value: false})
			case s.last && m.Value == false && apinames.Key(m.Name).Is(apinames.SignLast):
				out = append(out, value.Member{Name: m.Name, Value: true})
			default:
				out = append(out, value.Member{Name: m.Name, Value: d.shorten(d.withoutSecret(m), inner, s)})
			}
		}
		return out
	case []any:
		n := len(v)
		if isItems {
			n = min(n, s.keep)
		}
		out := []any{}
		for _, item := range v[:n] {
			if isItems {
				item = brief(item)
			}
			out = append(out, d.shorten(item, append(slices.Clone(keys), "*"), s))
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
	return !isList && !slices.Equal(keys, d.items.path) && pointsOn(keys, "")
}

func (d *detection) withoutSecret(m value.Member) any {
	if text, ok := m.Value.(string); ok && secret.IsValue(m.Name, text) {
		return "…"
	}
	return m.Value
}

// brief returns an item with its identifiers and its first members that are not long: the members that
// identify an item usually come first.
func brief(item any) any {
	const maxItems, longest = 4, 80
	object, ok := item.(value.Object)
	if !ok {
		return item
	}
	out := value.Object{}
	for _, m := range object {
		text, isText := m.Value.(string)
		id := slices.Contains(apinames.IdentifierNames(), m.Name)
		if id || len(out) < maxItems && !(isText && len(text) > longest) && !value.Exceeds(m.Value, longest) {
			out = append(out, m)
		}
	}
	return out
}
