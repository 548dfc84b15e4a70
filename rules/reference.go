package rules

import "github.com/stopwhen/stopwhen/rules/diag"

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
			case f.Unsupported != None:
			case f.Kind == Block:
				add(inner, f.Doc, f.Fields)
			case f.Kind == Blocks:
				add(inner+"[]", f.Doc, f.Fields)
			}
		}
	}
	add("", "The outer `parameters` object may be left out.", rootFields)
	add("inputs.NAME", "A value that each run sets.", inputFields)
	add("tests[].pages[]", "A complete response: an object with `body` or `status`, and no keys other than these. "+
		"Any other object or list is the body of a response with status 200.", answerFields)
	add("api.pagination", "The keys of all methods. [methods.md](methods.md) has the keys of each method.", c.fields)
	add("api.pagination.stopRules[]", "A user-defined stopping rule; a string is short for `{\"when\": …}`.", stopRuleFields)
	add("api.pagination.onError[]", "What to do about an error response.", onErrorFields)
	return sections
}
