package rules

import "strings"

// Schema is the JSON Schema (draft 7, which editors know) of a configuration,
// from the tables that it is read by. What it accepts may still have faults that
// no schema can tell: names in expressions, settings that exclude each other.
// It wants optional keys left out where null would say the same, and does not
// know that `--dialect` may set another dialect.
func (c *Catalog) Schema() Object {
	definitions := Object{}
	for _, dialect := range dialects {
		definitions = append(definitions, c.paginationSchemas(dialect)...)
	}
	definitions = append(definitions, Member{Name: "parameters", Value: objectSchema(rootFields, Spec)})
	return Object{
		{Name: "$schema", Value: "http://json-schema.org/draft-07/schema#"},
		{Name: "title", Value: "stopwhen configuration"},
		{Name: "type", Value: "object"},
		{Name: "if", Value: Object{{Name: "required", Value: []any{"parameters"}}}},
		{Name: "then", Value: Object{{Name: "properties", Value: Object{
			{Name: "$schema", Value: Object{{Name: "type", Value: "string"}}},
			{Name: "parameters", Value: reference("parameters")},
		}}}},
		{Name: "else", Value: reference("parameters")},
		{Name: "definitions", Value: definitions},
	}
}

func reference(name string) Object {
	return Object{{Name: "$ref", Value: "#/definitions/" + name}}
}

// paginationSchemas are the definitions of a pagination object in a dialect: one
// for each method, and one that picks among them.
func (c *Catalog) paginationSchemas(dialect string) Object {
	out := Object{{Name: dialect + ".common", Value: Object{objectMember("properties", objectSchema(c.fields, dialect))}}}
	var picks, words []any
	for _, m := range c.methods {
		if m.KeboolaOnly && dialect != Keboola {
			continue
		}
		name := dialect + "." + m.Name
		is := Object{{Name: "properties", Value: Object{{Name: "method", Value: Object{{Name: "const", Value: m.Name}}}}}, {Name: "required", Value: []any{"method"}}}
		picks = append(picks, Object{{Name: "if", Value: is}, {Name: "then", Value: reference(name)}})
		words = append(words, Object{{Name: "const", Value: m.Name}, {Name: "description", Value: m.Doc}})
		body := objectSchema(c.fieldsOf(m), dialect)
		shareCommon(body, m, dialect)
		if len(m.OneOf) > 0 {
			var either []any
			for _, name := range m.OneOf {
				either = append(either, Object{{Name: "required", Value: []any{name}}})
			}
			body = body.With("oneOf", either)
		}
		out = append(out, Member{Name: name, Value: body.With("description", m.Doc)})
	}
	pagination := Object{{Name: "type", Value: "object"}, {Name: "properties", Value: Object{{Name: "method", Value: methodSchema(words, dialect)}}}}
	if !SwitchesOf(dialect).OptionalMethod {
		pagination = pagination.With("required", []any{"method"})
	} else {
		pagination[0].Value = []any{"object", "array", "null"}
	}
	return append(out, Member{Name: dialect + ".pagination", Value: pagination.With("allOf", picks)})
}

// shareCommon has the keys that every method has stand in one place.
func shareCommon(body Object, m Method, dialect string) {
	properties := objectMember("properties", body).Value.(Object)
	for i, p := range properties {
		if _, own := find(m.Fields, p.Name); !own {
			properties[i].Value = reference(dialect + ".common/properties/" + p.Name)
		}
	}
}

func objectMember(name string, of Object) Member {
	v, _ := of.Get(name)
	return Member{Name: name, Value: v}
}

// methodSchema is the key that picks: each name with when to choose it.
func methodSchema(words []any, dialect string) Object {
	if SwitchesOf(dialect).OptionalMethod {
		return Object{{Name: "anyOf", Value: append(words, Object{})}}
	}
	return Object{{Name: "oneOf", Value: words}}
}

// objectSchema is the schema of an object with the keys of fields.
func objectSchema(fields []Field, dialect string) Object {
	properties, required, open := Object{}, []any{}, false
	for _, f := range fields {
		if f.Unsupported == OnRequest {
			continue
		}
		if f.Required && !(dialect == Keboola && f.Keboola != Any) {
			required = append(required, f.Name)
		}
		if f.Kind == Nested {
			properties = append(properties, Member{Name: f.Name, Value: Object{{Name: "description", Value: f.Doc}}})
			continue
		}
		properties = append(properties, Member{Name: f.Name, Value: f.schema(dialect)})
		open = open || f.Name == "method" && SwitchesOf(dialect).IgnoreUnknown
	}
	out := Object{{Name: "type", Value: "object"}, {Name: "properties", Value: properties}}
	if len(required) > 0 {
		out = out.With("required", required)
	}
	if !open {
		out = out.With("additionalProperties", false)
	}
	for _, f := range fields {
		if f.Kind == Nested {
			out = append(out, byDialect(f)...)
		}
	}
	return out
}

// byDialect picks the schema of a field by the dialect that stands beside it.
func byDialect(f Field) Object {
	is := Object{{Name: "properties", Value: Object{{Name: "dialect", Value: Object{{Name: "const", Value: Keboola}}}}}, {Name: "required", Value: []any{"dialect"}}}
	of := func(dialect string) Object {
		return Object{{Name: "properties", Value: Object{{Name: f.Name, Value: reference(dialect + ".pagination")}}}}
	}
	return Object{{Name: "if", Value: is}, {Name: "then", Value: of(Keboola)}, {Name: "else", Value: of(Spec)}}
}

// schema is the schema of a field's value, with what an editor shows of it.
func (f Field) schema(dialect string) Object {
	s := f.valueSchema(dialect)
	doc := f.Doc
	if f.Unsupported == OnOutput {
		doc = strings.TrimPrefix(doc+"; without effect", "; ")
	}
	if doc != "" {
		s = s.With("description", doc)
	}
	if _, fallback := f.in(dialect); fallback != nil {
		s = s.With("default", fallback)
	}
	return s
}

func (f Field) valueSchema(dialect string) Object {
	if dialect == Keboola && (f.Keboola != Any || f.Kind == Block) {
		return Object{} // PHP casts what there is, and takes what is empty for absent
	}
	s := f.kindSchema(dialect)
	if f.Fields == nil || f.Kind == Block || f.Kind == Blocks {
		return s
	}
	return Object{{Name: "anyOf", Value: []any{s, objectSchema(f.Fields, dialect)}}}
}

// kindSchema is the schema of what [convert] accepts for the field's kind.
func (f Field) kindSchema(dialect string) Object {
	typed := func(name string) Object { return Object{{Name: "type", Value: name}} }
	each := func(key string, s Object) Object {
		if f.Each == nil {
			return s
		}
		return s.With(key, f.Each.schema(dialect))
	}
	switch f.Kind {
	case Text, Key, Path, Expression:
		if f.Values != nil {
			var values []any
			for _, v := range f.Values {
				values = append(values, v)
			}
			if f.FoldCase {
				for _, v := range f.Values {
					values = append(values, strings.ToLower(v))
				}
			}
			return Object{{Name: "enum", Value: values}}
		}
		s := typed("string")
		if f.Required {
			s = s.With("minLength", 1)
		}
		return s
	case Flag:
		return typed("boolean")
	case Count:
		return Object{{Name: "anyOf", Value: []any{typed("integer").With("minimum", 1), typed("string").With("pattern", `^0*[1-9][0-9]*$`)}}}
	case Status:
		return Object{{Name: "anyOf", Value: []any{typed("integer").With("minimum", 100).With("maximum", 599), typed("string").With("pattern", `^[1-5][0-9][0-9]$`)}}}
	case Integer:
		return Object{{Name: "anyOf", Value: []any{typed("integer"), typed("string").With("pattern", `^[+-]?[0-9]+$`)}}}
	case Seconds:
		return Object{{Name: "anyOf", Value: []any{typed("number").With("exclusiveMinimum", 0), typed("string").With("minLength", 1)}}}
	case Secret:
		return Object{{Name: "anyOf", Value: []any{typed("string"), Object{
			{Name: "type", Value: "object"}, {Name: "properties", Value: Object{{Name: "env", Value: typed("string")}}}, {Name: "required", Value: []any{"env"}}, {Name: "additionalProperties", Value: false}}}}}
	case Map: // some writers make an empty list of an empty object
		return each("additionalProperties", Object{{Name: "type", Value: []any{"object", "array"}}, {Name: "maxItems", Value: 0}})
	case Paths:
		return typed("object").With("minProperties", 1).With("additionalProperties", typed("string").With("minLength", 1))
	case Block:
		return objectSchema(f.Fields, dialect)
	case Blocks:
		return typed("array").With("items", objectSchema(f.Fields, dialect))
	case List:
		return each("items", typed("array"))
	case Nested:
		return reference(dialect + ".pagination")
	}
	return Object{}
}
