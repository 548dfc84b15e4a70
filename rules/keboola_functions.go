package rules

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/php"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/rules/wording"
)

// Configurations of the reference implementation compute values by function objects,
// {"function": "md5", "args": [...]}, and by references,
// {"attr": "server"}. They become expressions: phpMd5(...), input.server.

// sourceOfNow is the time at which a job begins, in seconds since 1970.
const sourceOfNow = "now().Unix()"

// A resolver returns the expression for a reference, such as {"attr": "server"}, and whether its value must
// never be printed. It reports a name that does not exist, and returns "" for it.
type resolver func(path, name string) (source string, hidden bool)

// isFunction reports whether an object is certainly a user function of the reference, and no value of an API.
func isFunction(object Object) bool {
	name, _ := object.Get("function")
	args, _ := object.Get("args")
	_, named := name.(string)
	_, listed := args.([]any)
	return named && listed && len(object) == 2
}

// functionKeys begin a user function of the reference, which it accepts instead
// of the value of a parameter.
var functionKeys = []string{"function", "attr", "time", "date"}

// functions reads function objects where these references may stand, by their keys.
type functions struct {
	*decoder
	references  map[string]resolver
	placeholder bool // for the placeholders of a child: urlencode is known, too
}

// evaluated returns the values of an object, with function objects evaluated. Like
// the reference it computes objects, and not the objects in a list.
func (f functions) evaluated(s setting) setting {
	object, ok := value.Members(s.Value)
	if !ok {
		return s
	}
	object = slices.Clone(object)
	for i, m := range object {
		object[i].Value = f.value(diag.Join(s.path(), m.Name), m.Value)
	}
	s.Value = object
	return s
}

// value returns a value, or the expression that computes it.
func (f functions) value(path string, v any) any {
	if _, isObject := value.Members(v); !isObject || !f.calls(v) {
		return v
	}
	source, hidden := f.source(path, v)
	return Computed{Source: source, Secret: hidden, Path: path}
}

// calls reports whether there is a function or a reference in a value.
func (f functions) calls(v any) bool {
	if list, ok := v.([]any); ok {
		return slices.ContainsFunc(list, f.calls)
	}
	object, _ := value.Members(v)
	if _, isFunction := object.Get("function"); isFunction || f.reference(object) != nil {
		return true
	}
	return slices.ContainsFunc(object, func(m Member) bool { return f.calls(m.Value) })
}

// reference returns the function that resolves an object, if the object is a reference.
func (f functions) reference(object Object) resolver {
	if len(object) != 1 {
		return nil
	}
	return f.references[object[0].Name]
}

// source returns the expression for a value, and whether its value must never be printed.
// After a mistake, which it reports, it returns nil.
func (f functions) source(path string, v any) (source string, hidden bool) {
	if list, ok := v.([]any); ok {
		parts, hidden := f.sources(path, list)
		return "[" + strings.Join(parts, ", ") + "]", hidden
	}
	object, ok := value.Members(v)
	if !ok {
		return literal(withoutSpelling(v)), false
	}
	if name, isFunction := object.Get("function"); isFunction {
		return f.call(path, name, object)
	}
	if read := f.reference(object); read != nil {
		return f.refer(diag.Join(path, object[0].Name), object[0], read)
	}
	parts := make([]string, len(object))
	for i, m := range object {
		part, hides := f.source(diag.Join(path, m.Name), m.Value)
		parts[i], hidden = strconv.Quote(m.Name)+": "+part, hidden || hides
	}
	return "{" + strings.Join(parts, ", ") + "}", hidden
}

func (f functions) sources(path string, list []any) (sources []string, hidden bool) {
	for i, v := range list {
		source, hides := f.source(diag.Index(path, i), v)
		sources, hidden = append(sources, source), hidden || hides
	}
	return sources, hidden
}

// refer returns the expression for a reference.
func (f functions) refer(path string, m Member, read resolver) (string, bool) {
	name, ok := value.Text(m.Value)
	if !ok {
		f.diags.Errorf(diag.Value(path), "want the name of a value, got %s", describe(m.Value))
		return "nil", false
	}
	source, hidden := read(path, name)
	if source == "" {
		return "nil", false
	}
	return source, hidden
}

// call returns the expression for a function.
func (f functions) call(path string, written any, object Object) (string, bool) {
	name, _ := written.(string)
	args, hidden := f.arguments(path, object)
	if name == "time" {
		return sourceOfNow, false
	}
	function, known := php.FunctionNamed(name)
	if !known || function.Name == urlencode && !f.placeholder {
		f.reportUnknown(path, written)
		return "nil", false
	}
	if function.Timed && len(args) == function.Min-1 {
		args = append(args, sourceOfNow)
	}
	if function.Max < 0 && len(args) < function.Min || function.Max >= 0 && len(args) != function.Min {
		f.diags.Errorf(diag.Value(path), "%s has %s", name, wording.Counted(len(args), "argument")).WithHint(usage(function))
		return "nil", false
	}
	return function.Builtin + "(" + strings.Join(args, ", ") + ")", hidden
}

// arguments returns the expressions for the arguments of a function. If they are the members of an
// object, its order is theirs.
func (f functions) arguments(path string, object Object) ([]string, bool) {
	place := diag.Join(path, "args")
	args, _ := object.Get("args")
	if members, ok := value.Members(args); ok {
		args = members.Values()
	}
	list, ok := args.([]any)
	if !ok && args != nil {
		f.diags.Errorf(diag.Value(place), "want a list of arguments, got %s", describe(args))
	}
	for _, name := range object.Without("function").Without("args").Without("path").Names() {
		f.diags.Warnf(diag.Key(diag.Join(path, name)), "%s has no effect next to a function", name)
	}
	return f.sources(place, list)
}

// urlencode is the function that only placeholders know.
const urlencode = "urlencode"

func (f functions) reportUnknown(path string, written any) {
	names := []string{"time"}
	for _, known := range php.Functions() {
		if known.Name != urlencode || f.placeholder {
			names = append(names, known.Name)
		}
	}
	name, _ := written.(string)
	nearest(f.diags.Errorf(diag.Value(diag.Join(path, "function")), "unknown function %s", describe(written)), name, names)
}

// usage says how many arguments a function takes.
func usage(f php.Function) string {
	switch {
	case f.Timed:
		return fmt.Sprintf("%s takes %d or %d arguments", f.Name, f.Min-1, f.Min)
	case f.Max < 0:
		return fmt.Sprintf("%s takes %s or more", f.Name, wording.Counted(f.Min, "argument"))
	}
	return fmt.Sprintf("%s takes %s", f.Name, wording.Counted(f.Min, "argument"))
}
