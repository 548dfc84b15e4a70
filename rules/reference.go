package rules

import (
	"strings"

	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/value"
)

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

// ValueText describes the values of the field as Markdown: its kind, or the texts
// that it allows.
func (f Field) ValueText() string {
	if f.Values == nil {
		return f.Kind.String()
	}
	words := make([]string, len(f.Values))
	for i, v := range f.Values {
		words[i] = "`" + v + "`"
	}
	return value.OrList(words)
}

// DefaultText describes the default of the field as Markdown. It is "" if there is
// none.
func (f Field) DefaultText() string {
	switch {
	case f.Default == nil:
		return ""
	case f.KeboolaDefault == nil:
		return codeText(f.Default)
	case f.KeboolaDefault == Off:
		return codeText(f.Default) + "; none in dialect keboola"
	}
	return codeText(f.Default) + "; " + codeText(f.KeboolaDefault) + " in dialect keboola"
}

func codeText(v any) string {
	list, ok := v.([]any)
	if !ok {
		return "`" + value.Preview(v) + "`"
	}
	words := make([]string, len(list))
	for i, e := range list {
		words[i] = value.Preview(e)
	}
	return strings.Join(words, ", ")
}
