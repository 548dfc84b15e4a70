package rules

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/stopwhen/stopwhen/rules/diag"
)

// ItemField is a change of a member of every item.
type ItemField struct {
	Name   string   // its key in the configuration
	Keys   []string // the path of the member
	Source string   // the expression that gives its value; "" removes the member

	path string // config path; "" if it is that of the member under fields
}

// itemFields reads the members that a job sets or removes.
func (d *decoder) itemFields(s setting) []ItemField {
	var fields []ItemField
	for _, one := range s.list() {
		f := ItemField{Name: one.Name, Keys: SplitPath(one.Name), Source: one.text()}
		if problem, hint := f.mistake(fields); problem != "" {
			d.diags.Errorf(diag.Key(one.path()), "%s", problem).WithHint(hint)
			continue
		}
		if !one.Invalid {
			fields = append(fields, f)
		}
	}
	return fields
}

// mistake describes a mistake in the path of a member, such as a conflict with the paths of others.
func (f ItemField) mistake(others []ItemField) (problem, hint string) {
	switch {
	case len(f.Keys) == 0:
		return fmt.Sprintf("%q is the whole item", f.Name), "name a member of the item, such as id or owner.id"
	case slices.Contains(f.Keys, "*"):
		return fmt.Sprintf("%q has *, which fields does not support", f.Name), `set the complete list: {"lines": "map(item.lines, …)"}`
	}
	for _, other := range others {
		n := min(len(f.Keys), len(other.Keys))
		if slices.Equal(f.Keys[:n], other.Keys[:n]) {
			return fmt.Sprintf("%q and %q change the same member", other.Name, f.Name), "keep one of them"
		}
	}
	return "", ""
}

// itemRules adds the rules that are evaluated for each item.
func (l *lowerer) itemRules(set *Ruleset) {
	job := &set.Job
	if job.Filter != "" {
		set.Rules = append(set.Rules, Rule{
			ID: "filter", Role: Filter, Source: job.Filter, Clause: job.Filter,
			Origin: l.origin(Author{}, diag.Join(job.path, "filter")),
		})
	}
	for _, f := range job.Fields {
		rule := Rule{
			ID: "fields." + f.Name, Role: Set, Target: PathOf(f.Keys...), Source: f.Source, Clause: "is",
			Origin: l.origin(Author{}, cmp.Or(f.path, diag.Join(diag.Join(job.path, "fields"), f.Name))),
		}
		if f.Source == "" {
			rule.Role, rule.Source, rule.Clause = Remove, "nil", "the member is removed"
		}
		set.Rules = append(set.Rules, rule)
	}
}

// ItemReader holds the items of a page, and decodes their values when rules read them. It is
// valid until the next page is read, and serves one goroutine.
type ItemReader interface {
	// Len returns the number of items.
	Len() int

	// Items returns the items as a list that must not be changed. Each is its value or, if
	// rules read only some paths of items, an [ItemRow].
	Items() ([]any, error)

	// Item returns the value of item i, which is at least 0 and less than Len.
	Item(i int) (any, error)

	// Column returns the value at a path of every item, nil where it is absent. It reports
	// false if Items returns no rows.
	Column(path []string) ([]any, bool, error)
}

// ItemRow is an item of which rules read only some paths.
type ItemRow interface {
	// Field returns the value at a path of the item, and whether the item has it.
	Field(path []string) (v any, present bool, err error)
}
