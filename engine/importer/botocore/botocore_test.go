package botocore

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"github.com/stopwhen/stopwhen/engine/importer"
	"github.com/stopwhen/stopwhen/engine/importer/importertest"
)

func TestPaginatorsBecomeConfigurations(t *testing.T) { importertest.Run(t, Format) }

func FuzzRead(f *testing.F) {
	importertest.Fuzz(f, Format, "paginators-1.json", "service-2.json")
}

// documents returns the documents of a case.
func documents(t *testing.T, name string) (paginators, service importer.File) {
	archive, err := txtar.ParseFile("testdata/" + name + ".txtar")
	require.NoError(t, err)
	return importer.File{Name: archive.Files[0].Name, Text: archive.Files[0].Data},
		importer.File{Name: archive.Files[1].Name, Text: archive.Files[1].Data}
}

func TestEveryKeyOfAPaginatorHasACase(t *testing.T) {
	documents := importertest.Documents(t)
	for _, key := range paginatorKeys {
		require.Contains(t, documents, fmt.Sprintf("%q", key))
	}
	require.Contains(t, documents, `"page_token"`, "an unknown key, which is refused")
}

// The keys of a service model that change requests or responses, and those that do not.
func TestEveryKeyOfAServiceModelHasACase(t *testing.T) {
	documents := importertest.Documents(t, "service-2.json")
	for _, key := range []string{
		"apiVersion", "endpointPrefix", "globalEndpoint", "jsonVersion", "protocol", "protocols", "signatureVersion", "signingName",
		"targetPrefix", "method", "requestUri", "input", "output", "resultWrapper", "authtype", "hostPrefix", "endpointdiscovery",
		"shape", "location", "locationName", "queryName", "flattened", "documentation", "type", "members", "required", "member",
		"key", "value", "payload", "sensitive",
	} {
		require.Contains(t, documents, fmt.Sprintf("%q:", key))
	}
}

func TestCompressedModelsAreRead(t *testing.T) {
	paginators, service := documents(t, "json-dynamodb-scan")
	want, err := Read([]importer.File{paginators, service}, importer.Options{})
	require.NoError(t, err)
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, err = w.Write(service.Text)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	got, err := Read([]importer.File{{Name: "service-2.json.gz", Text: packed.Bytes()}, paginators}, importer.Options{})
	require.NoError(t, err)
	require.Equal(t, want, got)
}

func TestTheFilesOfADirectoryOfBotocoreAreRead(t *testing.T) {
	paginators, service := documents(t, "json-dynamodb-scan")
	folder := "botocore/data/dynamodb-local/2012-08-10/"
	source, err := Read([]importer.File{
		{Name: folder + "endpoint-rule-set-1.json.gz", Text: []byte("{}")}, {Name: folder + paginators.Name, Text: paginators.Text},
		{Name: folder + service.Name, Text: service.Text}, {Name: folder + "waiters-2.json", Text: []byte("{}")},
	}, importer.Options{})
	require.NoError(t, err)
	require.Equal(t, "dynamodb-local", source.Name)
}

func TestHostileFilesAreRefused(t *testing.T) {
	paginators, service := documents(t, "json-dynamodb-scan")
	var bomb bytes.Buffer
	w := gzip.NewWriter(&bomb)
	for range 100 {
		_, err := w.Write(make([]byte, 1<<20))
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	importertest.Refuses(t, Format, "more than 33.6 MB when it is decompressed", paginators, importer.File{Name: "service-2.json.gz", Text: bomb.Bytes()})
	importertest.Refuses(t, Format, "the limit is 33.6 MB", paginators, importer.File{Name: "service-2.json", Text: make([]byte, 100<<20)})
	importertest.Refuses(t, Format, "exceeded max depth", service,
		importer.File{Name: "paginators-1.json", Text: []byte(strings.Repeat(`{"pagination":`, 100_000))})
	importertest.Refuses(t, Format, "two services", service, service)
}

func TestShapesThatContainThemselvesEnd(t *testing.T) {
	paginators := importer.File{Name: "paginators-1.json",
		Text: []byte(`{"pagination": {"List": {"input_token": "Next", "output_token": "Next", "result_key": "Items"}}}`)}
	service := importer.File{Name: "service-2.json", Text: []byte(`{
		"metadata": {"apiVersion": "1", "endpointPrefix": "x", "protocol": "query", "signatureVersion": "v4"},
		"operations": {"List": {"http": {"method": "POST", "requestUri": "/"}, "input": {"shape": "In"}, "output": {"shape": "Out", "resultWrapper": "R"}}},
		"shapes": {"In": {"type": "structure", "required": ["Tree"], "members": {"Tree": {"shape": "Tree"}, "Next": {"shape": "S"}}},
			"Tree": {"type": "structure", "required": ["Left", "Right"], "members": {"Left": {"shape": "Tree"}, "Right": {"shape": "Tree"}}},
			"Out": {"type": "structure", "members": {"Items": {"shape": "L"}, "Next": {"shape": "S"}}},
			"L": {"type": "list", "member": {"shape": "L"}}, "S": {"type": "string"}}}`)}
	source, err := Read([]importer.File{paginators, service}, importer.Options{})
	require.NoError(t, err)
	require.Empty(t, source.Streams[0].Refused)
}

func TestQueriesOfJMESPath(t *testing.T) {
	for _, c := range []struct {
		text string
		want query
	}{
		{"NextToken", query{{{name: "NextToken"}}}},
		{"a.b_2", query{{{name: "a"}, {name: "b_2"}}}},
		{`"a-b".c`, query{{{name: "a-b"}, {name: "c"}}}},
		{"a[-1].b", query{{{name: "a"}, {kind: element, index: -1}, {name: "b"}}}},
		{"a[].b[*]", query{{{name: "a"}, {kind: each}, {name: "b"}, {kind: each}}}},
		{"a || b.c||d", query{{{name: "a"}}, {{name: "b"}, {name: "c"}}, {{name: "d"}}}},
	} {
		got, err := parseQuery(c.text)
		require.NoError(t, err, c.text)
		require.Equal(t, c.want, got, c.text)
	}
	for _, bad := range []string{"", "a.", "a[", "a[?b]", "a[1:2]", "length(a)", "a | b", "a && b", "`1`", `"a`, "a || ", "a.*", "1a"} {
		_, err := parseQuery(bad)
		require.Error(t, err, bad)
	}
}
