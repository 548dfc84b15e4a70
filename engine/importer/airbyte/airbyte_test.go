package airbyte_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/importer"
	"github.com/stopwhen/stopwhen/engine/importer/airbyte"
	"github.com/stopwhen/stopwhen/engine/stress"
	"github.com/stopwhen/stopwhen/rules/yaml"
)

var update = flag.Bool("update", false, "rewrite the expected configurations")

// imported reads a manifest and writes its configurations.
func imported(t *testing.T, o importer.Options, files ...importer.File) *importer.Result {
	t.Helper()
	src, err := airbyte.Read(files, o)
	require.NoError(t, err)
	r, err := importer.Write("airbyte", src)
	require.NoError(t, err)
	return r
}

func manifest(t *testing.T, name string) importer.File {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name+".yaml"))
	require.NoError(t, err)
	return importer.File{Name: name + ".yaml", Text: text}
}

// TestManifestsBecomeConfigurations compares what each manifest of testdata becomes with the text
// beside it: the configurations, and the notes of the report.
func TestManifestsBecomeConfigurations(t *testing.T) {
	names, err := filepath.Glob("testdata/*.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, names)
	for _, path := range names {
		name := strings.TrimSuffix(filepath.Base(path), ".yaml")
		t.Run(name, func(t *testing.T) {
			r := imported(t, importer.Options{}, manifest(t, name))
			got := shown(t, r)
			want := filepath.Join("testdata", name+".txt")
			if *update {
				require.NoError(t, os.WriteFile(want, []byte(got), 0o644))
			}
			text, err := os.ReadFile(want)
			require.NoError(t, err)
			require.Equal(t, string(text), got)
			for _, c := range r.Configs {
				works(t, c)
			}
		})
	}
}

// shown returns the configurations and the notes as a text.
func shown(t *testing.T, r *importer.Result) string {
	t.Helper()
	var b strings.Builder
	for _, c := range r.Configs {
		b.WriteString("-- " + c.Name + " --\n" + string(c.Text))
	}
	b.WriteString("-- report --\n")
	for _, s := range r.Report.Streams {
		b.WriteString(s.Name + ": " + string(s.Grade) + "\n")
		for _, n := range s.Notes {
			b.WriteString("  " + string(n.Grade) + ": " + n.Text + " [" + n.Source + " -> " + n.Target + "]\n")
		}
	}
	return b.String()
}

// works requires a configuration to be one without warnings whose tests pass.
func works(t *testing.T, c importer.Config) {
	t.Helper()
	e, err := engine.Load(c.Name, c.Text, engine.WithFormat(".yaml", yaml.Parse), engine.WithPlaceholders())
	require.NoError(t, err)
	require.Empty(t, e.Warnings())
	report := e.Test(context.Background())
	require.Zero(t, report.Failed())
	_, err = e.Stress(context.Background(), stress.Options{WithoutFixes: true})
	require.NoError(t, err)
}

// TestStreamsWhoseItemsDifferAreNotExact: the CDK reads what a template of AddFields renders as a literal of Python, adds no member
// under a false condition, and reads XML with xmltodict.
func TestStreamsWhoseItemsDifferAreNotExact(t *testing.T) {
	const literal = "a text that is a literal of Python"
	for name, c := range map[string]struct{ changes, want string }{
		"no change":                    {``, ``},
		"a member":                     {`transformations: [{type: AddFields, fields: [{path: [a], value: "{{ record['zip'] }}"}]}]`, literal},
		"a member as a number":         {`transformations: [{type: AddFields, fields: [{path: [a], value: "{{ record['zip'] }}", value_type: integer}]}]`, literal},
		"two members joined":           {`transformations: [{type: AddFields, fields: [{path: [a], value: "{{ record.a }}{{ record.b }}"}]}]`, literal},
		"a member as a text":           {`transformations: [{type: AddFields, fields: [{path: [a], value: "{{ record['zip'] }}", value_type: string}]}]`, "a value that is no text"},
		"a text as a text":             {`transformations: [{type: AddFields, fields: [{path: [a], value: "{{ record['zip'] | upper }}", value_type: string}]}]`, ``},
		"a number":                     {`transformations: [{type: AddFields, fields: [{path: [a], value: "{{ record['zip'] | int }}"}]}]`, ``},
		"a comparison":                 {`transformations: [{type: AddFields, fields: [{path: [a], value: "{{ record['zip'] == 'x' }}"}]}]`, ``},
		"an address":                   {`transformations: [{type: AddFields, fields: [{path: [a], value: "https://a.test/{{ record['zip'] }}"}]}]`, ``},
		"a time":                       {`transformations: [{type: AddFields, fields: [{path: [a], value: "{{ now_utc().strftime('%Y-%m-%dT%H:%M:%SZ') }}"}]}]`, ``},
		"a day without separators":     {`transformations: [{type: AddFields, fields: [{path: [a], value: "{{ now_utc().strftime('%Y%m%d') }}"}]}]`, literal},
		"a constant":                   {`transformations: [{type: AddFields, fields: [{path: [a], value: "5"}]}]`, ``},
		"a constant under a condition": {`transformations: [{type: AddFields, condition: "{{ record.x }}", fields: [{path: [a], value: "5"}]}]`, "the condition"},
		"a condition of a field":       {`transformations: [{type: AddFields, fields: [{path: [a], value: "5", condition: "{{ record.x }}"}]}]`, "the condition"},
		"a condition that is false":    {`transformations: [{type: AddFields, condition: "{{ false }}", fields: [{path: [a], value: "{{ record.zip }}"}]}]`, ``},
		"XML":                          {`decoder: {type: XmlDecoder}`, "empty elements"},
	} {
		t.Run(name, func(t *testing.T) {
			text := `
version: 6.0.0
type: DeclarativeSource
streams:
- type: DeclarativeStream
  name: s
  retriever:
    type: SimpleRetriever
    requester: {type: HttpRequester, url_base: "https://api.test/", path: items}
    record_selector: {type: RecordSelector, extractor: {type: DpathExtractor, field_path: [data]}}
`
			if strings.HasPrefix(c.changes, "decoder") {
				text += "    " + c.changes
			} else {
				text += "  " + c.changes
			}
			r := imported(t, importer.Options{}, importer.File{Name: "manifest.yaml", Text: []byte(text)})
			stream := r.Report.Streams[0]
			notes := ""
			for _, n := range stream.Notes {
				notes += n.Text
			}
			if c.want == "" {
				require.Equal(t, importer.Exact, stream.Grade, notes)
			} else {
				require.Equal(t, importer.Approximate, stream.Grade, notes)
				require.Contains(t, notes, c.want)
			}
			if name == "a condition that is false" {
				require.NotContains(t, string(r.Configs[0].Text), "fields:")
			}
		})
	}
}

func TestASecretInAManifestIsNotCopied(t *testing.T) {
	const marker = "S3cretS3cret"
	for name, c := range map[string]struct{ authenticator, base string }{
		"bearer":     {`{type: BearerAuthenticator, api_token: ` + marker + `}`, "https://api.test/"},
		"basic":      {`{type: BasicHttpAuthenticator, username: u, password: ` + marker + `}`, "https://api.test/"},
		"a key":      {`{type: ApiKeyAuthenticator, header: X-Key, api_token: ` + marker + `}`, "https://api.test/"},
		"OAuth":      {`{type: OAuthAuthenticator, token_refresh_endpoint: "https://api.test/token", client_id: c, client_secret: ` + marker + `, grant_type: client_credentials}`, "https://api.test/"},
		"an address": {`{type: NoAuth}`, "https://u:" + marker + "@api.test/v1"},
	} {
		t.Run(name, func(t *testing.T) {
			r := imported(t, importer.Options{}, importer.File{Name: "manifest.yaml", Text: []byte(`
version: 6.0.0
type: DeclarativeSource
streams:
- type: DeclarativeStream
  name: s
  retriever:
    type: SimpleRetriever
    requester: {type: HttpRequester, url_base: "` + c.base + `", path: items, authenticator: ` + c.authenticator + `}
    record_selector: {type: RecordSelector, extractor: {type: DpathExtractor, field_path: [data]}}
`)})
			require.NotContains(t, shown(t, r), marker)
			require.Contains(t, string(r.Configs[0].Text), "{env: ")
			require.Contains(t, shown(t, r), "which was not copied")
			require.Equal(t, importer.Exact, r.Report.Streams[0].Grade)
			works(t, r.Configs[0])
		})
	}
}

func TestHostileManifestsAreRefusedAtOnce(t *testing.T) {
	alias := "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
	for i := range 12 {
		n, p := string(rune('b'+i)), string(rune('a'+i))
		if i == 0 {
			p = "a0"
		}
		alias += n + ": &" + n + " [" + strings.Repeat("*"+p+", ", 9) + "*" + p + "]\n"
	}
	for name, c := range map[string]struct{ text, want string }{
		"aliases":     {alias + "streams: []\n", "too large"},
		"circle":      {"definitions: {a: {$ref: '#/definitions/b'}, b: {$ref: '#/definitions/a'}}\nstreams: [{$ref: '#/definitions/a'}]\n", "contains itself"},
		"self":        {"definitions: {a: {x: {$ref: '#/definitions/a'}}}\nstreams: [{$ref: '#/definitions/a'}]\n", "contains itself"},
		"missing":     {"streams: [{$ref: '#/definitions/a'}]\n", "names nothing"},
		"large":       {"streams: ['" + strings.Repeat("x", 100<<20) + "']", "the limit is"},
		"deep":        {"streams: " + strings.Repeat("[", 100000), "nested too deeply"},
		"no manifest": {"a: 1", "no streams"},
		"no list":     {"streams: 5", "streams: want a list of streams, got a number"},
		"no object":   {"- 1", "want a manifest"},
		"no text":     {" \n", "the file is empty"},
	} {
		t.Run(name, func(t *testing.T) {
			file := importer.File{Name: "manifest.yaml", Text: []byte(c.text)}
			began := time.Now()
			_, err := airbyte.Read([]importer.File{file}, importer.Options{})
			require.ErrorContains(t, err, c.want)
			require.Less(t, time.Since(began), 5*time.Second)
		})
	}
}

func TestReferencesThatDoubleAreNotExpanded(t *testing.T) {
	began := time.Now()
	r := imported(t, importer.Options{}, importer.File{Name: "manifest.yaml", Text: []byte(doubling())})
	require.Less(t, time.Since(began), time.Second)
	require.Equal(t, importer.Refused, r.Report.Streams[0].Grade)
}

// doubling returns a manifest in which each definition has the one before it twice.
func doubling() string {
	var b strings.Builder
	b.WriteString("streams: [{$ref: '#/definitions/d30'}]\ndefinitions:\n  d0: {name: x}\n")
	for i := range 30 {
		fmt.Fprintf(&b, "  d%d: {a: {$ref: '#/definitions/d%d'}, b: {$ref: '#/definitions/d%d'}}\n", i+1, i, i)
	}
	return b.String()
}

// FuzzRead requires the reader to end with a source or an error for every document, and what is written
// of it to be a configuration.
func FuzzRead(f *testing.F) {
	paths, _ := filepath.Glob("testdata/*.yaml")
	for _, path := range paths {
		text, err := os.ReadFile(path)
		require.NoError(f, err)
		f.Add(string(text))
	}
	f.Fuzz(func(t *testing.T, text string) {
		watch := time.AfterFunc(10*time.Second, func() { panic("no end: " + text) })
		defer watch.Stop()
		src, err := airbyte.Read([]importer.File{{Name: "manifest.yaml", Text: []byte(text)}}, importer.Options{})
		if err != nil {
			return
		}
		r, err := importer.Write("airbyte", src)
		require.NoError(t, err)
		for _, c := range r.Configs {
			_, err := engine.Load(c.Name, c.Text, engine.WithFormat(".yaml", yaml.Parse), engine.WithPlaceholders())
			require.NoError(t, err)
		}
	})
}

// TestThePageInAParentIsRequested has a child whose first page is in the item of its parent.
func TestThePageInAParentIsRequested(t *testing.T) {
	const text = `
streams:
- {type: DeclarativeStream, name: lines, retriever: {type: SimpleRetriever,
    requester: {type: HttpRequester, url_base: "https://api.example.com/", path: "orders/{{ stream_partition.order }}/lines"},
    record_selector: {type: RecordSelector, extractor: {type: DpathExtractor, field_path: [data]}},
    partition_router: {type: SubstreamPartitionRouter, parent_stream_configs: [
      {type: ParentStreamConfig, parent_key: id, partition_field: order, lazy_read_pointer: [lines],
       stream: {type: DeclarativeStream, name: orders, retriever: {type: SimpleRetriever,
         requester: {type: HttpRequester, url_base: "https://api.example.com/", path: orders},
         record_selector: {type: RecordSelector, extractor: {type: DpathExtractor, field_path: [data]}}}}}]}}}
`
	r := imported(t, importer.Options{}, importer.File{Name: "source-shop/manifest.yaml", Text: []byte(text)})
	require.Len(t, r.Configs, 1)
	require.Contains(t, string(r.Configs[0].Text), "endpoint: orders/{order.id}/lines")
	require.Equal(t, importer.Approximate, r.Report.Streams[0].Grade)
	require.Contains(t, r.Report.Streams[0].Notes[0].Text, "the first page of a child is requested")
}
