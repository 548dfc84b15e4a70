package detect

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/stopwhen/stopwhen/rules/apinames"
	"github.com/stopwhen/stopwhen/rules/value"
)

// A flag is a value that says whether there is more, with the setting that reads it.
type flag struct {
	fact
	more    bool   // whether it says that there is more
	setting string // key of the pagination; empty if the flag does not say that there is more
	value   any    // its value
}

// says describes the flag on the first page.
func (f fact) says() string { return f.String() + " is " + value.Preview(f.value) }

// flags returns the values of a page that say whether there is more. Values near the root come first.
func (p *page) flags() []flag {
	var out []flag
	for _, f := range p.facts {
		key := apinames.Key(f.name())
		kind := key.FlagKind()
		flagged, ok := key.Flag(f.value)
		if !ok || kind == "" {
			continue
		}
		if candidate := (flag{fact: f, more: flagged == (kind == apinames.SignMore)}); candidate.more {
			candidate.setting, candidate.value = settingOf(f, kind)
			out = append(out, candidate)
		} else if !key.MayBeNumber() { // "complete" may describe the request
			out = append(out, candidate)
		}
	}
	for _, f := range p.named(apinames.PendingNames()...) {
		if n, ok := number(f.value); ok && n > 0 {
			candidate := flag{fact: f, more: true, setting: "nextPageFlag", value: object("field", f.name(), "stopOn", false)}
			if len(f.path) > 1 {
				candidate.setting, candidate.value = "stopRules", f.expression()+" == 0"
			}
			out = append(out, candidate)
		}
	}
	slices.SortStableFunc(out, func(a, b flag) int { return len(a.path) - len(b.path) })
	return out
}

// settingOf returns the key of the pagination that reads a flag, and its value. The flag says that there
// is more.
func settingOf(f fact, kind apinames.SignKind) (key string, setting any) {
	text := textOf(f.value)
	_, err := strconv.ParseFloat(text, 64)
	isWord := f.value == text && err != nil // the specification takes each word as true
	source := f.expression()
	switch {
	case kind == apinames.SignMore && isWord:
		return "stopRules", source + " != " + strconv.Quote(text)
	case kind == apinames.SignMore:
		return "hasMore", f.String()
	case isWord:
		return "stopRules", fmt.Sprintf("%s != nil and %s != %q", source, source, text)
	case len(f.path) == 1:
		return "nextPageFlag", object("field", f.name(), "stopOn", true, "ifNotSet", false)
	case f.value == false:
		return "stopRules", source + " == true"
	}
	return "stopRules", "truthy(" + source + ")"
}

// flagOf returns the first value of a page that says that there is more, or nil.
func flagOf(p *page) *flag {
	for _, f := range p.flags() {
		if f.more {
			return &f
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
