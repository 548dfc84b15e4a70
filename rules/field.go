package rules

import (
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/rules/value"
)

// Field is one key of an object in the configuration: its kind, its default and its
// documentation. The tables of fields are the only description of the configuration: reading,
// checking, the reference and the JSON Schema are derived from them.
type Field struct {
	Name     string
	Kind     Kind
	Required bool
	Default  any      // the value of a missing key; may be nil
	Values   []string // allowed texts; nil for any text
	FoldCase bool     // the case of the text does not matter; Values are upper case
	Doc      string

	Fields []Field // the keys of a block; for any other kind, of an object that is accepted instead
	Each   *Field  // describes the elements of a list or the values of a map; nil for any value

	// OneOf names keys of a block. Exactly one of them must be given.
	OneOf []string

	// KeboolaKind is the kind in dialect keboola if the reference implementation reads the value
	// differently. KeboolaDefault is the default there if it differs; [Off] means no default.
	KeboolaKind    Kind
	KeboolaDefault any

	// KeboolaForms reports whether dialect keboola accepts further forms of the value, which are read before
	// the tables are applied. KeboolaKeys reports whether it accepts further keys in an object.
	KeboolaForms bool
	KeboolaKeys  bool

	// DefaultOf names the key of the same object whose value is the default.
	DefaultOf string

	// DefaultWith names another key of the same object without which the default has no effect.
	DefaultWith string

	// QuietDefault leaves the default out of the comments in a configuration.
	QuietDefault bool

	// Delimiter names the key of the same object that separates the keys of a
	// Path.
	Delimiter string

	// Address marks a text that is an address and may hold expressions in braces.
	Address bool

	// Sources says where texts of the field hold expressions, if Kind does not imply it; Scope is their
	// scope.
	Sources Sources
	Scope   Scope

	// Prefix, if it is not empty, makes the field describe every key that begins with it. The values of such
	// keys are ignored.
	Prefix string

	// OrNull allows null as an element of a map, distinct from an absent element.
	OrNull bool

	// Paging marks a key of a pagination that has no effect on a list of one request.
	Paging bool

	// PerScroller marks a key that belongs in a scroller, and not in a pagination with method multiple.
	PerScroller bool

	// Env makes a value from the environment a secret. For [KindAny], it also allows {"env": "NAME"} in place
	// of the value; for a [KindMap] without Each, in place of its values. Kinds of a single value allow it anyway.
	Env bool

	// Heading is the heading for the value in a comparison of two configurations, such as "limits".
	// It is empty if the value is part of a rule, which the comparison shows.
	Heading string

	// Support says whether the key is supported. A known key that is not supported is never silently
	// ignored.
	Support Support
}

// Support says whether a key is supported and, if it is not, how it is treated.
type Support int

// The kinds of support.
const (
	Supported   Support = iota // the key has its effect
	Refused                    // an error: it would change the requests
	Ignored                    // a warning: it would change only the output
	OnlyKeboola                // an error in every dialect but keboola, which supports the key
)

// Off takes the place of a source or a default that does not exist in a dialect.
const Off = "-"

// kindAndDefault returns the kind and the default of the field in a dialect.
func (f *Field) kindAndDefault(dialect Dialect) (Kind, any) {
	kind, fallback := f.Kind, f.Default
	if !dialect.Switches().keboolaColumns {
		return kind, fallback
	}
	if f.KeboolaKind != KindAny {
		kind = f.KeboolaKind
	}
	if f.KeboolaDefault == Off {
		fallback = nil
	} else if f.KeboolaDefault != nil {
		fallback = f.KeboolaDefault
	}
	return kind, fallback
}

// absent reports whether a value means the same as omitting the key: null, an empty text, or the empty list
// that PHP writes for an empty object.
func (f *Field) absent(v any, dialect Dialect) bool {
	if v == nil || f.Required {
		return v == nil
	}
	list, isList := v.([]any)
	emptyList := isList && len(list) == 0
	switch f.Kind {
	case KindText:
		return v == "" && (!dialect.Switches().keboolaColumns || f.KeboolaKind != phpSet)
	case KindMap, KindBlock:
		return emptyList
	case KindAny:
		object, isObject := value.Members(v)
		return f.Fields != nil && (emptyList || isObject && len(object) == 0)
	}
	return false
}

// fieldNamed returns the field with a name.
func fieldNamed(fields []Field, name string) (Field, bool) {
	if i := fieldIndex(fields, name); i >= 0 {
		return fields[i], true
	}
	return Field{}, false
}

// fieldIndex returns the index of the field with a name, or -1.
func fieldIndex(fields []Field, name string) int {
	for i := range fields {
		if fields[i].Name == name {
			return i
		}
	}
	return -1
}

// hasPrefix reports whether a field with a prefix stands for the key.
func hasPrefix(fields []Field, name string) bool {
	return slices.ContainsFunc(fields, func(f Field) bool { return f.Prefix != "" && strings.HasPrefix(name, f.Prefix) })
}

// supportedKeys lists the names of the supported fields, for suggestions.
func supportedKeys(fields []Field) []string {
	var out []string
	for _, f := range fields {
		if f.Support == Supported {
			out = append(out, f.Name)
		}
	}
	return out
}

// cloneFields returns a copy that shares nothing with fields.
func cloneFields(fields []Field) []Field {
	out := slices.Clone(fields)
	for i := range out {
		out[i].Fields = cloneFields(out[i].Fields)
		out[i].Values = slices.Clone(out[i].Values)
		if each := out[i].Each; each != nil {
			out[i].Each = &cloneFields([]Field{*each})[0]
		}
	}
	return out
}

// sample returns a value that the field accepts: its default, or one of its kind.
func (f Field) sample() any {
	switch {
	case f.Default != nil:
		return f.Default
	case len(f.Values) > 0:
		return f.Values[0]
	case f.Kind == KindBlocks:
		return []any{f.sampleBlock()}
	case f.Kind == KindBlock:
		return f.sampleBlock()
	}
	return kinds[f.Kind].sample
}

// sampleBlock returns an object with the keys that the field requires.
func (f Field) sampleBlock() Object {
	required := Object{}
	for _, inner := range f.Fields {
		if inner.Required || len(f.OneOf) > 0 && inner.Name == f.OneOf[0] {
			required = append(required, Member{Name: inner.Name, Value: inner.sample()})
		}
	}
	return required
}

// allowsEnv reports whether {"env": "NAME"} may stand for a value of the field. It may not stand for an
// expression, because the environment provides values, not programs.
func (f Field) allowsEnv() bool {
	return kinds[f.Kind].env || f.Kind == KindAny && (f.Env || f.Fields != nil)
}
