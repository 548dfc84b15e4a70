package keboola

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine/importer"
	"github.com/stopwhen/stopwhen/engine/importer/importertest"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/value"
)

func TestConfigurationsOfKeboolaAreTranslated(t *testing.T) { importertest.Run(t, Format) }

func FuzzRead(f *testing.F) { importertest.Fuzz(f, Format, "config.json") }

// same are keys of this engine, which mean the same in both dialects and are written as they are. Those
// of [beyond] are refused.
var same = []string{"response", "burst", "limitCodes", "maxBodyBytes", "maxDepth", "maxItemsPerPage", "maxValueBytes", "parallel", "rateLimit", "timeout",
	"keep", "state", "nextRequest", "onError", "audit"}

// TestEveryKeyOfTheDialectHasACase takes the keys of the schema of the dialect: those of api, config and
// jobs, and of the methods of the extractor. Each must be in a case, or in a list above.
func TestEveryKeyOfTheDialectHasACase(t *testing.T) {
	documents := importertest.Documents(t)
	keys := map[string]bool{}
	schema := rules.Builtin().Schema()
	for _, place := range [][]string{
		{"keboola.parameters", "api"}, {"keboola.parameters", "api", "http"}, {"keboola.parameters", "api", "retryConfig"},
		{"keboola.parameters", "config"}, {"keboola.parameters", "config", "jobs"}, {"keboola.common"}, {"keboola.offset"},
		{"keboola.pagenum"}, {"keboola.cursor"}, {"keboola.response.url"}, {"keboola.zendesk.response.url"},
		{"keboola.response.param"}, {"keboola.multiple"},
	} {
		found, _ := value.At(schema, []string{"definitions", place[0]})
		members := properties(found)
		for _, name := range place[1:] {
			inner, _ := members.Get(name)
			members = properties(inner)
		}
		require.NotEmpty(t, members, "%s", place)
		for _, m := range members {
			keys[m.Name] = true
		}
	}
	require.Greater(t, len(keys), 60)
	delete(keys, "listStyle") // the dialect refuses it
	var missing []string
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if !slices.Contains(same, key) && !slices.Contains(beyond, key) && !isCopied(key) && !strings.Contains(documents, `"`+key+`"`) {
			missing = append(missing, key)
		}
	}
	require.Empty(t, missing)
}

func isCopied(key string) bool {
	return slices.Contains(copied, "api."+key) || slices.Contains(copied, "config."+key)
}

// TestWhatUsersCopyIsNamed has certificates and limits, which a note names, and origins for all jobs.
func TestWhatUsersCopyIsNamed(t *testing.T) {
	text := `{"api": {"baseUrl": "https://a.example/", "allowedOrigins": ["https://b.example"], "http": {"timeout": 5}}, "config": {"limits": {"partitions": 5}, "jobs": [{"endpoint": "u"}]}}`
	source, err := Read([]importer.File{{Name: "config.json", Text: []byte(text)}}, importer.Options{})
	require.NoError(t, err)
	s := source.Streams[0]
	require.Equal(t, []string{"https://b.example"}, s.Origins)
	require.Equal(t, "timeout", s.Common[0].Name)
	require.Equal(t, "limits is a key of this engine: copy it", s.Notes[0].Text)
}

// properties returns the properties of a schema, or of the first in it that has some.
func properties(schema any) value.Object {
	members, _ := value.Members(schema)
	for _, m := range members {
		switch inner, isObject := value.Members(m.Value); {
		case m.Name == "properties" && isObject:
			return inner
		case m.Name == "items":
			return properties(m.Value)
		case m.Name == "anyOf":
			for _, one := range m.Value.([]any) {
				if found := properties(one); found != nil {
					return found
				}
			}
		}
	}
	return nil
}

// TestKeysOfTheEngineAreRefused puts each key of [beyond] into a job.
func TestKeysOfTheEngineAreRefused(t *testing.T) {
	values := map[string]string{"for": `{"x": {"values": [1]}}`, "incremental": `{"cursor": "u", "param": "since"}`,
		"keepFor": `"x"`, "onPartitionError": `"skip"`, "body": `{"a": 1}`, "response": `{"format": "json"}`}
	require.Len(t, values, len(beyond))
	for key, v := range values {
		more := ""
		switch key {
		case "onPartitionError":
			more = `"for": {"x": {"values": [1]}}, `
		case "keepFor":
			more = `"for": {"x": {"values": [1]}}, "incremental": {"cursor": "u", "param": "since"}, `
		}
		text := `{"api": {"baseUrl": "https://a.example/"}, "config": {"jobs": [{"endpoint": "u", "method": "POST", ` + more + `"` + key + `": ` + v + `}]}}`
		source, err := Read([]importer.File{{Name: "config.json", Text: []byte(text)}}, importer.Options{})
		require.NoError(t, err)
		require.Contains(t, source.Streams[0].Refused, "write the job by hand", key)
	}
}

func TestHostileDocumentsAreRefused(t *testing.T) {
	text := func(s string) importer.File { return importer.File{Name: "config.json", Text: []byte(s)} }
	importertest.Refuses(t, Format, "the limit is", importer.File{Name: "config.json", Text: make([]byte, 100<<20)})
	importertest.Refuses(t, Format, "one configuration", text("{}"), text("{}"))
	importertest.Refuses(t, Format, "max depth", text(strings.Repeat(`{"api":`, 100_000)))
	importertest.Refuses(t, Format, "api", text("{}"))
	importertest.Refuses(t, Format, "writes lists with indices",
		text(`{"api": {"baseUrl": "https://a.example/"}, "config": {"jobs": [{"endpoint": "u", "listStyle": "comma"}]}}`))
}
