package rules

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/php"
	"github.com/stopwhen/stopwhen/rules/value"
)

// A reader reads objects of the configuration by their tables of fields. It
// reports every mistake and continues, so that one pass finds all of them.
type reader struct {
	diags   *diag.Collector
	dialect string        // its kinds and defaults apply
	unknown diag.Severity // of keys that the table does not have
}

// object reads an object. The settings of inner objects have dotted names.
func (r reader) object(path string, v any, fields []Field) settings {
	object, ok := value.Members(v)
	if !ok {
		r.diags.Errorf(diag.Value(path), "want an object, got %s", found(v))
		return settings{}
	}
	into := settings{reader: r, path: path, fields: fields}
	r.members(&into, "", path, object, fields)
	return into
}

// members adds the settings that the object at a path has, with prefix before their
// names, and reports those that it lacks.
func (r reader) members(into *settings, prefix, path string, object Object, fields []Field) {
	r.unknownKeys(path, object, fields)
	into.own = slices.Grow(into.own, min(len(object), len(fields))+1) // complete adds another one
	for i := range fields {
		f := &fields[i]
		v, written := object.Get(f.Name)
		if !written && !f.Required {
			continue
		}
		s := member(into.path, prefix+f.Name)
		if written && !f.absent(v) {
			r.convert(&s, v, f)
		}
		if inner, ok := s.Value.(Object); ok && f.Kind == Block {
			s.Value = true
			r.members(into, s.Name+".", s.path(), inner, f.Fields)
		}
		if s.Value == nil && !s.Invalid && f.Required {
			r.diags.Errorf(diag.Value(path), "%s is missing: %s", f.Name, f.Doc)
			s.Invalid = true
		}
		if s.given() {
			into.own = append(into.own, s)
		}
	}
	r.complete(into, prefix, fields)
}

// unknownKeys reports the members of an object that no field describes.
func (r reader) unknownKeys(path string, object Object, fields []Field) {
	method, _ := object.Get("method")
	for _, m := range object {
		if position(fields, m.Name) < 0 {
			r.diags.Report(r.unknown, diag.Key(diag.Join(path, m.Name)), "unknown key %q", m.Name).WithHint(keyHint(m.Name, method, fields))
		}
	}
}

// convert sets the value of a setting, or marks it as invalid and reports why.
func (r reader) convert(into *setting, v any, f *Field) {
	switch f.Unsupported {
	case OnRequest:
		r.diags.Errorf(diag.Key(into.path()), "%s is not supported yet and would change the requests", f.Name).
			WithHint("remove it, or extract this part with another tool for now")
		into.Invalid = true
		return
	case OnSpec:
		if r.dialect != Keboola {
			r.diags.Errorf(diag.Key(into.path()), "%s is a key of dialect keboola", f.Name).
				WithHint(`set "dialect": "keboola" in api, or see the guide to the dialects for what does the same`)
			into.Invalid = true
			return
		}
	case OnOutput:
		r.diags.Warnf(diag.Key(into.path()), "%s is not supported and has no effect", f.Name)
		return
	}
	if members, ok := value.Members(v); ok && f.Fields != nil && f.Kind != Block && f.Kind != Blocks {
		into.Value = r.strict().object(into.path(), members, f.Fields)
		return
	}
	kind, _ := f.in(r.dialect)
	if _, isObject := value.Members(v); f.Kind == Block && r.dialect == Keboola && (php.EmptyConfig(v) || kind == phpBlock && !isObject) {
		return
	}
	converted, problem := convert(kind, v)
	if text, ok := converted.(string); ok && f.Values != nil {
		converted, problem = f.oneOf(text)
	}
	if problem != "" {
		text, _ := v.(string)
		hint := diag.DidYouMean(text, f.Values)
		if name, isReference := envReference(v); isReference && f.Kind == Expression {
			hint = fmt.Sprintf(`declare an input with "default": {"env": %q}, and read it as input.NAME`, name)
		}
		r.diags.Errorf(diag.Value(into.path()), "%s", problem).WithHint(hint)
		into.Invalid = true
		return
	}
	into.Value = converted
	if f.Kind == Key || f.Kind == Path {
		into.Written, _ = v.(string)
		if len(into.Written) > maxPath {
			r.diags.Errorf(diag.Value(into.path()), "want a path of at most %d bytes, got %d", maxPath, len(into.Written))
			into.Value, into.Invalid = nil, true
			return
		}
	}
	r.inner(into, f)
}

// maxPath is the length of the longest path in a response, in bytes.
const maxPath = 4096

// inner converts the elements of a list and the values of a map.
func (r reader) inner(into *setting, f *Field) {
	each := f.Each
	if f.Kind == Blocks {
		each = &Field{Kind: Block, Fields: f.Fields}
	}
	if each == nil || !r.mayHave(into, f.Kind) {
		return
	}
	var list []setting
	switch v := into.Value.(type) {
	case []any:
		path := into.path()
		list = make([]setting, len(v))
		for i, e := range v {
			list[i] = r.element(setting{at: diag.Index(path, i)}, e, each)
		}
	case Object:
		path := into.path()
		list = make([]setting, len(v))
		for i, m := range v {
			list[i] = r.element(member(path, m.Name), m.Value, each)
		}
	default:
		return
	}
	into.Value = list
}

// How many elements the lists and objects of a configuration may have. Every one of
// them is compiled, most of them once for every job.
const (
	maxElements = 1000
	maxJobs     = 10_000 // and tests
)

// mayHave reports a list or an object with too many elements.
func (r reader) mayHave(list *setting, kind Kind) bool {
	most := maxElements
	if kind == Blocks {
		most = maxJobs
	}
	object, _ := value.Members(list.Value)
	elements, _ := list.Value.([]any)
	if n := len(object) + len(elements); n > most {
		r.diags.Errorf(diag.Value(list.path()), "want at most %d elements, got %d", most, n)
		list.Value, list.Invalid = nil, true
		return false
	}
	return true
}

func (r reader) element(into setting, v any, f *Field) setting {
	if v == nil && f.OrNull {
		return into
	}
	r.convert(&into, v, f)
	if f.Kind == Block && !into.Invalid {
		members, _ := into.Value.(Object) // none: dialect keboola has read an empty value
		into.Value = r.strict().object(into.path(), members, f.Fields)
	}
	return into
}

// strict returns a reader for objects that the reference implementation does
// not have: an unknown key in them is an error in any dialect.
func (r reader) strict() reader {
	r.unknown = diag.SeverityError
	return r
}

// fallback gives a setting that is missing its default, if there is one.
func (r reader) fallback(into *setting, f *Field) {
	if _, fallback := f.in(r.dialect); fallback != nil && !f.Required {
		into.Value, into.Default = fallback, true
		r.inner(into, f)
	}
}

// complete fills in what depends on other keys of the same object: defaults that
// are the value of another key, and paths whose delimiter is configured.
func (r reader) complete(into *settings, prefix string, fields []Field) {
	for i := range fields {
		f := &fields[i]
		if f.DefaultOf == "" && f.Kind != Path {
			continue
		}
		s := into.get(prefix + f.Name)
		if f.DefaultOf != "" && s.Value == nil && !s.Invalid {
			s.Value, s.Default = into.get(prefix+f.DefaultOf).Value, true
		}
		if path, ok := s.Value.(string); ok && f.Kind == Path {
			delimiter := cmp.Or(into.get(prefix+f.Delimiter).text(), ".")
			s.Value = PathOf(r.split(path, delimiter)...)
		}
		if s.Value != nil {
			into.set(s)
		}
	}
}

// split splits a path at a delimiter. A path that is the delimiter is the root.
// Only dots can be escaped, and not in dialect keboola.
func (r reader) split(path, delimiter string) []string {
	switch {
	case path == delimiter:
		return nil
	case delimiter == "." && r.dialect != Keboola:
		return SplitPath(path)
	}
	return strings.Split(path, delimiter)
}
