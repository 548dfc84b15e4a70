package rules

import (
	"slices"

	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/lists"
)

// Catalog is the set of methods and guards that a configuration may use. It is
// immutable: [Catalog.WithMethod] and [Catalog.WithGuard] return a larger one.
type Catalog struct {
	methods []Method
	guards  []Guard
	fields  []Field // the keys of every pagination object
}

// Builtin returns the methods and guards of the specification.
func Builtin() *Catalog { return newCatalog(builtinMethods, builtinGuards) }

func newCatalog(methods []Method, guards []Guard) *Catalog {
	c := &Catalog{methods: methods, guards: guards, fields: slices.Clone(paginationFields)}
	keys := &c.fields[fieldIndex(c.fields, "guards")].Fields
	*keys = slices.Concat(lists.Map(guards, Guard.field), *keys)
	return c
}

// Methods returns the methods as a dialect has them, in the order of the reference.
func (c *Catalog) Methods(dialect Dialect) []Method {
	return lists.Map(c.methodNames(dialect), func(name string) Method {
		m, _ := c.method(name, dialect)
		return m.clone()
	})
}

// method returns the method of a name as a dialect has it.
func (c *Catalog) method(name string, dialect Dialect) (m Method, known bool) {
	if i := slices.IndexFunc(c.methods, func(m Method) bool { return m.Name == name }); i >= 0 {
		m, known = c.methods[i], true
	}
	differing := dialect.row().methods
	if i := slices.IndexFunc(differing, func(k keboolaMethod) bool { return k.name == name }); i >= 0 {
		m, known = differing[i].apply(m), true
	}
	m.Stops = stopsIn(dialect, m.Stops)
	return m, known
}

// methodNames returns the names of the methods of a dialect, in the order of the reference.
func (c *Catalog) methodNames(dialect Dialect) []string {
	names := lists.Map(c.methods, func(m Method) string { return m.Name })
	differing := dialect.row().methods
	for i, k := range differing {
		if k.only != nil {
			names = slices.Insert(names, slices.Index(names, differing[i-1].name)+1, k.name)
		}
	}
	return names
}

// hasMethod reports whether a method of any dialect has the name.
func (c *Catalog) hasMethod(name string) bool {
	return slices.ContainsFunc(dialects, func(d *dialectRow) bool { return slices.Contains(c.methodNames(d.name), name) })
}

// Guards returns the guards, in the order in which they are evaluated: if several are met on a page,
// the first is the reason.
func (c *Catalog) Guards() []Guard {
	return lists.Map(c.guards, Guard.clone)
}

// WithMethod returns a catalog that also has the method. The method must be
// complete and consistent; the error lists everything that is wrong with it.
// Its expressions are not compiled: [Catalog.MethodTrials] has configurations for that.
func (c *Catalog) WithMethod(m Method) (*Catalog, error) {
	if err := c.checkMethod(m); err != nil {
		return nil, err
	}
	return newCatalog(append(slices.Clone(c.methods), m.clone()), c.guards), nil
}

// WithGuard returns a catalog that also has the guard, after the others.
func (c *Catalog) WithGuard(g Guard) (*Catalog, error) {
	if err := c.checkGuard(g); err != nil {
		return nil, err
	}
	return newCatalog(c.methods, append(slices.Clone(c.guards), g.clone())), nil
}

// fieldsOf returns the keys of a pagination object of a method.
func (c *Catalog) fieldsOf(m Method) []Field {
	fields := slices.Clone(m.Fields)
	for _, f := range c.fields {
		if _, own := fieldNamed(m.Fields, f.Name); !own {
			fields = append(fields, f)
		}
	}
	return fields
}

func (m Method) clone() Method {
	m.Fields, m.State, m.Stops, m.OneOf = cloneFields(m.Fields), slices.Clone(m.State), slices.Clone(m.Stops), slices.Clone(m.OneOf)
	m.Next.Params, m.Next.Body = slices.Clone(m.Next.Params), slices.Clone(m.Next.Body)
	return m
}

func (g Guard) clone() Guard {
	g.Only = slices.Clone(g.Only)
	if g.Threshold != nil {
		g.Threshold = &cloneFields([]Field{*g.Threshold})[0]
	}
	return g
}

// Section is one object of the configuration, for the reference.
type Section struct {
	Path   string // parameters.api.http
	Doc    string
	Fields []Field
}

// Reference returns the objects of the configuration and their keys, from the
// tables that it is read by. [Catalog.Methods] has the keys of the methods.
func (c *Catalog) Reference() []Section {
	var sections []Section
	var add func(path, doc string, fields []Field)
	add = func(path, doc string, fields []Field) {
		sections = append(sections, Section{path, doc, cloneFields(fields)})
		for _, f := range fields {
			inner := diag.Join(path, f.Name)
			switch {
			case f.Support != Supported:
			case f.Kind == KindBlock:
				add(inner, f.Doc, f.Fields)
			case f.Kind == KindBlocks:
				add(inner+"[]", f.Doc, f.Fields)
			}
		}
	}
	add("", "The outer `parameters` object may be left out.", rootFields)
	add("inputs.NAME", "A value that each run sets.", inputFields)
	add("tests[].pages[]", "A complete response: an object with `body` or `status`, and no keys other than these. "+
		"Any other object or list is the body of a response with status 200.", testResponseFields)
	add("api.pagination", "The keys of all methods. [methods.md](methods.md) has the keys of each method.", c.fields)
	add("api.pagination.stopRules[]", "A user-defined stopping rule; a string is short for `{\"when\": …}`.", stopRuleFields)
	add("api.pagination.onError[]", "What to do about an error response.", onErrorFields)
	return sections
}
