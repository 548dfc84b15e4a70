package rules

import "slices"

// A Use is a setting that a rule of a method depends on: its expression, name or condition refers to the
// setting.
type Use struct {
	Setting  string `json:"setting" doc:"key of the setting in the pagination"`
	Required bool   `json:"required,omitempty" doc:"the method needs the setting"`
	Switch   bool   `json:"switch,omitempty" doc:"the rule is in force because of the setting"`
	Origin   Origin `json:"origin" doc:"who gave its value; by default, if the configuration does not have it"`
}

// uses returns the settings that conditions and texts of a table name, in the order in which
// they are named.
func (p *pager) uses(conditions Conditions, texts ...string) []Use {
	var out []Use
	add := func(name string, isSwitch bool) {
		use, ok := p.use(name)
		use.Switch = isSwitch
		if ok && !slices.ContainsFunc(out, func(had Use) bool { return had.Setting == name }) {
			out = append(out, use)
		}
	}
	for _, c := range conditions {
		add(c.Setting, !c.Not)
	}
	for _, text := range texts {
		expand(text, func(name string) string { add(name, false); return "" })
	}
	return out
}

// use returns the use of a setting. It reports false for a setting without a value.
func (p *pager) use(name string) (Use, bool) {
	s := p.settings.get(name)
	if s.Value == nil || name == "each" {
		return Use{}, false
	}
	u := Use{Setting: name, Origin: p.lowerer.configured(s.path())}
	if s.Default {
		u.Origin = Origin{By: Author{Kind: AuthorDefault}, Path: s.path()}
	}
	if f, ok := fieldNamed(p.method.Fields, name); ok {
		u.Required = f.Required
	}
	return u, true
}

// String names the setting and who gave its value: "limitParam by default",
// "param at users.json:3:12".
func (u Use) String() string {
	place := u.Origin.At.In(u.Origin.File)
	switch {
	case u.Origin.By.Kind == AuthorDefault:
		return u.Setting + " by default"
	case place == "":
		return u.Setting + " set"
	}
	return u.Setting + " at " + place
}

// An Unused rule is in a table, but not in force.
type Unused struct {
	ID     string `json:"id" doc:"id of the rule"`
	Why    string `json:"why" doc:"completes \"it is not in force: …\""`
	Origin Origin `json:"origin"`
}
