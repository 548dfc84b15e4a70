package shape

import (
	"github.com/stopwhen/stopwhen/rules/value"
)

// schemaTypes are the types of JSON Schema. An integer is a number, too.
var schemaTypes = []struct {
	types Types
	name  string
}{
	{Boolean, "boolean"}, {Number | Decimal, "number"}, {Integer | BigInt, "integer"}, {Text, "string"},
	{Object | Empty, "object"}, {List, "array"},
}

// Schema returns a JSON Schema to which the values conform. Properties are in the order in which they
// appeared.
func (s *Shape) Schema() value.Object { return schemaWriter{}.schema(s) }

// NullableSchema is Schema with null among the types of every value, and without required properties
// and formats, so that a value that is not there today is not a change.
func (s *Shape) NullableSchema() value.Object { return schemaWriter{nullable: true}.schema(s) }

// A schemaWriter makes a JSON Schema of a shape.
type schemaWriter struct {
	nullable bool // see [Shape.NullableSchema]
}

func (w schemaWriter) schema(s *Shape) value.Object {
	o := value.Object{}
	if names := w.types(s); len(names) == 1 && !w.nullable {
		o = o.With("type", names[0])
	} else if names != nil {
		o = o.With("type", names)
	}
	if s.Format != "" && !w.nullable {
		o = o.With("format", s.Format)
	}
	if s.Types&(Object|Empty) != 0 {
		o = w.withProperties(o, s)
	}
	if s.Types&List != 0 {
		items := value.Object{}
		if s.Element != nil {
			items = w.schema(s.Element)
		}
		o = o.With("items", items)
	}
	return o
}

// withProperties adds the members to the schema of objects.
func (w schemaWriter) withProperties(o value.Object, s *Shape) value.Object {
	properties := make(value.Object, len(s.Members))
	var required []any
	for i, m := range s.Members {
		properties[i] = value.Member{Name: m.Name, Value: w.schema(&m.Shape)}
		if s.Objects >= Settled && m.Count >= s.Objects {
			required = append(required, m.Name)
		}
	}
	o = o.With("properties", properties)
	if required != nil && !w.nullable {
		o = o.With("required", required)
	}
	return o
}

// types returns the names of the types of a shape.
func (w schemaWriter) types(s *Shape) (names []any) {
	if w.nullable {
		names = append(names, "null")
	}
	for _, t := range schemaTypes {
		if s.Types&t.types != 0 && !(t.name == "integer" && s.Types&(Number|Decimal) != 0) {
			names = append(names, t.name)
		}
	}
	if s.Types&Null != 0 && !w.nullable {
		names = append(names, "null")
	}
	return names
}

// Size returns the number of members of all objects.
func (s *Shape) Size() int {
	n := len(s.Members)
	for _, m := range s.Members {
		n += m.Size()
	}
	if s.Element != nil {
		n += s.Element.Size()
	}
	return n
}
