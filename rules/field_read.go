package rules

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/keypath"
	"github.com/stopwhen/stopwhen/rules/php"
	"github.com/stopwhen/stopwhen/rules/value"
)

// A reader reads objects of the configuration by their tables of fields. It
// reports every mistake and continues, so that one pass finds all of them.
type reader struct {
	diags       *diag.Collector
	dialect     Dialect         // its kinds and defaults apply
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
	r.reportUnknownKeys(path, object, fields)
	own := make([]setting, 0, min(len(object), len(fields))+1) // complete adds another setting
	out := settings{reader: r, path: path, fields: fields, entries: own}
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
			out.entries = append(out.entries, s)
		}
	}
	r.complete(&out)
	if r.visit != nil {
		r.visitDefaults(path, object, fields)
	}
	return out
}

// reportUnknownKeys reports the members of an object that no field describes.
func (r *reader) reportUnknownKeys(path string, object Object, fields []Field) {
	method, _ := object.Get("method")
	for _, m := range object {
		if fieldIndex(fields, m.Name) < 0 && !hasPrefix(fields, m.Name) {
			r.diags.Report(r.unknown, diag.Key(diag.Join(path, m.Name)), "unknown key %q", m.Name).
				WithHint(r.catalog.keyHint(m.Name, method, fields)).WithNearest(m.Name, supportedKeys(fields))
		}
	}
}

// convert sets the value of a setting, or marks it as invalid and reports why.
func (r *reader) convert(s *setting, v any, f *Field) {
	if r.visit != nil {
		r.visitWritten(s, f)
	}
	if !r.checkSupported(s, f) {
		return
	}
	// The decoder reads a secret, because its messages say what the secret is for.
	if name, ok := envReference(v); ok && f.allowsEnv() && f.Kind != KindSecret {
		v, s.fromEnv = r.envValue(name, s.path(), f), true
	}
	if r.convertObject(s, v, f) {
		return
	}
	kind, _ := f.kindAndDefault(r.dialect)
	converted, err := convert(kind, v)
	if text, ok := converted.(string); ok && f.Values != nil {
		converted, err = f.oneOf(text)
	}
	if err != nil {
		r.refuse(s, v, f, err)
		return
	}
	s.Value = converted
	if f.Kind == KindKey || f.Kind == KindPath {
		s.Spelling, _ = v.(string)
		if len(s.Spelling) > maxPath {
			r.refuse(s, nil, f, fmt.Errorf("want a path of at most %d bytes, got %d", maxPath, len(s.Spelling)))
			return
		}
	}
	r.warnOfSpelling(s, v, f)
	r.elements(s, f)
}

// convertObject sets the value of a setting whose field describes an object. It reports false for any other
// field, and for a value that is not an object.
func (r *reader) convertObject(s *setting, v any, f *Field) bool {
	kind, _ := f.kindAndDefault(r.dialect)
	object, isObject := value.Members(v)
	switch {
	case isObject && f.Fields != nil && f.Kind != KindBlock && f.Kind != KindBlocks:
		s.Value = r.strict().object(s.path(), object, f.Fields)
	case f.Kind == KindNested:
		s.Value = r.pagination(s.path(), v, f.Required)
	case f.Kind == KindBlock && r.dialect.Switches().emptyObjects && (php.EmptyConfig(v) || kind == phpBlock && !isObject):
		// The reference reads the value as if it were absent.
	case f.Kind == KindBlock && isObject:
		s.Value = r.object(s.path(), v, f.Fields)
	default:
		return false
	}
	return true
}

// warnOfSpelling warns of values that other tools would read in another way: JSONPath and templates.
func (r *reader) warnOfSpelling(s *setting, v any, f *Field) {
	switch {
	case f.Kind == KindPath:
		r.warnOfJSONPath(s.path(), s.Spelling, false)
	case f.Kind == KindPaths:
		paths, _ := value.Members(v)
		for _, m := range paths {
			path, _ := m.Value.(string)
			r.warnOfJSONPath(diag.Join(s.path(), m.Name), path, false)
		}
	case f.Address:
		r.warnOfAddressTemplate(*s)
	case f.Kind == KindSecret:
		r.warnOfTemplate(s.path(), v, false)
	}
}

// checkSupported reports whether the value of a key has an effect. If it has no effect, the key is reported
// as a mistake.
func (r *reader) checkSupported(s *setting, f *Field) bool {
	switch {
	case f.Support == Refused:
		r.diags.Errorf(diag.Key(s.path()), "%s is not supported yet and would change the requests", f.Name).
			WithHint("remove it, or extract this part with another tool for now")
	case f.Support == OnlyKeboola && !r.dialect.Switches().keboolaColumns:
		r.diags.Errorf(diag.Key(s.path()), "%s is a key of dialect keboola", f.Name).
			WithHint(`set "dialect": "keboola" in api, or see the guide to the dialects for what does the same`)
	case f.Support == Ignored:
		r.diags.Warnf(diag.Key(s.path()), "%s is not supported and has no effect", f.Name)
		return false
	default:
		return true
	}
	s.Invalid = true
	return false
}

// refuse marks a setting as invalid, and reports why.
func (r *reader) refuse(s *setting, v any, f *Field, err error) {
	text, _ := v.(string)
	d := r.diags.Errorf(diag.Value(s.path()), "%v", err).WithNearest(text, f.Values)
	if name, isReference := envReference(v); isReference && f.Kind == KindExpression {
		d.WithHint(fmt.Sprintf(`declare an input with "default": {"env": %q}, and read it as input.NAME`, name))
	}
	s.Value, s.Invalid = nil, true
}

// maxPath is the length of the longest path in a response, in bytes.
const maxPath = 4096

// elements converts the elements of a list and the values of a map.
func (r *reader) elements(s *setting, f *Field) {
	elementField := f.Each
	switch {
	case f.Kind == KindBlocks:
		elementField = &Field{Kind: KindBlock, Fields: f.Fields}
	case f.Kind == KindMap && f.Env && elementField == nil:
		s.Value = r.paramsOf(s.path(), s.object())
	}
	if elementField == nil || !limitElements(r.diags, s, f.Kind) {
		return
	}
	var list []setting
	switch v := s.Value.(type) {
	case []any:
		path := s.path()
		list = make([]setting, len(v))
		for i, e := range v {
			list[i] = r.element(setting{base: diag.Index(path, i)}, e, elementField)
		}
	case Object:
		path := s.path()
		list = make([]setting, len(v))
		for i, m := range v {
			list[i] = r.element(member(path, m.Name), m.Value, elementField)
		}
	default:
		return
	}
	s.Value = list
}

// The largest numbers of elements of lists and objects in a configuration. Each element is
// compiled, most of them once for every job.
const (
	maxElements = 1000
	maxBlocks   = 10_000 // jobs, and tests
)

// limitElements reports whether a list or an object has no more elements than its kind may have.
// Otherwise it is marked as invalid.
func limitElements(diags *diag.Collector, list *setting, kind Kind) bool {
	limit := maxElements
	if kind == KindBlocks {
		limit = maxBlocks
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

func (r *reader) element(s setting, v any, f *Field) setting {
	if v == nil && f.OrNull {
		return s
	}
	r.strict().convert(&s, v, f)
	if f.Kind == KindBlock && s.Value == nil && !s.Invalid { // dialect keboola has read an empty value
		s.Value = r.strict().object(s.path(), Object{}, f.Fields)
	}
	return s
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

// setDefault sets a setting that is missing to its default, if there is one.
func (r *reader) setDefault(s *setting, f *Field) {
	if _, fallback := f.kindAndDefault(r.dialect); fallback != nil && !f.Required {
		s.Value, s.Default = fallback, true
		r.elements(s, f)
	}
}

// complete fills in the settings that depend on other keys of the same object: defaults that
// are the value of another key, and paths whose delimiter is configured.
func (r *reader) complete(object *settings) {
	for i := range object.fields {
		f := &object.fields[i]
		if f.DefaultOf == "" && f.Kind != KindPath {
			continue
		}
		s := object.get(f.Name)
		if f.DefaultOf != "" && s.Value == nil && !s.Invalid {
			s.Value, s.Default = object.get(f.DefaultOf).Value, true
		}
		if path, ok := s.Value.(string); ok && f.Kind == KindPath {
			delimiter := cmp.Or(object.get(f.Delimiter).text(), ".")
			s.Value = keypath.Join(r.split(path, delimiter)...)
		}
		if s.Value != nil {
			object.set(s)
		}
	}
}

// split splits a path at a delimiter. A path that is the delimiter is the root.
// Only dots can be escaped, and not in dialect keboola.
func (r *reader) split(path, delimiter string) []string {
	switch {
	case path == delimiter:
		return nil
	case delimiter == "." && !r.dialect.Switches().plainPaths:
		return keypath.Split(path)
	}
	return strings.Split(path, delimiter)
}

// nearest adds to the mistake of an unknown name the name that was probably meant, or all known names.
func nearest(d *diag.Diagnostic, name string, known []string) {
	d.WithHint(knownHere(known)).WithNearest(name, known)
}

// knownHere returns a hint that lists the known names.
func knownHere(known []string) string {
	const most = 40
	ellipsis := ""
	if len(known) > most {
		known, ellipsis = known[:most], ", …"
	}
	return "known here: " + strings.Join(known, ", ") + ellipsis
}
