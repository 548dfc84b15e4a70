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
	diags       *diag.Collector
	dialect     string          // its kinds and defaults apply
	unknown     diag.Severity   // the severity of keys that the table does not have
	catalog     *Catalog        // the methods of pagination objects
	env         *environment    // values for {"env": "NAME"}
	cfg         *Config         // the configuration so far, with its secrets
	pagingDiags *diag.Collector // collects the mistakes in pagination objects; if it is nil, diags does

	visit func(ConfiguredKey) // called for every key; may be nil
}

// object reads an object.
func (r *reader) object(path string, v any, fields []Field) settings {
	object, ok := value.Members(v)
	if !ok {
		r.diags.Errorf(diag.Value(path), "want an object, got %s", describe(v))
		return settings{}
	}
	r.unknownKeys(path, object, fields)
	own := make([]setting, 0, min(len(object), len(fields))+1) // complete adds another one
	out := settings{reader: r, path: path, fields: fields, own: own}
	for i := range fields {
		f := &fields[i]
		v, written := object.Get(f.Name)
		if !written && !f.Required {
			continue
		}
		s := member(path, f.Name)
		if written && !f.absent(v, r.dialect) {
			r.convert(&s, v, f)
		}
		if s.Value == nil && !s.Invalid && f.Required {
			r.diags.Errorf(diag.Value(path), "%s is missing: %s", f.Name, f.Doc)
			s.Invalid = true
		}
		if s.given() {
			out.own = append(out.own, s)
		}
	}
	r.complete(&out)
	if r.visit != nil {
		r.visitDefaults(path, object, fields)
	}
	return out
}

// unknownKeys reports the members of an object that no field describes.
func (r *reader) unknownKeys(path string, object Object, fields []Field) {
	method, _ := object.Get("method")
	for _, m := range object {
		if fieldIndex(fields, m.Name) < 0 && !hasPrefix(fields, m.Name) {
			r.diags.Report(r.unknown, diag.Key(diag.Join(path, m.Name)), "unknown key %q", m.Name).
				WithHint(r.catalog.keyHint(m.Name, method, fields))
		}
	}
}

// convert sets the value of a setting, or marks it as invalid and reports why.
func (r *reader) convert(into *setting, v any, f *Field) {
	if r.visit != nil {
		r.visitWritten(into, f)
	}
	if !r.checkSupported(into, f) {
		return
	}
	if name, ok := envReference(v); ok && f.envMay() && f.Kind != Secret { // the decoder reads a secret, since its messages name the purpose
		v, into.fromEnv = r.envValue(name, into.path(), f), true
	}
	if members, ok := value.Members(v); ok && f.Fields != nil && f.Kind != Block && f.Kind != Blocks {
		into.Value = r.strict().object(into.path(), members, f.Fields)
		return
	}
	kind, _ := f.in(r.dialect)
	_, isObject := value.Members(v)
	switch {
	case f.Kind == Nested:
		into.Value = r.pagination(into.path(), v, f.Required)
		return
	case f.Kind == Block && r.dialect == Keboola && (php.EmptyConfig(v) || kind == phpBlock && !isObject):
		return
	case f.Kind == Block && isObject:
		into.Value = r.object(into.path(), v, f.Fields)
		return
	}
	converted, err := convert(kind, v)
	if text, ok := converted.(string); ok && f.Values != nil {
		converted, err = f.oneOf(text)
	}
	if err != nil {
		r.refuse(into, v, f, err)
		return
	}
	into.Value = converted
	if f.Kind == Key || f.Kind == Path {
		into.Written, _ = v.(string)
		if len(into.Written) > maxPath {
			r.refuse(into, nil, f, fmt.Errorf("want a path of at most %d bytes, got %d", maxPath, len(into.Written)))
			return
		}
	}
	switch written, _ := value.Members(v); {
	case f.Kind == Path:
		r.dottedPath(into.path(), into.Written, false)
	case f.Kind == Paths:
		for _, m := range written {
			path, _ := m.Value.(string)
			r.dottedPath(diag.Join(into.path(), m.Name), path, false)
		}
	case f.Address:
		r.addressText(*into)
	case f.Kind == Secret:
		r.literalText(into.path(), v, false)
	}
	r.elements(into, f)
}

// checkSupported reports whether the value of a key has an effect. It reports a key without one as a
// mistake.
func (r *reader) checkSupported(into *setting, f *Field) bool {
	switch {
	case f.Support == Refused:
		r.diags.Errorf(diag.Key(into.path()), "%s is not supported yet and would change the requests", f.Name).
			WithHint("remove it, or extract this part with another tool for now")
	case f.Support == OnlyKeboola && r.dialect != Keboola:
		r.diags.Errorf(diag.Key(into.path()), "%s is a key of dialect keboola", f.Name).
			WithHint(`set "dialect": "keboola" in api, or see the guide to the dialects for what does the same`)
	case f.Support == Ignored:
		r.diags.Warnf(diag.Key(into.path()), "%s is not supported and has no effect", f.Name)
		return false
	default:
		return true
	}
	into.Invalid = true
	return false
}

// refuse marks a setting as invalid, and reports why.
func (r *reader) refuse(into *setting, v any, f *Field, err error) {
	text, _ := v.(string)
	hint := diag.DidYouMean(text, f.Values)
	if name, isReference := envReference(v); isReference && f.Kind == Expression {
		hint = fmt.Sprintf(`declare an input with "default": {"env": %q}, and read it as input.NAME`, name)
	}
	r.diags.Errorf(diag.Value(into.path()), "%v", err).WithHint(hint)
	into.Value, into.Invalid = nil, true
}

// maxPath is the length of the longest path in a response, in bytes.
const maxPath = 4096

// elements converts the elements of a list and the values of a map.
func (r *reader) elements(into *setting, f *Field) {
	each := f.Each
	switch {
	case f.Kind == Blocks:
		each = &Field{Kind: Block, Fields: f.Fields}
	case f.Kind == Map && f.Env && each == nil:
		into.Value = r.paramsOf(into.path(), into.object())
	}
	if each == nil || !limitElements(r.diags, into, f.Kind) {
		return
	}
	var list []setting
	switch v := into.Value.(type) {
	case []any:
		path := into.path()
		list = make([]setting, len(v))
		for i, e := range v {
			list[i] = r.element(setting{base: diag.Index(path, i)}, e, each)
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

// The largest numbers of elements of lists and objects in a configuration. Each element is
// compiled, most of them once for every job.
const (
	maxElements = 1000
	maxJobs     = 10_000 // and tests
)

// limitElements reports whether a list or an object has no more elements than its kind may have.
// Otherwise it is marked as invalid.
func limitElements(diags *diag.Collector, list *setting, kind Kind) bool {
	limit := maxElements
	if kind == Blocks {
		limit = maxJobs
	}
	object, _ := value.Members(list.Value)
	elements, _ := list.Value.([]any)
	if n := len(object) + len(elements); n > limit {
		diags.Errorf(diag.Value(list.path()), "want at most %d elements, got %d", limit, n)
		list.Value, list.Invalid = nil, true
		return false
	}
	return true
}

func (r *reader) element(into setting, v any, f *Field) setting {
	if v == nil && f.OrNull {
		return into
	}
	r.strict().convert(&into, v, f)
	if f.Kind == Block && into.Value == nil && !into.Invalid { // dialect keboola has read an empty value
		into.Value = r.strict().object(into.path(), Object{}, f.Fields)
	}
	return into
}

// strict returns a reader for objects that the reference implementation does
// not have: an unknown key in them is an error in any dialect.
func (r *reader) strict() *reader {
	if r.unknown == diag.SeverityError {
		return r
	}
	strict := *r
	strict.unknown = diag.SeverityError
	return &strict
}

// fallback gives a setting that is missing its default, if there is one.
func (r *reader) fallback(into *setting, f *Field) {
	if _, fallback := f.in(r.dialect); fallback != nil && !f.Required {
		into.Value, into.Default = fallback, true
		r.elements(into, f)
	}
}

// complete fills in the settings that depend on other keys of the same object: defaults that
// are the value of another key, and paths whose delimiter is configured.
func (r *reader) complete(into *settings) {
	for i := range into.fields {
		f := &into.fields[i]
		if f.DefaultOf == "" && f.Kind != Path {
			continue
		}
		s := into.get(f.Name)
		if f.DefaultOf != "" && s.Value == nil && !s.Invalid {
			s.Value, s.Default = into.get(f.DefaultOf).Value, true
		}
		if path, ok := s.Value.(string); ok && f.Kind == Path {
			delimiter := cmp.Or(into.get(f.Delimiter).text(), ".")
			s.Value = PathOf(r.split(path, delimiter)...)
		}
		if s.Value != nil {
			into.set(s)
		}
	}
}

// split splits a path at a delimiter. A path that is the delimiter is the root.
// Only dots can be escaped, and not in dialect keboola.
func (r *reader) split(path, delimiter string) []string {
	switch {
	case path == delimiter:
		return nil
	case delimiter == "." && r.dialect != Keboola:
		return SplitPath(path)
	}
	return strings.Split(path, delimiter)
}

// nearest returns a hint for an unknown name: the name that was probably meant, or all known names.
func nearest(name string, known []string) string {
	return cmp.Or(diag.DidYouMean(name, known), knownHere(known))
}

// knownHere returns a hint that lists the names that are known.
func knownHere(known []string) string {
	const most = 40
	more := ""
	if len(known) > most {
		known, more = known[:most], ", …"
	}
	return "known here: " + strings.Join(known, ", ") + more
}
