package rules

import (
	"strings"
	"sync"

	"github.com/stopwhen/stopwhen/rules/diag"
)

// belongs returns the place to which each key of the configuration belongs, as in
// "it belongs in …".
var belongs = sync.OnceValue(func() map[string]string {
	places := map[string]string{}
	add := func(place string, fields []Field) {
		for _, f := range fields {
			if _, known := places[f.Name]; !known && f.Unsupported == None {
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
	return places
})

// keyHint returns the hint for a key that an object cannot have: the key that was
// probably meant, the method or the place to which the key belongs, or all keys that
// are known. method is the method that the object selects, or nil.
func (c *Catalog) keyHint(name string, method any, fields []Field) string {
	if hint := diag.DidYouMean(name, names(fields)); hint != "" {
		return hint
	}
	owners, known := c.methodsWith(name, method)
	if known && owners != nil {
		return "it is a setting of method " + strings.Join(owners, ", ") + "; " + knownHere(names(fields))
	}
	if place, known := belongs()[name]; known {
		return "it belongs in " + place
	}
	if owners != nil {
		return "it belongs in api.pagination"
	}
	return knownHere(names(fields))
}

// methodsWith returns the names of the methods that have a setting, and reports whether method
// is the name of a method.
func (c *Catalog) methodsWith(setting string, method any) (owners []string, known bool) {
	for _, m := range c.methods {
		known = known || m.Name == method
		if _, ok := find(m.Fields, setting); ok && !m.KeboolaOnly {
			owners = append(owners, m.Name)
		}
	}
	return owners, known
}
