package rules

import (
	"slices"
	"strconv"

	"github.com/stopwhen/stopwhen/rules/value"
)

// Sources says where a value of the configuration has expressions.
type Sources int

// The places of expressions.
const (
	NoSource    Sources = iota
	WholeSource         // a text is an expression; so is each text in a list or an object
	BraceSource         // a text may hold expressions in braces
)

// A Slot is a position in a configuration, with the field that describes it. The configuration may be
// invalid.
type Slot struct {
	Field     Field   // the field of the value; in a list or a map, that of its elements
	Described bool    // whether a table describes the position
	Sources   Sources // where the value has expressions
	Scope     Scope   // the fields that the expressions may read besides the page context
	Dialect   Dialect

	catalog *Catalog
	value   any // the value at the place
}

// Slot returns the root of a configuration, as it was parsed.
func (c *Catalog) Slot(root any) Slot {
	s := Slot{catalog: c, value: root, Field: Field{Kind: KindBlock, Fields: rootFields}, Described: true}
	object, _ := value.Members(root)
	if inner, wrapped := object.Get("parameters"); wrapped {
		s.Field.Fields = wrappedFields
		root = inner
	}
	s.Dialect = dialectOf(root, Options{})
	return s
}

// wrappedFields are the keys of the root with the outer parameters object.
var wrappedFields = []Field{
	{Name: "$schema", Kind: KindText, Doc: "the JSON Schema that editors use to check this file"},
	{Name: "parameters", Kind: KindBlock, Fields: rootFields, Required: true, Doc: "the configuration"},
}

// Keys returns the fields for the keys that an object at the position may have.
func (s Slot) Keys() []Field {
	return slices.DeleteFunc(slices.Clone(s.fields()), func(f Field) bool {
		return f.Support == Refused || f.Support == Ignored || f.Support == OnlyKeboola && !s.Dialect.Switches().keboolaColumns || f.Prefix != ""
	})
}

// HasFreeKeys reports whether the user chooses the keys of an object at the position.
func (s Slot) HasFreeKeys() bool { return s.Described && s.Field.Kind == KindMap }

// fields returns the fields of an object at the place.
func (s Slot) fields() []Field {
	f := s.Field
	switch {
	case !s.Described:
		return nil
	case f.Kind == KindNested:
		return s.paging()
	case f.Kind == KindList, f.Kind == KindBlocks, f.Kind == KindMap:
		return nil
	}
	fields := f.Fields
	if f.allowsEnv() {
		fields = append(slices.Clone(fields), envField)
	}
	if f.Kind == KindAny && f.Fields == nil || f.Kind == KindSecret {
		fields = append(slices.Clone(fields), exprField)
	}
	return fields
}

var (
	envField  = Field{Name: "env", Kind: KindText, Doc: "the name of an environment variable, whose value stands here"}
	exprField = Field{Name: "expr", Kind: KindExpression, Doc: "an expression, whose value stands here"}
)

// paging returns the fields of a pagination object.
func (s Slot) paging() []Field {
	object, _ := value.Members(s.value)
	written, _ := object.Get("method")
	name, _ := written.(string)
	fields := s.catalog.fields
	if m, known := s.catalog.method(name, s.Dialect); known {
		fields = s.catalog.fieldsOf(m)
	}
	fields = slices.Clone(fields)
	if i := fieldIndex(fields, "method"); i >= 0 {
		fields[i].Values = s.catalog.methodNames(s.Dialect)
	}
	return fields
}

// Step returns the place of a member or, if the value is a list, of an element by its index. A missing member
// has a place, too.
func (s Slot) Step(step string) Slot {
	f := s.Field
	next, known := Field{Kind: KindAny}, s.Described
	list, isList := s.value.([]any)
	switch {
	case isList && f.Kind == KindBlocks:
		next = Field{Kind: KindBlock, Fields: f.Fields}
	case isList && f.Each != nil:
		next = *f.Each
	case isList && f.Kind == KindPathList:
		next = Field{Kind: KindPath}
	case isList:
	case f.Kind == KindMap && f.Each != nil:
		next = *f.Each
		next.Name = step
	case f.Kind == KindMap:
		next = Field{Name: step, Kind: KindAny, Env: f.Env}
	default:
		own, found := fieldNamed(s.fields(), step)
		if found {
			next, s.Sources = own, NoSource
		}
		known = known && (found || s.Sources == WholeSource || f.Kind == KindAny && f.Fields == nil)
	}
	if f.Kind == KindValues && isList { // constants
		s.Sources = NoSource
	}
	if isList {
		s.value = nil
		if i, err := strconv.Atoi(step); err == nil && i >= 0 && i < len(list) {
			s.value = list[i]
		}
	} else {
		object, _ := value.Members(s.value)
		s.value, _ = object.Get(step)
	}
	s.Field, s.Described = next, known
	s.Sources = max(s.Sources, next.sources())
	if next.Scope != ScopePage {
		s.Scope = next.Scope
	}
	return s
}

// sources returns where a value of the field has expressions.
func (f Field) sources() Sources {
	switch f.Kind {
	case KindExpression, KindWait, KindMomentOrSource, KindLengthOrSource, KindLag, KindValues:
		return WholeSource
	}
	if f.Address {
		return BraceSource
	}
	return f.Sources
}
