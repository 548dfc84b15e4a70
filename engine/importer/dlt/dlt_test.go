package dlt

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"github.com/stopwhen/stopwhen/engine/importer"
	"github.com/stopwhen/stopwhen/engine/importer/importertest"
)

func TestConfigurationsBecomeConfigurations(t *testing.T) { importertest.Run(t, Format) }

func FuzzRead(f *testing.F) { importertest.Fuzz(f, Format, "keys.yaml") }

// Each key that is read, or left out with a note, stands in a document of a case.
func TestEveryKeyHasACase(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	require.NoError(t, err)
	var all strings.Builder
	for _, name := range files {
		archive, err := txtar.ParseFile(name)
		require.NoError(t, err)
		all.Write(archive.Files[0].Data)
	}
	has := func(key string) { require.Regexp(t, `(?m)(^|[ {"])`+key+`"?:`, all.String()) }
	for kind, keys := range keysOf {
		for key := range keys {
			if kind != "endpoint" || key != "path" {
				has(key)
			}
		}
	}
	for kind, keys := range paginators {
		require.Regexp(t, `type"?: "?`+kind+`\b|paginator"?: "?`+kind+`\b`, all.String())
		for _, key := range keys {
			has(key)
		}
	}
}

func TestHostileDocumentsAreRefused(t *testing.T) {
	text := func(s string) importer.File { return importer.File{Name: "shop.yaml", Text: []byte(s)} }
	importertest.Refuses(t, Format, "the limit is", importer.File{Name: "shop.yaml", Text: make([]byte, 100<<20)})
	importertest.Refuses(t, Format, "one configuration", text("client: {}"), text("client: {}"))
	importertest.Refuses(t, Format, "want an object with client and resources", text("[1]"))
	importertest.Refuses(t, Format, "resources: want a list", text("client: {base_url: 'https://a.example.com'}\nresources: 5"))
	importertest.Refuses(t, Format, "two resources", text("client: {base_url: 'https://a.example.com'}\nresources: [a, a]"))
	importertest.Refuses(t, Format, "want a name", text("client: {base_url: 'https://a.example.com'}\nresources: [[]]"))
	importertest.Refuses(t, Format, "nested too deeply", text("client: "+strings.Repeat("[", 100_000)))
	importertest.Refuses(t, Format, "contains itself", text("client: &a {x: *a}\nresources: []"))
}
