package rules

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/lists"
	"github.com/stopwhen/stopwhen/rules/value"
)

// A setting is one value of the configuration, converted by its field. Its Value is a
// []setting for a list or a map whose elements have a field, settings for an object or a
// Block, a *pagination for a pagination object, and otherwise the converted value.
type setting struct {
	Value    any    // nil if it is missing or invalid
	Name     string // its key, or its name in settings; empty for the elements of a list
	Spelling string // a path or key as the configuration spells it; Value is canonical
	Default  bool   // the configuration does not have it
	Invalid  bool   // the configuration has it, and it has been reported

	fromEnv  bool // its value comes from the environment
	isMember bool
	base     string // the config path: of the enclosing object if isMember is set, and of the setting itself otherwise
}

// member returns a setting without a value for a member of the object at a config path. The member
// may be absent.
func member(path, name string) setting { return setting{Name: name, base: path, isMember: true} }

// path returns the config path of the setting, even if it is missing.
func (s setting) path() string {
	if s.isMember {
		return diag.Join(s.base, s.Name)
	}
	return s.base
}

// given reports whether the configuration has the setting, valid or not.
func (s setting) given() bool { return s.Invalid || s.Value != nil && !s.Default }

func (s setting) text() string { t, _ := s.Value.(string); return t }

func (s setting) flag() bool { b, _ := s.Value.(bool); return b }

func (s setting) number() int { n, _ := s.Value.(int); return n }

// settings returns the settings of an object. It reports false for any other value.
func (s setting) settings() (settings, bool) { inner, ok := s.Value.(settings); return inner, ok }

// pagination returns a pagination object, or nil.
func (s setting) pagination() *pagination { p, _ := s.Value.(*pagination); return p }

// elements returns the elements of a list or a map whose elements have a field, valid or not.
func (s setting) elements() []setting { all, _ := s.Value.([]setting); return all }

// object returns the members of an object, or of a map whose values have a field.
func (s setting) object() Object {
	if _, isList := s.Value.([]setting); isList {
		return Object(lists.Map(s.list(), func(entry setting) Member { return Member{Name: entry.Name, Value: entry.Value} }))
	}
	o, _ := value.Members(s.Value)
	return o
}

// list returns the valid elements of a list or a map whose elements have a field.
func (s setting) list() []setting {
	elements := s.elements()
	invalid := func(e setting) bool { return e.Invalid }
	if !slices.ContainsFunc(elements, invalid) {
		return elements
	}
	return slices.DeleteFunc(slices.Clone(elements), invalid)
}

func (s setting) texts() []string { return valuesOf[string](s.list()) }

func (s setting) numbers() []int { return valuesOf[int](s.list()) }

func valuesOf[T any](list []setting) []T {
	var out []T
	for _, s := range list {
		if v, ok := s.Value.(T); ok {
			out = append(out, v)
		}
	}
	return out
}

// settings are the settings of one object by their keys.
type settings struct {
	reader  *reader
	path    string    // config path of the object
	fields  []Field   // the settings that the object may have, with their defaults
	entries []setting // the settings that are not left to their defaults, usually only a few

	defaults map[string]setting // caches the defaults that get has made; nil for no cache
}

// get returns a setting by its name; a dot leads into an inner object, as in forceStop.pages. For an unknown
// name, it returns a setting without a value.
func (s settings) get(name string) setting {
	for i := range s.entries {
		if s.entries[i].Name == name {
			return s.entries[i]
		}
	}
	if outer, inner, ok := strings.Cut(name, "."); ok {
		if object, ok := s.get(outer).settings(); ok {
			return object.get(inner)
		}
	}
	found, made := s.defaults[name]
	if made {
		return found
	}
	if f := findInner(s.fields, name); f != nil {
		found = member(s.path, name)
		s.reader.setDefault(&found, f)
	}
	if s.defaults != nil {
		s.defaults[name] = found
	}
	return found
}

// findInner returns the field with a name, or nil. A dot leads into a block, as in forceStop.pages.
func findInner(fields []Field, name string) *Field {
	outer, inner, isInner := strings.Cut(name, ".")
	i := fieldIndex(fields, outer)
	switch {
	case i < 0:
		return nil
	case !isInner:
		return &fields[i]
	case fields[i].Kind == KindBlock:
		return findInner(fields[i].Fields, inner)
	}
	return nil
}

// set adds a setting, or replaces the setting of its name.
func (s *settings) set(added setting) {
	for i := range s.entries {
		if s.entries[i].Name == added.Name {
			s.entries[i] = added
			return
		}
	}
	s.entries = append(s.entries, added)
}

// with returns a copy that also has a setting, which may be one of an inner object.
func (s settings) with(name string, added setting) settings {
	added.Name = name
	s.entries = slices.Clone(s.entries)
	s.set(added)
	return s
}

// inner returns the settings of an inner object, or its defaults if it is missing.
func (s settings) inner(name string) settings {
	if object, ok := s.get(name).settings(); ok {
		return object
	}
	out := settings{reader: s.reader, path: diag.Join(s.path, name)}
	if f := findInner(s.fields, name); f != nil {
		out.fields = f.Fields
	}
	return out
}

// firstGiven returns the first of the settings that the configuration has, or the
// last one.
func (s settings) firstGiven(names ...string) setting {
	for _, name := range names {
		if entry := s.get(name); entry.given() {
			return entry
		}
	}
	return s.get(names[len(names)-1])
}

// allMet reports whether all conditions are met.
func (s settings) allMet(conditions Conditions) bool {
	for _, c := range conditions {
		v := s.get(c.Setting).Value
		if set := v != nil && v != false && !(c.Nonzero && v == 0); set == c.Not {
			return false
		}
	}
	return true
}

// isOn reports whether a toggle is on.
func (s settings) isOn(t Toggle) bool { return t.mayBeOn && s.allMet(t.when) }

// expandSource replaces every ${name} of a source by the value of the setting, as a
// literal of the rule language.
func (s settings) expandSource(source string) string {
	return expand(source, func(name string) string { return literal(s.get(name).Value) })
}

// expandText replaces every ${name} of a text by the phrase or the value of the setting, and
// every ${name nouns} by the value with its noun, which is singular after 1.
func (s settings) expandText(text string, phrases map[string]string) string {
	return expand(text, func(name string) string {
		if phrase, ok := phrases[name]; ok {
			return phrase
		}
		name, nouns, counted := strings.Cut(name, " ")
		shown := s.get(name).Spelling
		if shown == "" {
			shown = textOf(s.get(name).Value)
		}
		if !counted {
			return shown
		}
		if shown == "1" {
			nouns = strings.TrimSuffix(nouns, "s")
		}
		return shown + " " + nouns
	})
}

// expandMessage is expandText for a message with {expressions}: the braces in a value begin no expression. In an expression,
// ${name source} is the value as a literal of the rule language.
func (s settings) expandMessage(text string) string {
	return expand(text, func(name string) string {
		if name, ok := strings.CutSuffix(name, " source"); ok {
			return strings.ReplaceAll(literal(s.get(name).Value), "}", `\u007d`)
		}
		return strings.ReplaceAll(s.expandText("${"+name+"}", nil), "{", `{"{"}`)
	})
}

func textOf(v any) string {
	if t, ok := value.Text(v); ok {
		return t
	}
	return literal(v)
}

// expand replaces every ${name} of a text.
func expand(text string, replacement func(name string) string) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, "${")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		name, after, _ := strings.Cut(rest, "}")
		b.WriteString(replacement(name))
		text = after
	}
}

// literal writes a value in the rule language.
func literal(v any) string {
	switch v := v.(type) {
	case nil:
		return "nil"
	case Computed:
		return "(" + v.Source + ")"
	case string:
		return strconv.Quote(v)
	case json.Number:
		return fmt.Sprintf("number(%q)", v)
	case []any:
		return "[" + strings.Join(lists.Map(v, literal), ", ") + "]"
	}
	if object, ok := value.Members(v); ok {
		parts := lists.Map(object, func(m Member) string { return strconv.Quote(m.Name) + ": " + literal(m.Value) })
		return "{" + strings.Join(parts, ", ") + "}"
	}
	t, _ := value.Text(v)
	return t
}
