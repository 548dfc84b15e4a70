package rules

import (
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/rules/lists"
	"github.com/stopwhen/stopwhen/rules/value"
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
		definitions = append(definitions, c.paginationSchemas(dialect.name)...)
	}
	for _, dialect := range dialects {
		definitions = append(definitions, Member{Name: string(dialect.name) + ".parameters", Value: objectSchema(rootFields, dialect.name)})
	}
	definitions = append(definitions, objectOf(
		"env", singleKey("env", "the value of an environment variable, passed with --env NAME"),
		"expr", singleKey("expr", "a value that an expression gives"),
		"parameters", objectOf(
			"if", requiring("api", objectOf("properties", objectOf("dialect", objectOf("const", string(Keboola))), "required", []any{"dialect"})),
			"then", reference(string(Keboola)+".parameters"),
			"else", reference(string(Spec)+".parameters")),
	)...)
	return objectOf(
		"$schema", "http://json-schema.org/draft-07/schema#",
		"title", "stopwhen configuration",
		"type", "object",
		"if", requiring("parameters", Object{}),
		"then", objectOf("properties", objectOf("$schema", typed("string"), "parameters", reference("parameters"))),
		"else", reference("parameters"),
		"definitions", definitions,
	)
}

func objectOf(pairs ...any) Object { return value.ObjectOf(pairs...) }

// singleKey is the schema of an object with one key, which has a text.
func singleKey(key, doc string) Object {
	return objectOf("type", "object", "properties", objectOf(key, typed("string")), "required", []any{key},
		"additionalProperties", false, "description", doc)
}

func reference(name string) Object { return objectOf("$ref", "#/definitions/"+name) }

func typed(name string) Object { return objectOf("type", name) }

func anyOf(schemas ...any) Object { return objectOf("anyOf", schemas) }

// requiring returns the schema of objects that have a key with a value. It names the key
// under properties too, as validators in strict mode want it.
func requiring(key string, schema Object) Object {
	return objectOf("properties", objectOf(key, schema), "required", []any{key})
}

// oneOf returns the schema of objects that have one of the keys with a value.
func oneOf(keys []string, schema Object) []any {
	return lists.Map(keys, func(key string) any { return requiring(key, schema) })
}

// paginationSchemas returns the definitions of pagination objects in a dialect: one for
// each method, and one that chooses among them by the method.
func (c *Catalog) paginationSchemas(dialect Dialect) Object {
	prefix := string(dialect) + "."
	out := Object{{Name: prefix + "common", Value: Object{objectMember("properties", objectSchema(castBlocks(c.fields, dialect), dialect))}}}
	var choices, methods []any
	for _, m := range c.Methods(dialect) {
		name := prefix + m.Name
		choices = append(choices, objectOf("if", requiring("method", objectOf("const", m.Name)), "then", reference(name)))
		methods = append(methods, objectOf("const", m.Name, "description", m.Doc))
		body := objectSchema(castBlocks(c.fieldsOf(m), dialect), dialect)
		shareCommon(body, m, dialect)
		if dialect.Switches().ignoreUnknown {
			body = body.Without("additionalProperties")
		}
		if len(m.OneOf) > 0 {
			body = body.With("oneOf", oneOf(m.OneOf, Object{}))
		}
		out = append(out, Member{Name: name, Value: body.With("description", m.Doc)})
	}
	pagination := func(method Object) Object { return typed("object").With("properties", objectOf("method", method)) }
	if dialect.Switches().optionalMethod {
		either := pagination(anyOf(append(methods, Object{})...)).With("allOf", choices)
		return append(out, Member{Name: prefix + "pagination", Value: anyOf(either, typed("array"), typed("null"))})
	}
	schema := pagination(objectOf("oneOf", methods)).With("required", []any{"method"}).With("allOf", choices)
	return append(out, Member{Name: prefix + "pagination", Value: schema})
}

// castBlocks returns fields of a pagination object without the keys of their objects in
// dialect keboola, which accepts any value and any key there.
func castBlocks(fields []Field, dialect Dialect) []Field {
	if !dialect.Switches().emptyObjects {
		return fields
	}
	fields = slices.Clone(fields)
	for i, f := range fields {
		if f.Kind == KindBlock {
			fields[i].Kind, fields[i].Fields = KindAny, nil
		}
	}
	return fields
}

// shareCommon replaces the keys that all methods have by references to one definition.
func shareCommon(body Object, m Method, dialect Dialect) {
	properties := objectMember("properties", body).Value.(Object)
	for i, p := range properties {
		if _, own := fieldNamed(m.Fields, p.Name); !own {
			properties[i].Value = reference(string(dialect) + ".common/properties/" + p.Name)
		}
	}
}

func objectMember(name string, of Object) Member {
	v, _ := of.Get(name)
	return Member{Name: name, Value: v}
}

// objectSchema returns the schema of an object with the keys of fields.
func objectSchema(fields []Field, dialect Dialect) Object {
	columns := dialect.Switches().keboolaColumns
	properties, patterns, required := Object{}, Object{}, []any{}
	for _, f := range fields {
		if f.Prefix != "" {
			patterns = append(patterns, Member{Name: "^" + f.Prefix, Value: objectOf("description", f.Doc)})
			continue
		}
		if f.Support == Refused || f.Support == OnlyKeboola && !columns {
			continue
		}
		if f.Required && !(columns && f.KeboolaKind != KindAny) {
			required = append(required, f.Name)
		}
		properties = append(properties, Member{Name: f.Name, Value: f.described(f.orAbsent(f.valueSchema(dialect), dialect), dialect)})
	}
	out := typed("object").With("properties", properties)
	if len(required) > 0 {
		out = out.With("required", required)
	}
	if len(patterns) > 0 {
		out = out.With("patternProperties", patterns)
	}
	return out.With("additionalProperties", false)
}

// orAbsent extends the schema of a value by the values that count as missing: see [Field.absent].
func (f Field) orAbsent(s Object, dialect Dialect) Object {
	if f.Required || len(s) == 0 {
		return s
	}
	either := []any{s, typed("null")}
	if f.absent([]any{}, dialect) {
		either = append(either, typed("array").With("maxItems", 0))
	}
	if f.absent("", dialect) {
		either = append(either, typed("string").With("maxLength", 0))
	}
	if f.absent(Object{}, dialect) {
		either = append(either, typed("object").With("maxProperties", 0))
	}
	return anyOf(either...)
}

// schema returns the schema of a field's value, with the texts that editors show.
func (f Field) schema(dialect Dialect) Object { return f.described(f.valueSchema(dialect), dialect) }

// described adds the texts that editors show about a field to the schema of its value.
func (f Field) described(s Object, dialect Dialect) Object {
	doc := f.Doc
	if f.Support == Ignored {
		doc = strings.TrimPrefix(doc+"; ignored", "; ")
	}
	if doc != "" {
		s = s.With("description", doc)
	}
	if _, fallback := f.kindAndDefault(dialect); fallback != nil {
		s = s.With("default", fallback)
	}
	return s
}

func (f Field) valueSchema(dialect Dialect) Object {
	switches := dialect.Switches()
	if switches.keboolaColumns && (f.KeboolaKind != KindAny || f.KeboolaForms) {
		return Object{} // PHP casts any value, and an empty one is missing; other forms are not described
	}
	s := f.kindSchema(dialect)
	if switches.emptyObjects && f.Kind == KindBlock {
		s = anyOf(s, objectOf("enum", []any{"", "0", 0, false})) // missing, as in PHP
	}
	if f.allowsEnv() && len(s) > 0 {
		s = anyOf(s, reference("env"))
	}
	if f.Fields == nil || f.Kind == KindBlock || f.Kind == KindBlocks {
		return s
	}
	return anyOf(s, objectSchema(f.Fields, dialect))
}

// kindSchema returns the schema of the values that convert accepts for the field's
// kind.
func (f Field) kindSchema(dialect Dialect) Object {
	withElement := func(key string, s Object) Object {
		if f.Each == nil {
			return s
		}
		element := f.Each.schema(dialect)
		if f.Each.OrNull {
			element = anyOf(element, typed("null"))
		}
		return s.With(key, element)
	}
	if schema := kinds[f.Kind].schema; schema != nil {
		return schema
	}
	switch f.Kind {
	case KindText, KindKey, KindPath, KindExpression:
		return f.textSchema()
	case KindMap:
		return withElement("additionalProperties", typed("object"))
	case KindBlock:
		s := objectSchema(f.Fields, dialect)
		if f.KeboolaKeys && dialect.Switches().keboolaColumns {
			s = s.Without("additionalProperties")
		}
		if f.OneOf != nil {
			s = s.With("oneOf", oneOf(f.OneOf, objectOf("not", objectOf("enum", []any{nil, ""})))) // these count as missing
		}
		return s
	case KindBlocks:
		s := typed("array").With("items", objectSchema(f.Fields, dialect))
		if f.Required {
			s = s.With("minItems", 1)
		}
		return s
	case KindList:
		return withElement("items", typed("array"))
	case KindNested:
		return reference(string(dialect) + ".pagination")
	case KindAny:
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
	values := lists.Map(f.Values, func(v string) any { return v })
	if f.FoldCase {
		for _, v := range f.Values {
			values = append(values, strings.ToLower(v))
		}
	}
	return objectOf("enum", values)
}
