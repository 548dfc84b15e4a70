package rules

import (
	"slices"
	"strings"
)

// MethodTrials returns pagination objects that use a method, with sample values. Together they put
// in force each row of the method that can be in force, and use each optional setting.
func (c *Catalog) MethodTrials(m Method) []Object {
	alternatives := m.OneOf
	if len(alternatives) == 0 {
		alternatives = []string{""}
	}
	var trials []Object
	for _, alternative := range alternatives {
		for _, wanted := range m.allConditions() {
			t := trial{fields: c.fieldsOf(m), oneOf: m.OneOf, alternative: alternative, settings: Object{{Name: "method", Value: m.Name}}}
			if m.Next.empty() && !m.Once {
				t.settings = t.settings.WithPath([]string{"nextRequest", "url"}, "nil")
			}
			t.begin(m.Fields)
			if t.meet(wanted) {
				trials = append(trials, t.settings)
			}
		}
	}
	return trials
}

// GuardTrial returns a pagination object in which a guard is in force.
func (c *Catalog) GuardTrial(g Guard) Object {
	policy := any(string(PolicyFail))
	if g.Threshold != nil {
		policy = g.Threshold.setSample()
	}
	return Object{{Name: "method", Value: "expression"}}.
		WithPath([]string{"nextRequest", "url"}, "nil").
		WithPath([]string{"guards", g.ID}, policy)
}

// allConditions returns the conditions of each row of a method, an empty list, and the condition that
// each setting has a value.
func (m Method) allConditions() []Conditions {
	list := []Conditions{nil, m.Next.ApplyToFirst.when, m.Next.OmitParams.when}
	row := func(conditions Conditions, each string) {
		if each != "" {
			conditions = append(slices.Clone(conditions), IsSet(each))
		}
		list = append(list, conditions)
	}
	for _, f := range m.Fields {
		row(nil, f.Name)
	}
	for _, v := range m.State {
		row(v.Only, "")
	}
	for _, p := range slices.Concat([]Part{m.Next.URL, m.Next.Endpoint, m.Next.Verb}, m.Next.Params, m.Next.Body) {
		row(p.Only, p.Each)
	}
	for _, t := range m.Stops {
		row(t.Only, t.Each)
	}
	var distinct []Conditions
	for _, conditions := range list {
		if !slices.ContainsFunc(distinct, func(had Conditions) bool { return slices.Equal(had, conditions) }) {
			distinct = append(distinct, conditions)
		}
	}
	return distinct
}

// A trial is a pagination object that is being made.
type trial struct {
	fields      []Field
	oneOf       []string
	alternative string // the setting of OneOf that is set, or ""
	settings    Object
}

// begin sets the settings that a method needs.
func (t *trial) begin(fields []Field) {
	for _, f := range fields {
		if f.Required || f.Name == t.alternative {
			t.settings = t.settings.With(f.Name, f.setSample())
		}
	}
}

// meet sets the settings that conditions demand. It reports false if no settings meet them.
func (t *trial) meet(wanted Conditions) bool {
	for _, c := range wanted {
		path := strings.Split(c.Setting, ".")
		f := findInner(t.fields, c.Setting)
		if f == nil || !c.Not && path[0] != t.alternative && slices.Contains(t.oneOf, path[0]) {
			return false
		}
		if _, set := t.settings.Get(path[0]); !set && len(path) > 1 { // a block may need more than this setting
			t.settings = t.settings.With(path[0], findInner(t.fields, path[0]).sample())
		}
		switch {
		case !c.Not:
			t.settings = t.settings.WithPath(path, f.setSample())
		case f.Kind == KindFlag:
			t.settings = t.settings.WithPath(path, false)
		case c.Nonzero && f.Kind == KindInteger:
			t.settings = t.settings.WithPath(path, 0)
		case f.Required || f.Default != nil || path[0] == t.alternative:
			return false // it always has a value
		}
	}
	return true
}

// setSample returns a value that the field accepts and with which it is set: see [Condition].
func (f Field) setSample() any {
	sample := f.sample()
	switch {
	case f.Kind == KindFlag:
		return true
	case f.Kind == KindMap && (f.Each == nil || f.Each.Kind != KindNested):
		var element any = "name"
		if f.Each != nil {
			element = f.Each.sample()
		}
		return Object{{Name: "each", Value: element}}
	case f.Default == nil && f.Values == nil && (f.Kind == KindText || f.Kind == KindPath || f.Kind == KindKey || f.Kind == KindAny):
		return f.Name // names differ, so that no parameter replaces another
	case sample == nil || f.Kind == KindInteger && sample == 0:
		return kinds[f.Kind].sample
	}
	return sample
}
