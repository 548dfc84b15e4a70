package postman

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"github.com/stopwhen/stopwhen/engine/importer"
	"github.com/stopwhen/stopwhen/engine/importer/importertest"
)

func TestCollectionsBecomeConfigurations(t *testing.T) { importertest.Run(t, Format) }

func FuzzRead(f *testing.F) { importertest.Fuzz(f, Format, "api.json", "env.json") }

// No case writes a secret that stands in its collection.
func TestSecretsAreNotCopied(t *testing.T) {
	archive, err := txtar.ParseFile("testdata/credentials.txtar")
	require.NoError(t, err)
	require.Contains(t, string(archive.Files[0].Data), "S3cretS3cret")
	require.Contains(t, string(archive.Files[0].Data), "tok_0123456789abcdef")
	require.Greater(t, len(archive.Files), 10)
	for _, f := range archive.Files[1:] {
		require.NotContains(t, string(f.Data), "S3cretS3cret", f.Name)
		require.NotContains(t, string(f.Data), "tok_0123456789abcdef", f.Name)
	}
}

// schemaKeys are the keys of the schema of collections, version 2.1, which stand in a case. Those of
// others, in unread, do not change the requests.
var (
	schemaKeys = `info name item event variable auth request response listen script exec disabled key id value type url method
		header body raw protocol host port path query mode urlencoded formdata file graphql options originalRequest code
		noauth apikey awsv4 basic bearer digest edgegrid hawk ntlm oauth1 oauth2`
	unread = `description version schema protocolProfileBehavior proxy certificate hash src contentType timings responseTime
		cookie status system`
)

// Each key of the schema stands in a case, or is known to have no effect on requests.
func TestEveryKeyHasACase(t *testing.T) {
	documents := importertest.Documents(t)
	for key := range strings.FieldsSeq(schemaKeys) {
		require.Regexp(t, fmt.Sprintf(`[{,]\s*"%s":|"type": "%[1]s"`, key), documents)
	}
	require.NotEmpty(t, unread)
}

func TestHostileDocumentsAreRefused(t *testing.T) {
	text := func(s string) importer.File { return importer.File{Name: "api.json", Text: []byte(s)} }
	importertest.Refuses(t, Format, "the limit is", importer.File{Name: "api.json", Text: make([]byte, 100<<20)})
	importertest.Refuses(t, Format, "want one collection", text(`{"item": []}`), text(`{"item": []}`))
	importertest.Refuses(t, Format, "want one collection", text(`{"values": []}`))
	importertest.Refuses(t, Format, "neither a collection", text(`{"a": 1}`))
	importertest.Refuses(t, Format, "is of version 1", text(`{"requests": []}`))
	importertest.Refuses(t, Format, "cannot unmarshal", text(`{"item": 5}`))
	importertest.Refuses(t, Format, "no request that returns a list", text(`{"item": []}`))
	importertest.Refuses(t, Format, "depth", text(strings.Repeat(`{"item":[`, 100_000)))
	importertest.Refuses(t, Format, "unexpected end", text(``))
	doubling := []string{}
	for i := range 40 {
		doubling = append(doubling, fmt.Sprintf(`{"key": "v%d", "value": "{{v%[2]d}}{{v%[2]d}}"}`, i, i+1))
	}
	importertest.Refuses(t, Format, "no request that returns a list", text(`{"variable": [`+strings.Join(doubling, ",")+`],
		"item": [{"name": "a", "request": {"method": "PUT", "url": "https://a.test/{{v0}}"}}]}`))
	wide := []string{}
	for i := range 9 {
		wide = append(wide, fmt.Sprintf(`{"key": "v%d", "value": "%s"}`, i, strings.Repeat(fmt.Sprintf("{{v%d}}", i+1), 1000)))
	}
	importertest.Refuses(t, Format, "no request that returns a list", text(`{"variable": [`+strings.Join(wide, ",")+`],
		"item": [{"name": "a", "request": {"method": "PUT", "url": "{{v0}}/{{v0}}"}, "response": [{"code": 200, "body": "[{}]"}]}]}`))
}

// A secret is not copied into an address either.
func TestASecretInAnAddressIsAnInput(t *testing.T) {
	source, err := Read([]importer.File{{Name: "api.json", Text: []byte(`{"variable": [{"key": "host", "value": "https://a.test", "type": "secret"}],
		"item": [{"name": "a", "request": {"method": "GET", "url": "{{host}}/a"}}]}`)}}, importer.Options{})
	require.NoError(t, err)
	require.Equal(t, "{+input.host}/", source.Streams[0].BaseURL)
	require.True(t, source.Inputs[0].Secret)
	require.Nil(t, source.Inputs[0].Default)
}

// A key in the path is not copied, and two requests with the same key have one input.
func TestASecretInAPathIsAnInput(t *testing.T) {
	const key, bot = "k3Jx9Qz7Rv2Lm5Tb8Wd1", "bot123456789:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw"
	source, err := Read([]importer.File{{Name: "api.json", Text: []byte(`{"item": [
		{"name": "a", "request": {"method": "GET", "url": "https://a.test/v1/` + key + `/orders"}, "response": [{"code": 200, "body": "[{}]"}]},
		{"name": "b", "request": {"method": "GET", "url": "https://a.test/v1/` + key + `/users"}, "response": [{"code": 200, "body": "[{}]"}]},
		{"name": "c", "request": {"method": "GET", "url": {"raw": "https://a.test/` + bot + `/getUpdates", "host": ["a", "test"],
			"path": ["` + bot + `", "getUpdates"]}}, "response": [{"code": 200, "body": "[{}]"}]},
		{"name": "d", "request": {"method": "GET", "url": "https://a.test/7f9c24e5-2f0a-4b1c-9d3e-0a1b2c3d4e5f/users"}}]}`)}}, importer.Options{})
	require.NoError(t, err)
	var endpoints []string
	for _, s := range source.Streams {
		endpoints = append(endpoints, s.Endpoint)
	}
	require.Equal(t, []string{"v1/{input.token}/orders", "v1/{input.token}/users", "{input.token_2}/getUpdates",
		"7f9c24e5-2f0a-4b1c-9d3e-0a1b2c3d4e5f/users"}, endpoints)
	require.Len(t, source.Inputs, 2)
	require.True(t, source.Inputs[0].Secret && source.Inputs[1].Secret)
}
