package rules

import (
	"slices"
	"strings"
	"sync"

	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/value"
)

// ConfiguredKey is a key that is in force in a configuration: it is written, or it has its default.
type ConfiguredKey struct {
	Path    string
	Doc     string // its documentation, from the tables of fields
	Written bool
	Default any  // the value of a key that is not written
	Leaf    bool // it has no keys of its own
}

// ConfiguredKeys returns the keys that the tables of fields describe, of a configuration as it was
// parsed, in the order of the tables. For each object, the keys that are present come first,
// then the defaults that are in effect. Tests are left out. The dialect is that of [Config].
func (c *Catalog) ConfiguredKeys(root any, dialect Dialect) []ConfiguredKey {
	path := ""
	if object, ok := value.Members(root); ok {
		if inner, wrapped := object.Get("parameters"); wrapped {
			root, path = inner, "parameters"
		}
	}
	var keys []ConfiguredKey
	r := &reader{
		diags: diag.NewCollector(nil), dialect: dialect, catalog: c, cfg: &Config{}, env: &environment{placeholders: true},
		visit: func(s ConfiguredKey) { keys = append(keys, s) },
	}
	r.object(path, root, slices.DeleteFunc(slices.Clone(rootFields), func(f Field) bool { return f.Name == "tests" }))
	return keys
}

// visitWritten visits a key that is written. Elements of lists and maps are not keys.
func (r *reader) visitWritten(s *setting, f *Field) {
	inner := f.Kind == KindBlock || f.Kind == KindBlocks || f.Kind == KindNested || f.Each != nil && f.Each.Fields != nil
	if f.Name != "" {
		r.visit(ConfiguredKey{Path: s.path(), Doc: f.Doc, Written: true, Leaf: !inner})
	}
}

// visitDefaults visits the keys of an object that are not written, and whose default is in
// force.
func (r *reader) visitDefaults(path string, object Object, fields []Field) {
	for i := range fields {
		f := &fields[i]
		if v, written := object.Get(f.Name); !written || f.absent(v, r.dialect) {
			r.visitDefault(diag.Join(path, f.Name), object, f)
		}
	}
}

func (r *reader) visitDefault(path string, object Object, f *Field) {
	if _, given := object.Get(f.DefaultWith); f.QuietDefault || f.DefaultWith != "" && !given {
		return
	}
	if f.Kind == KindBlock && !slices.ContainsFunc(f.Fields, func(inner Field) bool { return inner.Required }) {
		r.visitDefaults(path, nil, f.Fields)
		return
	}
	_, fallback := f.kindAndDefault(r.dialect)
	if fallback == nil && f.DefaultOf != "" {
		fallback, _ = object.Get(f.DefaultOf)
	}
	if fallback != nil && fallback != false && !f.Required {
		r.visit(ConfiguredKey{Path: path, Doc: f.Doc, Default: fallback})
	}
}

// placesOfKeys returns the place to which each key of the configuration belongs, as in
// "it belongs in …".
var placesOfKeys = sync.OnceValue(func() map[string]string {
	places := map[string]string{}
	add := func(place string, fields []Field) {
		for _, f := range fields {
			if _, known := places[f.Name]; !known && f.Support == Supported {
				places[f.Name] = place
			}
		}
	}
	add("a job, config.jobs[0]", jobFields)
	add("api.pagination", paginationFields)
	add("api.http", httpFields)
	add("api", apiFields)
	add("the root of the configuration, next to api", rootFields)
	add("config", configFields)
	places["pagination"] = "api or, for a job that pages in its own way, in the job"
	return places
})

// keyHint returns the hint for a key that an object cannot have and that is near none of
// its keys: the method or the place to which the key belongs, or all keys that are known.
// method is the method that the object selects, or nil.
func (c *Catalog) keyHint(name string, method any, fields []Field) string {
	owners, known := c.methodsWith(name, method)
	if known && owners != nil {
		return "it is a setting of method " + strings.Join(owners, ", ") + "; " + knownHere(supportedKeys(fields))
	}
	if place, known := placesOfKeys()[name]; known {
		return "it belongs in " + place
	}
	if owners != nil {
		return "it belongs in api.pagination"
	}
	return knownHere(supportedKeys(fields))
}

// methodsWith returns the names of the methods that have a setting, and reports whether method
// is the name of a method.
func (c *Catalog) methodsWith(setting string, method any) (owners []string, known bool) {
	for _, m := range c.methods {
		if _, ok := fieldNamed(m.Fields, setting); ok {
			owners = append(owners, m.Name)
		}
	}
	name, _ := method.(string)
	return owners, c.hasMethod(name)
}
