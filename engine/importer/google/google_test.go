package google

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine/importer"
	"github.com/stopwhen/stopwhen/engine/importer/importertest"
)

func TestDocumentsBecomeConfigurations(t *testing.T) { importertest.Run(t, Format) }

func FuzzRead(f *testing.F) { importertest.Fuzz(f, Format, "rest.json") }

// keysWithoutEffect are the keys of discovery documents that say nothing about requests and items.
var keysWithoutEffect = []string{
	"discoveryVersion", "id", "revision", "title", "canonicalName", "documentationLink", "icons", "labels", "features", "ownerDomain",
	"ownerName", "packagePath", "etag", "version_module", "batchPath", "basePath", "baseUrl", "mtlsRootUrl", "endpoints", "auth",
	"fullyEncodeReservedExpansion", "flatPath", "streamingType", "supportsMediaDownload", "supportsMediaUpload", "mediaUpload",
	"supportsSubscription", "useMediaDownloadService", "etagRequired", "apiVersion", "deprecated", "enumDescriptions",
	"enumDeprecated", "repeated", "minimum", "readOnly", "variant", "exponentialBackoff",
}

// keysOfDocuments are the keys that are read.
var keysOfDocuments = []string{
	"kind", "name", "version", "protocol", "rootUrl", "servicePath", "parameters", "schemas", "resources", "methods", "path", "httpMethod",
	"parameterOrder", "request", "response", "scopes", "type", "location", "required", "pattern", "default", "maximum", "description",
	"$ref", "properties", "items", "additionalProperties", "annotations",
}

func TestEveryKeyHasACase(t *testing.T) {
	documents := importertest.Documents(t)
	for _, key := range keysOfDocuments {
		require.Contains(t, documents, fmt.Sprintf("%q:", key))
		require.NotContains(t, keysWithoutEffect, key)
	}
}

// A key without effect changes nothing, wherever it stands.
func TestKeysWithoutEffectChangeNothing(t *testing.T) {
	document := func(extra string) importer.File {
		return importer.File{Name: "rest.json", Text: fmt.Appendf(nil, `{%[1]s "kind": "discovery#restDescription", "name": "x", "rootUrl": "https://x/",
			"resources": {"files": {%[1]s "methods": {"list": {%[1]s "id": "x.files.list", "path": "files", "httpMethod": "GET",
			"parameters": {"pageToken": {%[1]s "type": "string", "location": "query"}}, "response": {"$ref": "List"}}}}},
			"schemas": {"List": {%[1]s "properties": {"files": {%[1]s "type": "array"}, "nextPageToken": {"type": "string"}}}}}`, extra)}
	}
	want, err := Read([]importer.File{document("")}, importer.Options{})
	require.NoError(t, err)
	for _, key := range keysWithoutEffect {
		v := `"x"`
		if key == "auth" {
			v = `{"oauth2": {"scopes": {"https://x": {}}}}`
		}
		got, err := Read([]importer.File{document(fmt.Sprintf("%q: %s,", key, v))}, importer.Options{})
		require.NoError(t, err, key)
		require.Equal(t, want, got, key)
	}
}

func TestHostileDocumentsAreRefused(t *testing.T) {
	text := func(s string) importer.File { return importer.File{Name: "rest.json", Text: []byte(s)} }
	importertest.Refuses(t, Format, "the limit is", importer.File{Name: "rest.json", Text: make([]byte, 100<<20)})
	importertest.Refuses(t, Format, "max depth", text(strings.Repeat(`{"resources":{"a":`, 100_000)))
	importertest.Refuses(t, Format, "one discovery document", text("{}"), text("{}"))
	importertest.Refuses(t, Format, "no method that returns a list", text(`{"kind": "discovery#restDescription", "rootUrl": "https://x/",
		"methods": {"list": null, "a": {"response": {"$ref": "A"}}}, "resources": {"b": null},
		"schemas": {"A": {"$ref": "B"}, "B": {"$ref": "A"}}}`))
}
