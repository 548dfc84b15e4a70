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

// A Slot is a place of a configuration, as the tables of fields describe it.
type Slot struct {
	Field   Field   // the field of the value; in a list or a map, that of its elements
	Known   bool    // false: no table has the place
	Fields  []Field // the keys that an object may have there; nil if no table has any
	Named   bool    // the keys of an object there are names that the user chooses
	Sources Sources // where the value has expressions
	Scope   Scope   // what these may read
	Dialect string
}

// Slot returns the place that keys and indexes lead to in a configuration, which may have mistakes.
func (c *Catalog) Slot(root any, steps []string) Slot {
	w := slotWalk{catalog: c, value: root, slot: Slot{Field: Field{Kind: Block, Fields: rootFields}, Known: true}}
	object, _ := value.Members(root)
	if inner, wrapped := object.Get("parameters"); wrapped || len(steps) > 0 && steps[0] == "parameters" {
		w.slot.Field.Fields = []Field{
			{Name: "$schema", Kind: Text, Doc: "the JSON Schema that editors use to check this file"},
			{Name: "parameters", Kind: Block, Fields: rootFields, Required: true, Doc: "the configuration"},
		}
		root = inner
	}
	w.slot.Dialect = dialectOf(root, Options{})
	for _, step := range steps {
		w.step(step)
	}
	w.slot.Fields = slices.DeleteFunc(slices.Clone(w.fields()), func(f Field) bool {
		return f.Unsupported == OnRequest || f.Unsupported == OnOutput || f.Unsupported == OnSpec && w.slot.Dialect != Keboola
	})
	w.slot.Named = w.slot.Known && w.slot.Field.Kind == Map
	w.slot.Field.Default = defaultIn(w.slot.Field, w.slot.Dialect)
	return w.slot
}

func defaultIn(f Field, dialect string) any {
	_, fallback := f.in(dialect)
	return fallback
}

// A slotWalk goes from the root to a place.
type slotWalk struct {
	catalog *Catalog
	value   any // the value at the place
	slot    Slot
}

// fields returns the fields of an object at the place.
func (w *slotWalk) fields() []Field {
	f := w.slot.Field
	switch {
	case !w.slot.Known:
		return nil
	case f.Kind == Nested:
		return w.paging()
	case f.Kind == List, f.Kind == Blocks, f.Kind == Map:
		return nil
	}
	fields := f.Fields
	if f.envMay() {
		fields = append(slices.Clone(fields), envField)
	}
	if f.Kind == Any && f.Fields == nil || f.Kind == Secret {
		fields = append(slices.Clone(fields), exprField)
	}
	return fields
}

var (
	envField  = Field{Name: "env", Kind: Text, Doc: "the name of an environment variable, whose value stands here"}
	exprField = Field{Name: "expr", Kind: Expression, Doc: "an expression, whose value stands here"}
)

// paging returns the fields of a pagination object.
func (w *slotWalk) paging() []Field {
	object, _ := value.Members(w.value)
	written, _ := object.Get("method")
	name, _ := written.(string)
	if m, known := w.catalog.method(name, w.slot.Dialect); known {
		return w.catalog.fieldsOf(m)
	}
	fields := slices.Clone(w.catalog.fields)
	if i := fieldIndex(fields, "method"); i >= 0 {
		fields[i].Values = w.catalog.methodNames(w.slot.Dialect)
	}
	return fields
}

// step goes to a member or an element of the place.
func (w *slotWalk) step(step string) {
	f := w.slot.Field
	next, known := Field{Kind: Any}, w.slot.Known
	list, isList := w.value.([]any)
	switch {
	case isList:
		w.value = nil
		if i, err := strconv.Atoi(step); err == nil && i >= 0 && i < len(list) {
			w.value = list[i]
		}
		switch {
		case f.Kind == Blocks:
			next = Field{Kind: Block, Fields: f.Fields}
		case f.Each != nil:
			next = *f.Each
		case f.Kind == OneOrMore:
			next = Field{Kind: Path}
		}
	case f.Kind == Map && f.Each != nil:
		next = *f.Each
		next.Name = step
	case f.Kind == Map:
		next = Field{Name: step, Kind: Any, Env: f.Env}
	default:
		own, found := fieldNamed(w.fields(), step)
		if found {
			next = own
		}
		known = known && (found || w.slot.Sources == WholeSource || f.Kind == Any && f.Fields == nil)
	}
	if !isList {
		object, _ := value.Members(w.value)
		w.value, _ = object.Get(step)
	}
	if step == "method" && f.Kind == Nested {
		next.Values = w.catalog.methodNames(w.slot.Dialect)
	}
	if f.Kind == Values && isList { // constants
		w.slot.Sources = NoSource
	}
	w.slot.Field, w.slot.Known = next, known
	w.slot.Sources = max(w.slot.Sources, next.sources())
	if next.Scope != ScopePage {
		w.slot.Scope = next.Scope
	}
}

// sources returns where a value of the field has expressions.
func (f Field) sources() Sources {
	switch f.Kind {
	case Expression, Wait, Moment, Values:
		return WholeSource
	}
	if f.Address {
		return BraceSource
	}
	return f.Sources
}
