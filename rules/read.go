package rules

import (
	"strings"

	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/value"
)

// reader checks values against fields and hands them out typed. It reports
// every fault and goes on, so that one look shows them all.
type reader struct {
	faults *diag.Collector
}

// block is one checked object: its members by name.
type block struct {
	path   string
	values map[string]any
}

// block checks an object against its fields: unknown keys, kinds, what is
// required. Members that are at fault are left out.
func (r *reader) block(path string, v any, fields []Field) block {
	out := block{path: path, values: map[string]any{}}
	object, ok := value.Members(v)
	if !ok {
		r.faults.Errorf(diag.Value(path), "want an object, got %s", found(v))
		return out
	}
	for _, m := range object {
		field, known := find(fields, m.Name)
		inner := diag.Join(path, m.Name)
		switch {
		case !known:
			r.unknown(diag.SeverityError, inner, m.Name, names(fields))
		case field.Unsupported == OnRequest:
			r.faults.Errorf(diag.Key(inner), "%s is not supported yet and would change what is requested", m.Name).
				WithHint("remove it, or extract this part with another tool for now")
		case field.Unsupported == OnOutput:
			r.faults.Warnf(diag.Key(inner), "%s is not supported and has no effect", m.Name)
		case !field.Required && absent(m.Value, field.Kind):
		case r.fits(inner, m.Value, field):
			out.values[m.Name] = m.Value
		}
	}
	for _, f := range fields {
		if _, ok := object.Get(f.Name); f.Required && !ok {
			r.faults.Errorf(diag.Value(path), "%s is missing: %s", f.Name, f.Doc)
		}
	}
	return out
}

func (r *reader) unknown(severity diag.Severity, path, name string, known []string) {
	hint := diag.DidYouMean(name, known)
	if hint == "" {
		hint = "known here: " + strings.Join(known, ", ")
	}
	r.faults.Report(severity, diag.Key(path), "unknown key %q", name).WithHint(hint)
}

// absent tells the values that say as much as leaving an optional key out: null,
// an empty text, and the empty list that some writers make of an empty object.
func absent(v any, kind Kind) bool {
	list, isList := v.([]any)
	return v == nil || v == "" && kind == Text || isList && len(list) == 0 && (kind == Map || kind == Block)
}

// fits checks the outer kind of a value; blocks are checked by who reads them.
func (r *reader) fits(path string, v any, f Field) bool {
	var ok bool
	switch f.Kind {
	case Any, Nested:
		return true
	case Map, Block:
		_, ok = value.Members(v)
	case List, Blocks:
		_, ok = v.([]any)
	case Secret:
		_, isText := v.(string)
		_, isObject := value.Members(v)
		ok = isText || isObject
	default:
		if _, fault := convert(f.Kind, v); fault != "" {
			r.faults.Errorf(diag.Value(path), "%s", fault)
			return false
		}
		return true
	}
	if !ok {
		r.faults.Errorf(diag.Value(path), "want %s, got %s", f.Kind, found(v))
	}
	return ok
}

func (b block) has(name string) bool { _, ok := b.values[name]; return ok }

func (b block) text(name string) string { s, _ := b.values[name].(string); return s }

func (b block) flag(name string) bool { v, _ := b.values[name].(bool); return v }

func (b block) object(name string) Object { o, _ := value.Members(b.values[name]); return o }

func (b block) list(name string) []any { l, _ := b.values[name].([]any); return l }

// whole is the number of a Count or Integer, or the default.
func (b block) whole(name string, otherwise int) int {
	if v, ok := b.values[name]; ok {
		if n, fault := convert(Integer, v); fault == "" {
			return n.(int)
		}
	}
	return otherwise
}

// statuses reads a list of HTTP statuses.
func (r *reader) statuses(b block, name string) []int {
	var out []int
	for i, v := range b.list(name) {
		n, fault := convert(Integer, v)
		if code, ok := n.(int); fault == "" && ok && code >= 100 && code <= 599 {
			out = append(out, code)
			continue
		}
		r.faults.Errorf(diag.Value(diag.Index(diag.Join(b.path, name), i)), "want an HTTP status, got %s", found(v))
	}
	return out
}

// texts reads a list of strings.
func (r *reader) texts(b block, name string) []string {
	var out []string
	for i, v := range b.list(name) {
		if s, ok := v.(string); ok {
			out = append(out, s)
			continue
		}
		r.faults.Errorf(diag.Value(diag.Index(diag.Join(b.path, name), i)), "want a string, got %s", found(v))
	}
	return out
}

// found shows a value in a message: its text when that is short, else its kind.
func found(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case []any, Object, map[string]any:
		return value.KindOf(v)
	}
	return value.Preview(v)
}
