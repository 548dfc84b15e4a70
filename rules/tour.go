package rules

import (
	"slices"

	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/value"
)

// Setting is a key of a configuration: one that is written, or one that is not, and has a
// default that is in force.
type Setting struct {
	Path    string
	Doc     string // what it is for, from the tables of fields
	Written bool
	Default any  // of a key that is not written
	Leaf    bool // it has no keys of its own
}

// Settings returns the keys that the tables of fields describe, of a configuration as it was
// parsed, in the order of the tables: those that are written, and after those of each object
// the defaults that are in force there. Tests are left out. The dialect is that of [Config].
func (c *Catalog) Settings(root any, dialect string) []Setting {
	t := &tour{catalog: c, dialect: dialect}
	path := ""
	if object, ok := value.Members(root); ok {
		if inner, wrapped := object.Get("parameters"); wrapped {
			root, path = inner, "parameters"
		}
	}
	t.object(path, root, rootFields)
	return t.found
}

// A tour visits the keys of a configuration by the tables of fields.
type tour struct {
	catalog *Catalog
	dialect string
	found   []Setting
}

func (t *tour) object(path string, v any, fields []Field) {
	object, ok := value.Members(v)
	if !ok {
		return
	}
	for _, f := range fields {
		if inner, written := object.Get(f.Name); written && !f.absent(inner) && f.Name != "tests" {
			t.written(diag.Join(path, f.Name), inner, f)
		}
	}
	for _, f := range fields {
		if inner, written := object.Get(f.Name); !written || f.absent(inner) {
			t.missing(diag.Join(path, f.Name), object, f)
		}
	}
}

// written visits a key that is written, and the keys in its value.
func (t *tour) written(path string, v any, f Field) {
	_, isObject := value.Members(v)
	list, isList := v.([]any)
	inner := f.Kind == Block || f.Kind == Blocks || f.Kind == Nested || f.Each != nil && f.Each.Fields != nil
	t.found = append(t.found, Setting{Path: path, Doc: f.Doc, Written: true, Leaf: !inner})
	switch {
	case f.Kind == Nested:
		t.pagination(path, v)
	case f.Fields != nil && isObject:
		t.object(path, v, f.Fields)
	case f.Kind == Blocks && isList:
		for i, e := range list {
			t.object(diag.Index(path, i), e, f.Fields)
		}
	case f.Each != nil:
		t.elements(path, v, *f.Each)
	}
}

// elements visits the keys of the elements of a list or an object.
func (t *tour) elements(path string, v any, each Field) {
	visit := func(path string, v any) {
		if each.Kind == Nested {
			t.pagination(path, v)
			return
		}
		t.object(path, v, each.Fields)
	}
	if list, ok := v.([]any); ok {
		for i, e := range list {
			visit(diag.Index(path, i), e)
		}
		return
	}
	object, _ := value.Members(v)
	for _, m := range object {
		visit(diag.Join(path, m.Name), m.Value)
	}
}

// pagination visits the keys of a pagination object, which its method decides.
func (t *tour) pagination(path string, v any) {
	object, _ := value.Members(v)
	name, _ := object.Get("method")
	i := slices.IndexFunc(t.catalog.methods, func(m Method) bool { return m.Name == name })
	if i >= 0 {
		t.object(path, v, t.catalog.fieldsOf(t.catalog.methods[i]))
	}
}

// missing visits a key that is not written, if its default is in force.
func (t *tour) missing(path string, around Object, f Field) {
	if f.Idle != "" {
		if _, needed := around.Get(f.Idle); !needed {
			return
		}
	}
	if f.Kind == Block && !slices.ContainsFunc(f.Fields, func(inner Field) bool { return inner.Required }) {
		for _, inner := range f.Fields {
			t.missing(diag.Join(path, inner.Name), nil, inner)
		}
		return
	}
	_, fallback := f.in(t.dialect)
	if fallback == nil && f.DefaultOf != "" {
		fallback, _ = around.Get(f.DefaultOf)
	}
	if fallback != nil && fallback != false && !f.Required {
		t.found = append(t.found, Setting{Path: path, Doc: f.Doc, Default: fallback})
	}
}
