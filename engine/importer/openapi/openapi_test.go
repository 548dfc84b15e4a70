package openapi

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine/importer"
	"github.com/stopwhen/stopwhen/engine/importer/importertest"
)

func TestDescriptionsBecomeConfigurations(t *testing.T) { importertest.Run(t, Format) }

func FuzzRead(f *testing.F) { importertest.Fuzz(f, Format, "openapi.yaml") }

// keysWithoutEffect are the keys of OpenAPI that say nothing about requests and items.
var keysWithoutEffect = []string{
	"jsonSchemaDialect", "webhooks", "tags", "externalDocs", "summary", "callbacks", "deprecated", "allowEmptyValue", "style",
	"explode", "allowReserved", "example", "examples", "links", "encoding", "xml", "discriminator", "readOnly", "writeOnly", "pathItems",
	"termsOfService", "contact", "license", "mapping", "propertyName",
}

// keysOfDocuments are the keys of the objects of OpenAPI 3.0 and 3.1, without those of JSON Schema that
// only restrict values, and of the extensions that are read.
var keysOfDocuments = []string{
	"openapi", "info", "title", "version", "servers", "url", "description", "variables", "enum", "default", "paths", "get", "put", "post",
	"parameters", "requestBody", "responses", "operationId", "security", "components", "schemas", "requestBodies", "securitySchemes",
	"name", "in", "required", "schema", "content", "headers", "type", "properties", "items", "allOf", "oneOf", "anyOf", "const", "minimum",
	"maximum", "format", "scheme", "bearerFormat", "flows", "openIdConnectUrl", "implicit", "password", "clientCredentials",
	"authorizationCode", "tokenUrl", "refreshUrl", "authorizationUrl", "scopes", "nullable", "$ref",
	"x-speakeasy-pagination", "inputs", "outputs", "results", "numPages", "nextCursor", "nextUrl", "limit",
	"x-fern-pagination", "cursor", "next_cursor", "has-next-page", "offset", "step", "next_uri", "next_path",
	"x-ms-pageable", "nextLinkName", "itemName", "operationName",
}

func TestEveryKeyHasACaseOrNoEffect(t *testing.T) {
	documents := importertest.Documents(t)
	for _, key := range keysOfDocuments {
		require.Regexp(t, fmt.Sprintf(`["{, \n]%s"?:`, strings.ReplaceAll(key, "$", `\$`)), documents)
		require.NotContains(t, keysWithoutEffect, key)
	}
}

// A key without effect changes nothing, wherever it stands.
func TestKeysWithoutEffectChangeNothing(t *testing.T) {
	document := func(extra string) importer.File {
		return importer.File{Name: "openapi.yaml", Text: fmt.Appendf(nil, `{openapi: 3.1.0, info: {title: x, version: "1"%[1]s}, servers: [{url: "https://x"%[1]s}]%[1]s,
			paths: {/a: {get: {operationId: a%[1]s, parameters: [{name: page, in: query, schema: {type: integer%[1]s}%[1]s}],
			responses: {200: {description: ok%[1]s, content: {application/json: {schema: {type: array, items: {type: object%[1]s}%[1]s}%[1]s}}}}}%[1]s}}}`, extra)}
	}
	want, err := Read([]importer.File{document("")}, importer.Options{})
	require.NoError(t, err)
	for _, key := range keysWithoutEffect {
		got, err := Read([]importer.File{document(fmt.Sprintf(", %s: {a: [1]}", key))}, importer.Options{})
		require.NoError(t, err)
		require.Equal(t, want, got, key)
	}
}

func TestHostileDocumentsAreRefused(t *testing.T) {
	bomb := "openapi: 3.0.0\na: &a [x, x, x, x, x, x, x, x, x]\n"
	for c := 'b'; c < 'k'; c++ {
		bomb += fmt.Sprintf("%c: &%c [*%[3]c, *%[3]c, *%[3]c, *%[3]c, *%[3]c, *%[3]c, *%[3]c, *%[3]c, *%[3]c]\n", c, c, c-1)
	}
	yaml := func(text string) importer.File { return importer.File{Name: "openapi.yaml", Text: []byte(text)} }
	importertest.Refuses(t, Format, "too large", yaml(bomb))
	importertest.Refuses(t, Format, "contains itself", yaml("openapi: 3.0.0\npaths: &p {a: *p}\n"))
	importertest.Refuses(t, Format, "the limit is", importer.File{Name: "openapi.yaml", Text: make([]byte, 100<<20)})
	json := func(text string) importer.File { return importer.File{Name: "openapi.json", Text: []byte(text)} }
	importertest.Refuses(t, Format, "the limit is", json("{"+strings.Repeat(" ", 100<<20)))
	importertest.Refuses(t, Format, "nested too deeply", yaml("a: "+strings.Repeat("[", 100_000)))
	importertest.Refuses(t, Format, "max depth", json(strings.Repeat(`{"a":`, 100_000)))
	importertest.Refuses(t, Format, "one document", yaml("openapi: 3.0.0"), yaml("openapi: 3.0.0"))
}

// Schemas that refer to each other in many ways are looked into to a depth that is bounded.
func TestSchemasThatReferToEachOtherEnd(t *testing.T) {
	var b strings.Builder
	b.WriteString("openapi: 3.0.0\ninfo: {title: x}\nservers: [{url: 'https://x'}]\ncomponents:\n  schemas:\n")
	for i := range 40 {
		fmt.Fprintf(&b, "    S%d: {allOf: [", i)
		for j := range 40 {
			fmt.Fprintf(&b, "{$ref: '#/components/schemas/S%d'}, ", j)
		}
		b.WriteString("], properties: {")
		for j := range 40 {
			fmt.Fprintf(&b, "p%d: {$ref: '#/components/schemas/S%d'}, ", j, j)
		}
		b.WriteString("}}\n")
	}
	b.WriteString("paths: {/a: {get: {responses: {200: {content: {application/json: {schema: {$ref: '#/components/schemas/S0'}}}}}}}}\n")
	importertest.Refuses(t, Format, "no operation that returns a list", importer.File{Name: "openapi.yaml", Text: []byte(b.String())})
}
