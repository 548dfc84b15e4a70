package rules

import (
	"reflect"
	"strings"
)

// TypeSchema returns the JSON Schema (draft 7) of the JSON that a Go type is encoded as. Its
// descriptions are the doc tags of the fields. Keys that are never left out are required.
// Further keys are allowed: later builds may add some without changing the version.
func TypeSchema(title string, t reflect.Type) Object {
	s := &typeSchemas{}
	root := s.of(t)
	out := Object{
		{Name: "$schema", Value: "http://json-schema.org/draft-07/schema#"},
		{Name: "title", Value: title},
	}
	return append(append(out, root...), Member{Name: "definitions", Value: s.definitions})
}

// typeSchemas collects the schemas of the structs in a type, each by its name.
type typeSchemas struct{ definitions Object }

var marshalsText = reflect.TypeFor[interface{ MarshalText() ([]byte, error) }]()

func (s *typeSchemas) of(t reflect.Type) Object {
	switch {
	case t.Implements(marshalsText):
		return typed("string")
	case t.Kind() == reflect.Pointer:
		return s.of(t.Elem())
	}
	switch t.Kind() {
	case reflect.String:
		return typed("string")
	case reflect.Bool:
		return typed("boolean")
	case reflect.Int, reflect.Int64:
		return typed("integer")
	case reflect.Float64:
		return typed("number")
	case reflect.Map:
		return append(typed("object"), Member{Name: "additionalProperties", Value: s.of(t.Elem())})
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 { // raw JSON
			return Object{}
		}
		return append(typed("array"), Member{Name: "items", Value: s.of(t.Elem())})
	case reflect.Struct:
		return s.object(t)
	}
	return Object{} // any value
}

// object returns a reference to the schema of a struct.
func (s *typeSchemas) object(t reflect.Type) Object {
	if _, known := s.definitions.Get(t.Name()); known {
		return reference(t.Name())
	}
	s.definitions = s.definitions.With(t.Name(), Object{}) // it may hold itself
	properties, required := Object{}, []any{}
	for _, f := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !f.IsExported() || f.Anonymous || name == "-" {
			continue
		}
		properties = append(properties, Member{Name: name, Value: described(s.of(f.Type), f.Tag.Get("doc"))})
		if !strings.Contains(options, "omit") {
			required = append(required, name)
		}
	}
	s.definitions = s.definitions.With(t.Name(), append(typed("object"),
		Member{Name: "properties", Value: properties}, Member{Name: "required", Value: required}))
	return reference(t.Name())
}

// described adds a description. One next to a reference would be ignored in draft 7.
func described(schema Object, doc string) Object {
	if doc == "" {
		return schema
	}
	if _, isReference := schema.Get("$ref"); isReference {
		schema = Object{{Name: "allOf", Value: []any{schema}}}
	}
	return append(Object{{Name: "description", Value: doc}}, schema...)
}
