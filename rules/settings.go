package rules

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/php"
	"github.com/stopwhen/stopwhen/rules/value"
)

// Setting is one configured value of a pagination object, converted.
type Setting struct {
	Value   any
	Path    string // config path, also of one that was left out
	Default bool   // the configuration does not say it
	Written string // a path or key as it is written; Value has it in its one spelling
}

// Settings are the settings of one scroller by name; those of an inner object
// by dotted name: forceStop.pages.
type Settings map[string]Setting

// Holds evaluates the condition of a table's entry: names of settings,
// separated by commas, each of which must be set and neither false nor 0; a
// "!" before a name turns it round. The empty condition holds.
func (s Settings) Holds(only string) bool {
	if only == "" {
		return true
	}
	for name := range strings.SplitSeq(only, ",") {
		bare, not := strings.CutPrefix(name, "!")
		v := s[bare].Value
		if set := v != nil && v != false && (v != 0 || strings.Contains(bare, ".")); set == not {
			return false
		}
	}
	return true
}

// Bind puts the values of the settings, as literals of the rule language, in
// the place of every ${name}.
func (s Settings) Bind(source string) string {
	return s.bind(source, func(setting Setting) string { return Literal(setting.Value) })
}

// Say puts them in as plain text.
func (s Settings) Say(text string) string {
	return s.bind(text, func(setting Setting) string {
		if setting.Written != "" {
			return setting.Written
		}
		if t, ok := value.Text(setting.Value); ok {
			return t
		}
		return Literal(setting.Value)
	})
}

func (s Settings) bind(text string, write func(Setting) string) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, "${")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		name, after, _ := strings.Cut(rest, "}")
		b.WriteString(write(s[name]))
		text = after
	}
}

// Literal writes a value in the rule language.
func Literal(v any) string {
	switch v := v.(type) {
	case nil:
		return "nil"
	case string:
		return strconv.Quote(v)
	case json.Number:
		return fmt.Sprintf("number(%q)", v)
	case []any:
		parts := make([]string, len(v))
		for i, e := range v {
			parts[i] = Literal(e)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	if object, ok := value.Members(v); ok {
		parts := make([]string, len(object))
		for i, m := range object {
			parts[i] = strconv.Quote(m.Name) + ": " + Literal(m.Value)
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	t, _ := value.Text(v)
	return t
}

// resolve reads the settings of one object of the pagination, adding prefix to
// their names, and fills in the defaults.
func (l *lowerer) resolve(into Settings, prefix, path string, object Object, fields []Field) {
	for _, m := range object {
		if _, known := find(fields, m.Name); !known {
			severity := diag.SeverityError
			if l.switches.IgnoreUnknown {
				severity = diag.SeverityWarning
			}
			l.unknown(severity, diag.Join(path, m.Name), m.Name, names(fields))
		}
	}
	for _, f := range fields {
		v, written := object.Get(f.Name)
		if written && v != nil && !l.setting(into, prefix, diag.Join(path, f.Name), v, f) {
			continue
		}
		name := prefix + f.Name
		if into[name].Value != nil {
			continue
		}
		switch {
		case f.Required:
			l.faults.Errorf(diag.Value(path), "%s is missing: %s", f.Name, f.Doc)
		case f.DefaultOf != "":
			into[name] = Setting{Value: into[prefix+f.DefaultOf].Value, Path: diag.Join(path, f.Name), Default: true}
		case f.Default != nil:
			into[name] = Setting{Value: f.Default, Path: diag.Join(path, f.Name), Default: true}
		}
	}
	for _, f := range fields {
		if s := into[prefix+f.Name]; f.Kind == Path && s.Value != nil {
			delimiter := "."
			if f.Delimiter != "" && into[f.Delimiter].Value != nil {
				delimiter = into[f.Delimiter].Value.(string)
			}
			s.Value = PathOf(l.split(s.Value.(string), delimiter)...)
			into[prefix+f.Name] = s
		}
	}
}

// split splits a path into keys; the reference knows no escaped dots.
func (l *lowerer) split(path, delimiter string) []string {
	if l.dialect == Keboola && path != delimiter {
		return strings.Split(path, delimiter)
	}
	return splitBy(path, delimiter)
}

// setting converts one value that is written; it reports false when it is at
// fault, so that its absence is not reported as well.
func (l *lowerer) setting(into Settings, prefix, path string, v any, f Field) bool {
	name := prefix + f.Name
	if f.Kind == Block {
		return l.inner(into, name, path, v, f)
	}
	kind := f.Kind
	if l.dialect == Keboola && f.Keboola != Any {
		kind = f.Keboola
	}
	converted, fault := convert(kind, v)
	if fault != "" {
		l.faults.Errorf(diag.Value(path), "%s", fault)
		return false
	}
	if f.Kind == Key && kind != Key && converted != nil {
		converted = PathOf(converted.(string))
	}
	setting := Setting{Value: converted, Path: path}
	if f.Kind == Key || f.Kind == Path {
		setting.Written, _ = v.(string)
	}
	into[name] = setting
	return true
}

// inner resolves an object inside the pagination. In dialect keboola an empty
// one counts as absent.
func (l *lowerer) inner(into Settings, name, path string, v any, f Field) bool {
	object, ok := value.Members(v)
	if l.dialect == Keboola && (php.EmptyConfig(v) || !ok && name == "forceStop") {
		return true
	}
	if !ok {
		l.faults.Errorf(diag.Value(path), "want an object, got %s", found(v))
		return false
	}
	into[name] = Setting{Value: true, Path: path}
	fields := f.Fields
	if l.switches.MergeScroll && name == "scrollRequest" {
		fields = withoutDefaults(fields)
	}
	l.resolve(into, name+".", path, object, fields)
	return true
}

// withoutDefaults are the fields of a scrollRequest that is merged over the job.
func withoutDefaults(fields []Field) []Field {
	out := make([]Field, len(fields))
	for i, f := range fields {
		f.Default = nil
		out[i] = f
	}
	return out
}
