package rules

import (
	"strings"

	"github.com/stopwhen/stopwhen/rules/diag"
)

// A home is an object of the configuration in which a key may be written.
type home struct {
	place  string // as in "it belongs in …"
	fields []Field
}

// homes returns the objects in which a key that is unknown elsewhere is looked for.
func homes() []home {
	all := []home{
		{"a job, config.jobs[0]", jobFields},
		{"api.pagination", paginationFields},
		{"api.http", httpFields},
		{"api", apiFields},
		{"the root of the configuration, next to api", rootFields},
		{"config", configFields},
	}
	for _, m := range builtinMethods {
		all = append(all, home{"api.pagination", m.Fields})
	}
	return all
}

// keyHint returns the hint for a key that an object cannot have: the key that was
// probably meant, the method or the place to which the key belongs, or all keys that
// are known.
func keyHint(name string, object Object, fields []Field) string {
	if hint := diag.DidYouMean(name, names(fields)); hint != "" {
		return hint
	}
	if method, ok := object.Get("method"); ok {
		if owners := methodsWith(name, method); owners != nil {
			return "it is a setting of method " + strings.Join(owners, ", ") + "; " + knownHere(names(fields))
		}
	}
	for _, h := range homes() {
		if f, ok := find(h.fields, name); ok && f.Unsupported == None {
			return "it belongs in " + h.place
		}
	}
	return knownHere(names(fields))
}

// methodsWith returns the names of the methods, other than the one that is selected, that
// have a setting. It returns nil if method does not name a method.
func methodsWith(setting string, method any) (owners []string) {
	known := false
	for _, m := range builtinMethods {
		known = known || m.Name == method
		if _, ok := find(m.Fields, setting); ok && !m.KeboolaOnly {
			owners = append(owners, m.Name)
		}
	}
	if !known {
		return nil
	}
	return owners
}
