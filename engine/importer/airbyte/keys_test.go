package airbyte

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine/importer"
	"github.com/stopwhen/stopwhen/rules/value"
)

// keysManifest is the manifest that every key of the format is put into.
const keysManifest = `
streams:
- type: DeclarativeStream
  name: all
  retriever:
    type: SimpleRetriever
    requester: {type: HttpRequester, url_base: "https://x.example.com/", path: all}
    record_selector: {type: RecordSelector, extractor: {type: DpathExtractor, field_path: []}}
`

// contexts are the components that those of a list need around them, by the end of their place.
var contexts = map[string]string{
	"streams[0].retriever.paginator": `{type: DefaultPaginator, page_token_option: {type: RequestOption, inject_into: request_parameter, field_name: page},
 pagination_strategy: {type: PageIncrement, page_size: 5}}`,
	"streams[0].incremental_sync": `{type: DatetimeBasedCursor, cursor_field: u, datetime_format: "%Y-%m-%d", start_datetime: "2024-01-01",
 start_time_option: {type: RequestOption, inject_into: request_parameter, field_name: since}}`,
	"streams[0].transformations": `[{type: AddFields, fields: [{path: [a], value: b}]}]`,
	"streams[0].retriever.partition_router": `{type: SubstreamPartitionRouter, parent_stream_configs: [{type: ParentStreamConfig, parent_key: id, partition_field: p,
 stream: {type: DeclarativeStream, name: parents, retriever: {type: SimpleRetriever, requester: {type: HttpRequester,
	url_base: "https://x.example.com/", path: parents}}}}]}`,
	"streams[0].retriever.requester.error_handler": `{type: DefaultErrorHandler, response_filters: [{http_codes: [404], action: IGNORE}], backoff_strategies: [{type: ExponentialBackoffStrategy}]}`,
}

// TestEveryKeyOfTheFormatIsReadOrNamed puts each key of the schema of the format into a manifest. The
// reader must read it, or say in a note or a refusal what became of it.
func TestEveryKeyOfTheFormatIsReadOrNamed(t *testing.T) {
	text, err := os.ReadFile("testdata/keys.list")
	require.NoError(t, err)
	root, err := importer.ParseYAML(importer.File{Name: "keys.list", Text: text}, 1<<20)
	require.NoError(t, err)
	seen := 0
	for _, one := range root.([]any) {
		c, _ := value.Members(one)
		kind, _ := c.Get("type")
		at, _ := c.Get("at")
		base, _ := c.Get("base")
		keys, _ := c.Get("keys")
		members, _ := value.Members(keys)
		for _, m := range members {
			seen++
			t.Run(kind.(string)+"."+m.Name, func(t *testing.T) {
				object, _ := value.Members(base)
				component := append(value.Object{{Name: "type", Value: kind}}, object...).With(m.Name, m.Value)
				becameSomething(t, at.(string), component, m.Name)
			})
		}
	}
	require.Greater(t, seen, 150)
}

// becameSomething requires a key of a component to be read or named.
func becameSomething(t *testing.T, at string, component value.Object, key string) {
	t.Helper()
	root := parsed(t, keysManifest)
	for context, text := range contexts {
		if strings.HasPrefix(at, context) && at != context {
			root = put(root, steps(context), parsed(t, text))
		}
	}
	before, _ := value.At(root, steps(at))
	existing, _ := value.Members(before)
	root = put(root, steps(at), existing.Merge(component))
	r := &reader{streams: map[string]*stream{}, translations: map[*importer.Stream]*translation{}, set: map[string]bool{}}
	object, _ := value.Members(root)
	require.NoError(t, r.document("manifest.yaml", object))
	src, err := r.source()
	require.NoError(t, err)
	place := at + "." + key
	if r.manifest.read[at][key] || silent[key] {
		return
	}
	for _, s := range src.Streams {
		if s.Refused != "" {
			t.Log(s.Refused)
		}
		if s.Refused != "" && strings.Contains(s.Refused, at) {
			return
		}
		for _, n := range s.Notes {
			if (n.Source == place || n.Source == at) && !strings.Contains(n.Text, "is not known here") {
				return
			}
		}
	}
	require.Fail(t, "the key "+place+" is neither read nor named", "%v", src.Streams[0])
}

func parsed(t *testing.T, text string) any {
	t.Helper()
	v, err := importer.ParseYAML(importer.File{Name: "part.yaml", Text: []byte(text)}, 1<<20)
	require.NoError(t, err)
	return v
}

// steps splits a place into its keys and indexes.
func steps(at string) []string {
	return strings.FieldsFunc(at, func(r rune) bool { return r == '.' || r == '[' || r == ']' })
}

// put returns a value with another one at a place.
func put(root any, keys []string, v any) any {
	if len(keys) == 0 {
		return v
	}
	if keys[0] == "0" {
		list, _ := root.([]any)
		var first any
		if len(list) > 0 {
			first = list[0]
		}
		return []any{put(first, keys[1:], v)}
	}
	object, _ := value.Members(root)
	inner, _ := object.Get(keys[0])
	return object.With(keys[0], put(inner, keys[1:], v))
}
