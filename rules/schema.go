package rules

import (
	"slices"
	"strings"
)

// Schema returns the JSON Schema of a configuration, from the tables that it is read
// by, in draft 7, which editors support. A configuration that it accepts may still have
// mistakes that no schema finds: unknown names in expressions, settings that are
// mutually exclusive. It does not describe the functions and the credentials of dialect
// keboola, and accepts any value where they may stand. It does not know that `--dialect`
// may set another dialect.
func (c *Catalog) Schema() Object {
	definitions := Object{}
	for _, dialect := range dialects {
		definitions = append(definitions, c.paginationSchemas(dialect)...)
	}
	for _, dialect := range dialects {
		definitions = append(definitions, Member{Name: dialect + ".parameters", Value: objectSchema(rootFields, dialect)})
	}
	definitions = append(definitions,
		Member{Name: "env", Value: envSchema()}, Member{Name: "expr", Value: exprSchema()},
		Member{Name: "parameters", Value: byDialect(".parameters")})
	return Object{
		{Name: "$schema", Value: "http://json-schema.org/draft-07/schema#"},
		{Name: "title", Value: "stopwhen configuration"},
		{Name: "type", Value: "object"},
		{Name: "if", Value: requiring("parameters")},
		{Name: "then", Value: Object{{Name: "properties", Value: Object{
			{Name: "$schema", Value: typed("string")},
			{Name: "parameters", Value: reference("parameters")},
		}}}},
		{Name: "else", Value: reference("parameters")},
		{Name: "definitions", Value: definitions},
	}
}

// envSchema is the schema of a value that is read from the environment.
func envSchema() Object {
	return typed("object").With("properties", Object{{Name: "env", Value: typed("string")}}).With("required", []any{"env"}).
		With("additionalProperties", false).With("description", "the value of an environment variable, passed with --env NAME")
}

// exprSchema is the schema of a value that an expression gives.
func exprSchema() Object {
	return typed("object").With("properties", Object{{Name: "expr", Value: typed("string")}}).With("required", []any{"expr"}).
		With("additionalProperties", false).With("description", "a value that an expression gives")
}

func reference(name string) Object {
	return Object{{Name: "$ref", Value: "#/definitions/" + name}}
}

func typed(name string) Object { return Object{{Name: "type", Value: name}} }

func anyOf(schemas ...any) Object { return Object{{Name: "anyOf", Value: schemas}} }

// requiring returns the schema of objects that have a key. It names the key under
// properties too, as validators in strict mode want it.
func requiring(key string) Object {
	return Object{
		{Name: "properties", Value: Object{{Name: key, Value: Object{}}}},
		{Name: "required", Value: []any{key}},
	}
}

// giving is requiring for a value that does not count as missing.
func giving(key string) Object {
	missing := Object{{Name: "not", Value: Object{{Name: "enum", Value: []any{nil, ""}}}}}
	return Object{
		{Name: "properties", Value: Object{{Name: key, Value: missing}}},
		{Name: "required", Value: []any{key}},
	}
}

// having returns the schema of objects in which a key has a constant value.
func having(key, constant string) Object {
	return Object{
		{Name: "properties", Value: Object{{Name: key, Value: Object{{Name: "const", Value: constant}}}}},
		{Name: "required", Value: []any{key}},
	}
}

// paginationSchemas returns the definitions of pagination objects in a dialect: one for
// each method, and one that chooses among them by the method.
func (c *Catalog) paginationSchemas(dialect string) Object {
	out := Object{{Name: dialect + ".common", Value: Object{objectMember("properties", objectSchema(castBlocks(c.fields, dialect), dialect))}}}
	var choices, words []any
	for _, m := range c.methods {
		if m.KeboolaOnly && dialect != Keboola {
			continue
		}
		name := dialect + "." + m.Name
		choices = append(choices, Object{{Name: "if", Value: having("method", m.Name)}, {Name: "then", Value: reference(name)}})
		words = append(words, Object{{Name: "const", Value: m.Name}, {Name: "description", Value: m.Doc}})
		body := objectSchema(castBlocks(c.fieldsOf(m), dialect), dialect)
		shareCommon(body, m, dialect)
		if SwitchesOf(dialect).ignoreUnknown {
			body = body.Without("additionalProperties")
		}
		if len(m.OneOf) > 0 {
			var either []any
			for _, name := range m.OneOf {
				either = append(either, requiring(name))
			}
			body = body.With("oneOf", either)
		}
		out = append(out, Member{Name: name, Value: body.With("description", m.Doc)})
	}
	pagination := typed("object").With("properties", Object{{Name: "method", Value: methodSchema(words, dialect)}})
	if SwitchesOf(dialect).optionalMethod {
		return append(out, Member{Name: dialect + ".pagination",
			Value: anyOf(pagination.With("allOf", choices), typed("array"), typed("null"))})
	}
	pagination = pagination.With("required", []any{"method"})
	return append(out, Member{Name: dialect + ".pagination", Value: pagination.With("allOf", choices)})
}

// castBlocks returns fields of a pagination object without the keys of their objects in
// dialect keboola, which accepts any value and any key there.
func castBlocks(fields []Field, dialect string) []Field {
	if dialect != Keboola {
		return fields
	}
	fields = slices.Clone(fields)
	for i, f := range fields {
		if f.Kind == Block {
			fields[i].Kind, fields[i].Fields = Any, nil
		}
	}
	return fields
}

// shareCommon replaces the keys that all methods have by references to one definition.
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

// methodSchema returns the schema of the method: each name with its description.
func methodSchema(words []any, dialect string) Object {
	if SwitchesOf(dialect).optionalMethod {
		return anyOf(append(words, Object{})...)
	}
	return Object{{Name: "oneOf", Value: words}}
}

// objectSchema returns the schema of an object with the keys of fields.
func objectSchema(fields []Field, dialect string) Object {
	properties, required := Object{}, []any{}
	for _, f := range fields {
		if f.Unsupported == OnRequest || f.Unsupported == OnSpec && dialect != Keboola {
			continue
		}
		if f.Required && !(dialect == Keboola && f.Keboola != Any) {
			required = append(required, f.Name)
		}
		properties = append(properties, Member{Name: f.Name, Value: f.described(f.orAbsent(f.valueSchema(dialect)), dialect)})
	}
	out := typed("object").With("properties", properties)
	if len(required) > 0 {
		out = out.With("required", required)
	}
	return out.With("additionalProperties", false)
}

// byDialect returns the schema of the object that holds api: the definition for the dialect
// that it names.
func byDialect(definition string) Object {
	api := Object{{Name: "api", Value: having("dialect", Keboola)}}
	return Object{
		{Name: "if", Value: Object{{Name: "properties", Value: api}, {Name: "required", Value: []any{"api"}}}},
		{Name: "then", Value: reference(Keboola + definition)},
		{Name: "else", Value: reference(Spec + definition)},
	}
}

// orAbsent returns the schema of a value that may also be one that counts as missing, as
// [Field.absent] says.
func (f Field) orAbsent(s Object) Object {
	if f.Required || len(s) == 0 {
		return s
	}
	either := []any{s, typed("null")}
	if f.absent([]any{}) {
		either = append(either, typed("array").With("maxItems", 0))
	}
	if f.absent("") {
		either = append(either, typed("string").With("maxLength", 0))
	}
	if f.absent(Object{}) {
		either = append(either, typed("object").With("maxProperties", 0))
	}
	return anyOf(either...)
}

// schema returns the schema of a field's value, with what editors show about it.
func (f Field) schema(dialect string) Object { return f.described(f.valueSchema(dialect), dialect) }

// described adds what editors show about a field to the schema of its value.
func (f Field) described(s Object, dialect string) Object {
	doc := f.Doc
	if f.Unsupported == OnOutput {
		doc = strings.TrimPrefix(doc+"; ignored", "; ")
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
	if dialect == Keboola && (f.Keboola != Any || f.KeboolaForms) {
		return Object{} // PHP casts any value, and an empty one is missing; other forms are not described
	}
	s := f.kindSchema(dialect)
	if dialect == Keboola && f.Kind == Block {
		s = anyOf(s, Object{{Name: "enum", Value: []any{"", "0", 0, false}}}) // missing, as in PHP
	}
	if f.envMay() && len(s) > 0 {
		s = anyOf(s, reference("env"))
	}
	if f.Fields == nil || f.Kind == Block || f.Kind == Blocks {
		return s
	}
	return anyOf(s, objectSchema(f.Fields, dialect))
}

// kindSchema returns the schema of the values that convert accepts for the field's
// kind.
func (f Field) kindSchema(dialect string) Object {
	each := func(key string, s Object) Object {
		if f.Each == nil {
			return s
		}
		element := f.Each.schema(dialect)
		if f.Each.OrNull {
			element = anyOf(element, typed("null"))
		}
		return s.With(key, element)
	}
	switch f.Kind {
	case Text, Key, Path, Expression:
		return f.textSchema()
	case Flag:
		return typed("boolean")
	case Count:
		return anyOf(typed("integer").With("minimum", 1), typed("string").With("pattern", `^0*[1-9][0-9]*$`))
	case Status:
		return anyOf(typed("integer").With("minimum", 100).With("maximum", 599), typed("string").With("pattern", `^[1-5][0-9][0-9]$`))
	case Integer:
		return anyOf(typed("integer"), typed("string").With("pattern", `^[+-]?[0-9]+$`))
	case Seconds:
		return anyOf(typed("number").With("exclusiveMinimum", 0), typed("string").With("minLength", 1))
	case PerSecond:
		return anyOf(typed("number").With("exclusiveMinimum", 0), typed("string").With("minLength", 1))
	case Length:
		return anyOf(typed("number").With("exclusiveMinimum", 0), typed("string").With("minLength", 1))
	case Moment:
		return anyOf(typed("number"), typed("string").With("minLength", 1))
	case Values:
		return anyOf(typed("array"), typed("string").With("minLength", 1))
	case Wait:
		return anyOf(typed("number").With("minimum", 0), typed("string").With("minLength", 1))
	case Secret:
		return anyOf(typed("string"), reference("expr"))
	case Map:
		return each("additionalProperties", typed("object"))
	case Paths:
		return typed("object").With("minProperties", 1).With("additionalProperties", typed("string").With("minLength", 1))
	case Block:
		s := objectSchema(f.Fields, dialect)
		if f.KeboolaKeys && dialect == Keboola {
			s = s.Without("additionalProperties")
		}
		if f.OneOf != nil {
			var either []any
			for _, name := range f.OneOf {
				either = append(either, giving(name))
			}
			s = s.With("oneOf", either)
		}
		return s
	case Blocks:
		s := typed("array").With("items", objectSchema(f.Fields, dialect))
		if f.Required {
			s = s.With("minItems", 1)
		}
		return s
	case List:
		return each("items", typed("array"))
	case Nested:
		return reference(dialect + ".pagination")
	case Any:
		if f.Fields != nil && f.Each != nil { // a scalar, or a list of such; Fields describe the object
			return anyOf(typed("string"), typed("number"), typed("array").With("items", f.Each.schema(dialect)))
		}
		if f.Fields != nil {
			return anyOf(typed("string"), typed("number"))
		}
	}
	return Object{}
}

func (f Field) textSchema() Object {
	if f.Values == nil {
		s := typed("string")
		if f.Required {
			s = s.With("minLength", 1)
		}
		return s
	}
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
