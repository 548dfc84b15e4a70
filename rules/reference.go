package rules

import "github.com/stopwhen/stopwhen/rules/diag"

// Section is one object of the configuration, for the reference.
type Section struct {
	Path   string // parameters.api.http
	Doc    string
	Fields []Field
}

// Reference lists the objects of the configuration and their keys, from the
// tables that it is read by. The keys of a method stand in [Methods].
func Reference() []Section {
	var sections []Section
	var add func(path, doc string, fields []Field)
	add = func(path, doc string, fields []Field) {
		sections = append(sections, Section{path, doc, fields})
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
	add("tests[].pages[]", "A whole response: an object with `body` or `status`, and no other keys than these. Any other object or list is the body of a response with status 200.", answerFields)
	add("api.pagination", "Of every method. The keys of a method of its own stand in [methods.md](methods.md).", commonFields)
	add("api.pagination.stopRules[]", "A rule of one's own; a bare expression is `{\"when\": …}`.", stopRuleFields)
	add("api.pagination.onError[]", "What to do with an error response.", onErrorFields)
	return sections
}
