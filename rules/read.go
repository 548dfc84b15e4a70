package rules

import (
	"cmp"
	"fmt"
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
	into := make(settings, len(fields))
	if object, ok := value.Members(v); ok {
		r.members(into, "", path, object, fields)
	} else {
		r.diags.Errorf(diag.Value(path), "want an object, got %s", found(v))
	}
	return into
}

// members adds a setting for every field, with prefix before its name: its value,
// its default, or nothing.
func (r reader) members(into settings, prefix, path string, object Object, fields []Field) {
	r.unknownKeys(path, object, fields)
	for _, f := range fields {
		s := setting{Name: f.Name, Path: diag.Join(path, f.Name)}
		if v, written := object.Get(f.Name); written && !f.absent(v) {
			r.convert(&s, v, f)
		}
		switch members, ok := s.Value.(Object); {
		case f.Kind == Block && ok:
			s.Value = true
			r.members(into, prefix+f.Name+".", s.Path, members, f.Fields)
		case f.Kind == Block:
			r.defaults(into, prefix+f.Name+".", s.Path, f.Fields)
		}
		if s.Value == nil && !s.Invalid {
			r.missing(&s, path, f)
		}
		into[prefix+f.Name] = s
	}
	r.complete(into, prefix, fields)
}

// defaults adds the settings of an object that is missing.
func (r reader) defaults(into settings, prefix, path string, fields []Field) {
	for _, f := range fields {
		s := setting{Name: f.Name, Path: diag.Join(path, f.Name)}
		if !f.Required {
			r.missing(&s, path, f)
		}
		if f.Kind == Block {
			r.defaults(into, prefix+f.Name+".", s.Path, f.Fields)
		}
		into[prefix+f.Name] = s
	}
}

// unknownKeys reports the members of an object that no field describes.
func (r reader) unknownKeys(path string, object Object, fields []Field) {
	method, _ := object.Get("method")
	for _, name := range object.Names() {
		if _, known := find(fields, name); known {
			continue
		}
		r.diags.Report(r.unknown, diag.Key(diag.Join(path, name)), "unknown key %q", name).WithHint(keyHint(name, method, fields))
	}
}

// convert sets the value of a setting, or marks it as invalid and reports why.
func (r reader) convert(into *setting, v any, f Field) {
	switch f.Unsupported {
	case OnRequest:
		r.diags.Errorf(diag.Key(into.Path), "%s is not supported yet and would change the requests", f.Name).
			WithHint("remove it, or extract this part with another tool for now")
		into.Invalid = true
		return
	case OnSpec:
		if r.dialect != Keboola {
			r.diags.Errorf(diag.Key(into.Path), "%s is a key of dialect keboola", f.Name).
				WithHint(`set "dialect": "keboola" in api, or see the guide to the dialects for what does the same`)
			into.Invalid = true
			return
		}
	case OnOutput:
		r.diags.Warnf(diag.Key(into.Path), "%s is not supported and has no effect", f.Name)
		return
	}
	if members, ok := value.Members(v); ok && f.Fields != nil && f.Kind != Block && f.Kind != Blocks {
		into.Value = r.strict().object(into.Path, members, f.Fields)
		return
	}
	kind, _ := f.in(r.dialect)
	if _, isObject := value.Members(v); f.Kind == Block && r.dialect == Keboola && (php.EmptyConfig(v) || kind == phpBlock && !isObject) {
		return
	}
	converted, problem := convert(kind, v)
	if text, ok := converted.(string); ok {
		converted, problem = f.oneOf(text)
	}
	if problem != "" {
		text, _ := v.(string)
		hint := diag.DidYouMean(text, f.Values)
		if name, isReference := envReference(v); isReference && f.Kind == Expression {
			hint = fmt.Sprintf(`declare an input with "default": {"env": %q}, and read it as input.NAME`, name)
		}
		r.diags.Errorf(diag.Value(into.Path), "%s", problem).WithHint(hint)
		into.Invalid = true
		return
	}
	into.Value = converted
	if f.Kind == Key || f.Kind == Path {
		into.Written, _ = v.(string)
		if len(into.Written) > maxPath {
			r.diags.Errorf(diag.Value(into.Path), "want a path of at most %d bytes, got %d", maxPath, len(into.Written))
			into.Value, into.Invalid = nil, true
			return
		}
	}
	r.inner(into, f)
}

// maxPath is the length of the longest path in a response, in bytes.
const maxPath = 4096

// inner converts the elements of a list and the values of a map.
func (r reader) inner(into *setting, f Field) {
	each := f.Each
	if f.Kind == Blocks {
		each = &Field{Kind: Block, Fields: f.Fields}
	}
	if each == nil || !r.mayHave(into, f) {
		return
	}
	var list []setting
	switch v := into.Value.(type) {
	case []any:
		for i, e := range v {
			list = append(list, r.element(setting{Path: diag.Index(into.Path, i)}, e, *each))
		}
	case Object:
		for _, m := range v {
			list = append(list, r.element(setting{Name: m.Name, Path: diag.Join(into.Path, m.Name)}, m.Value, *each))
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
func (r reader) mayHave(list *setting, f Field) bool {
	most := maxElements
	if f.Kind == Blocks {
		most = maxJobs
	}
	object, _ := value.Members(list.Value)
	elements, _ := list.Value.([]any)
	if n := len(object) + len(elements); n > most {
		r.diags.Errorf(diag.Value(list.Path), "want at most %d elements, got %d", most, n)
		list.Value, list.Invalid = nil, true
		return false
	}
	return true
}

func (r reader) element(into setting, v any, f Field) setting {
	if v == nil && f.OrNull {
		return into
	}
	r.convert(&into, v, f)
	if members, ok := into.Value.(Object); ok && f.Kind == Block {
		into.Value = r.strict().object(into.Path, members, f.Fields)
	}
	return into
}

// strict returns a reader for objects that the reference implementation does
// not have: an unknown key in them is an error in any dialect.
func (r reader) strict() reader {
	r.unknown = diag.SeverityError
	return r
}

// missing gives a setting its default, or reports that there is none.
func (r reader) missing(into *setting, path string, f Field) {
	_, fallback := f.in(r.dialect)
	switch {
	case f.Required:
		r.diags.Errorf(diag.Value(path), "%s is missing: %s", f.Name, f.Doc)
		into.Invalid = true
	case fallback != nil:
		into.Value, into.Default = fallback, true
		r.inner(into, f)
	}
}

// complete fills in what depends on other keys of the same object: defaults that
// are the value of another key, and paths whose delimiter is configured.
func (r reader) complete(into settings, prefix string, fields []Field) {
	for _, f := range fields {
		s := into[prefix+f.Name]
		if f.DefaultOf != "" && s.Value == nil && !s.Invalid {
			s.Value, s.Default = into[prefix+f.DefaultOf].Value, true
		}
		if path, ok := s.Value.(string); ok && f.Kind == Path {
			delimiter := cmp.Or(into[prefix+f.Delimiter].text(), ".")
			s.Value = PathOf(r.split(path, delimiter)...)
		}
		into[prefix+f.Name] = s
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
