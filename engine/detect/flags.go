package detect

import (
	"slices"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/apinames"
	"github.com/stopwhen/stopwhen/rules/value"
)

// A flag is a value that says whether there is more, with the setting that reads it.
type flag struct {
	fact
	setting string // key of the pagination
	value   any    // its value
	says    string
}

// flags finds the values of the first page whose meaning is clear: they say that there
// is more.
func flags(p *page) []flag {
	var out []flag
	add := func(f fact, root value.Object, nested string) {
		path := rules.FormatPath("body", f.path)
		says := f.String() + " is " + value.Preview(f.value)
		if root != nil && len(f.path) == 1 {
			out = append(out, flag{f, "nextPageFlag", root.With("field", f.path[0]), says})
			return
		}
		out = append(out, flag{f, "stopRules", path + nested, says})
	}
	for _, f := range p.named(apinames.OfHint(apinames.HintMore)...) {
		switch f.value {
		case true:
			out = append(out, flag{f, "hasMore", f.String(), f.String() + " is true"})
		case "true":
			add(f, nil, ` == "false"`)
		}
	}
	for _, f := range p.named(apinames.OfHint(apinames.HintLast)...) {
		if f.value == false {
			add(f, value.Object{{Name: "field", Value: ""}, {Name: "stopOn", Value: true}, {Name: "ifNotSet", Value: false}}, " == true")
		}
	}
	for _, f := range p.named(apinames.Pending()...) {
		if n, ok := number(f.value); ok && n > 0 {
			add(f, value.Object{{Name: "field", Value: ""}, {Name: "stopOn", Value: false}}, " == 0")
		}
	}
	if len(out) > 1 {
		out = out[:1] // one that is clear is enough
	}
	return out
}

// saysMore returns the facts that say that the list has more items than the page.
func saysMore(p *page, count int) []fact {
	var out []fact
	for _, f := range flags(p) {
		out = append(out, f.fact)
	}
	if f, _, ok := p.hint(apinames.HintTotal, above(count)); ok {
		out = append(out, f)
	}
	return out
}

// withFlag adds a flag to a pagination.
func withFlag(pagination value.Object, f flag) value.Object {
	if f.setting == "stopRules" {
		return withRule(pagination, f.value)
	}
	return pagination.With(f.setting, f.value)
}

func withRule(pagination value.Object, rule any) value.Object {
	given, _ := pagination.Get("stopRules")
	list, _ := given.([]any)
	if slices.Contains(list, rule) {
		return pagination
	}
	return pagination.With("stopRules", append(slices.Clone(list), rule))
}
