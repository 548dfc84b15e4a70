package rules

import (
	"fmt"
	"slices"

	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/keypath"
)

// ItemField is a change of a member of every item.
type ItemField struct {
	Name   string   // its key in the configuration
	Keys   []string // the path of the member
	Source string   // the expression for its value; "" removes the member

	path string // config path; "" if it is that of the member under fields
}

// itemFields reads the members that a job sets or removes.
func (d *decoder) itemFields(s setting) []ItemField {
	var fields []ItemField
	for _, field := range s.list() {
		f := ItemField{Name: field.Name, Keys: keypath.Split(field.Name), Source: field.text()}
		if problem, hint := f.mistake(fields); problem != "" {
			d.diags.Errorf(diag.Key(field.path()), "%s", problem).WithHint(hint)
			continue
		}
		if !field.Invalid {
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
