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
}

// says describes the flag on the first page.
func (f fact) says() string { return f.String() + " is " + value.Preview(f.value) }

// flagOf returns the first value of a page that says whether there is more, or nil if the page has
// no value with a clear meaning.
func flagOf(p *page) *flag {
	rule := func(f fact, end string) *flag {
		return &flag{f, "stopRules", rules.FormatPath("body", f.path) + end}
	}
	for _, f := range p.hints(apinames.HintMore) {
		switch f.value {
		case true:
			return &flag{f, "hasMore", f.String()}
		case "true":
			return rule(f, ` == "false"`)
		}
	}
	for _, f := range p.hints(apinames.HintLast) {
		switch {
		case f.value == false && len(f.path) == 1:
			return &flag{f, "nextPageFlag", object("field", f.name(), "stopOn", true, "ifNotSet", false)}
		case f.value == false:
			return rule(f, " == true")
		}
	}
	for _, f := range p.named(apinames.Pending()...) {
		switch n, ok := number(f.value); {
		case ok && n > 0 && len(f.path) == 1:
			return &flag{f, "nextPageFlag", object("field", f.name(), "stopOn", false)}
		case ok && n > 0:
			return rule(f, " == 0")
		}
	}
	return nil
}

// withFlag adds a flag to a pagination.
func withFlag(pagination value.Object, f *flag) value.Object {
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
