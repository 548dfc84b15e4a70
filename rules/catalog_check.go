package rules

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/rules/lists"
	"github.com/stopwhen/stopwhen/rules/wording"
)

// checkMethod reports the mistakes in a method for this catalog.
func (c *Catalog) checkMethod(m Method) error {
	a := addition{name: fmt.Sprintf("method %q", m.Name), fields: c.fieldsOf(m)}
	a.checkIdentifier("name", m.Name, "")
	if c.hasMethod(m.Name) {
		a.errorf("the name is taken")
	}
	if m.Doc == "" {
		a.errorf("Doc is missing: when to choose the method")
	}
	a.checkTable("", m.Fields)
	for _, f := range m.Fields {
		if _, common := fieldNamed(paginationFields, f.Name); common && f.Name != "limit" && f.Name != "limitParam" {
			a.errorf("setting %s: every method has a key of that name", f.Name)
		}
	}
	for _, name := range m.OneOf {
		a.checkSetting("OneOf", name)
	}
	for _, v := range m.State {
		place := "variable " + v.Name
		a.checkIdentifier("the name of a variable", v.Name, ".")
		a.checkRow(place, v.Only, "", nil, v.Init, v.Next, v.ValueInWords)
		if v.Init == "" || v.Next == "" {
			a.errorf("%s: Init and Next must be expressions", place)
		}
	}
	a.checkOverlay(m.Next)
	var ids []string
	for _, row := range m.Stops {
		if !strings.HasPrefix(row.ID, m.Name+".") {
			a.errorf("stop %q: the id must begin with %q", row.ID, m.Name+".")
		}
		if isShared(row.ID) || slices.Contains(ids, row.ID) && row.Only == nil {
			a.errorf("stop %q: the id is taken", row.ID)
		}
		ids = append(ids, row.ID)
		a.checkStopRule("stop "+row.ID, row)
	}
	return a.err()
}

// checkGuard reports the mistakes in a guard for this catalog.
func (c *Catalog) checkGuard(g Guard) error {
	a := addition{name: fmt.Sprintf("guard %q", g.ID), fields: newCatalog(c.methods, append(slices.Clone(c.guards), g)).fields}
	a.checkIdentifier("ID", g.ID, ".")
	guards, _ := fieldNamed(c.fields, "guards")
	if _, isKey := fieldNamed(guards.Fields, g.ID); isKey || isShared(g.ID) {
		a.errorf("the ID is taken")
	}
	if g.Doc == "" {
		a.errorf("Doc is missing: what its key under guards is for")
	}
	for _, p := range []Policy{g.Policy, g.KeboolaPolicy} {
		if !slices.Contains(policies, string(p)) && (p != "" || g.Policy == "") {
			a.errorf("policy: want %s, got %q", wording.OrList(policies), p)
		}
	}
	if g.Threshold != nil {
		a.checkTable("guards.", []Field{g.field()})
	}
	a.checkStopRule("guard", g.StopRule)
	return a.err()
}

// isShared reports whether a stopping rule that all methods share has the id.
func isShared(id string) bool {
	return slices.ContainsFunc(sharedStops, func(row StopRule) bool { return row.ID == id })
}

// addition collects the mistakes in an addition to a catalog.
type addition struct {
	name   string
	fields []Field // the settings that it may name
	errs   []error
}

func (a *addition) errorf(format string, args ...any) {
	a.errs = append(a.errs, fmt.Errorf("%s: %w", a.name, fmt.Errorf(format, args...)))
}

func (a *addition) err() error { return errors.Join(a.errs...) }

// checkIdentifier checks a name, which must not have any of the forbidden characters.
func (a *addition) checkIdentifier(what, name, forbidden string) {
	if name == "" || strings.ContainsAny(name, " \t\n${}"+forbidden) {
		a.errorf("%s must not be empty or contain spaces or any of %q: %q", what, "${}"+forbidden, name)
	}
}

// checkTable checks a table of fields, whose settings have prefix before their names.
func (a *addition) checkTable(prefix string, fields []Field) {
	for i, f := range fields {
		name := prefix + f.Name
		a.checkIdentifier("the name of a setting", f.Name, ".")
		if _, twice := fieldNamed(fields[:i], f.Name); twice {
			a.errorf("setting %s: declared twice", name)
		}
		for _, other := range []string{f.DefaultOf, f.Delimiter} {
			if _, ok := fieldNamed(fields, other); other != "" && !ok {
				a.errorf("setting %s: it refers to setting %s, which does not exist", name, other)
			}
		}
		for _, dialect := range dialects {
			a.checkDefault(name, dialect.name, f)
		}
		if f.Kind == KindBlock {
			a.checkTable(name+".", f.Fields)
		}
	}
}

// checkDefault checks that the default of a field is a value that it accepts.
func (a *addition) checkDefault(name string, dialect Dialect, f Field) {
	kind, fallback := f.kindAndDefault(dialect)
	if fallback == nil {
		return
	}
	converted, err := convert(kind, fallback)
	if text, ok := converted.(string); ok && err == nil {
		_, err = f.oneOf(text)
	}
	if err != nil {
		a.errorf("setting %s: the default: %v", name, err)
	}
}

// checkSetting checks that a setting exists, and returns its field.
func (a *addition) checkSetting(place, name string) Field {
	fields, f, ok := a.fields, Field{}, false
	for part := range strings.SplitSeq(name, ".") {
		if f, ok = fieldNamed(fields, part); !ok {
			a.errorf("%s: unknown setting %q; known settings: %s", place, name, strings.Join(supportedKeys(fields), ", "))
			return Field{}
		}
		fields = f.Fields
	}
	return f
}

// checkRow checks that every name in a row of a table is a known setting: in its conditions, in setting, and
// in ${…} of its texts. Texts may have the given names, too.
func (a *addition) checkRow(place string, only Conditions, setting string, names []string, texts ...string) {
	for _, c := range only {
		a.checkSetting(place, c.Setting)
	}
	if setting != "" {
		names = append(slices.Clone(names), "each")
		if f := a.checkSetting(place, setting); f.Name != "" && f.Kind != KindMap && f.Kind != KindPaths {
			a.errorf("%s: Each needs %s or %s, and setting %s is %s", place, KindMap, KindPaths, setting, f.Kind)
		}
	}
	for _, text := range texts {
		if strings.Count(text, "${") > strings.Count(text, "}") {
			a.errorf("%s: ${ without }: %s", place, text)
			continue
		}
		expand(text, func(name string) string {
			name, _, _ = strings.Cut(name, " ") // without the noun
			if !slices.Contains(names, name) {
				a.checkSetting(place, name)
			}
			return ""
		})
	}
}

func (a *addition) checkOverlay(o Overlay) {
	a.checkRow("ApplyToFirst", o.ApplyToFirst.when, "", nil)
	a.checkRow("OmitParams", o.OmitParams.when, "", nil)
	parts := append([]Part{o.URL, o.Endpoint, o.Verb}, append(slices.Clone(o.Params), o.Body...)...)
	for _, p := range parts {
		place := strings.TrimSpace("part " + p.Name)
		a.checkRow(place, p.Only, p.Each, nil, p.Name, p.Value, p.ValueInWords)
		if p.Value == "" && (p.Name != "" || p.Each != "") {
			a.errorf("%s: Value must be an expression", place)
		}
	}
}

func (a *addition) checkStopRule(place string, row StopRule) {
	a.checkRow(place, row.Only, row.Each, nil, row.When)
	a.checkRow(place, nil, "", nil, row.Message)
	a.checkRow(place, nil, "", lists.Map(phrases, func(p phrase) string { return p.name }), row.Clause)
	if row.When == "" || row.Clause == "" || row.Message == "" {
		a.errorf("%s: When, Clause and Message must not be empty", place)
	}
	if row.Outcome != "" && !slices.Contains(outcomeNames(), string(row.Outcome)) {
		a.errorf("%s: outcome: want %s, got %q", place, wording.OrList(outcomeNames()), row.Outcome)
	}
}
