package engine_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/explain"
	"github.com/stopwhen/stopwhen/fixtures"
	"github.com/stopwhen/stopwhen/rules/yaml"
)

// A readConfig is the configuration of a case, with placeholders for the environment, and for the address of the server.
type readConfig struct {
	name, file string
	text       []byte
	options    []engine.Option
	jobs       []string
	explained  *explain.Explanation
}

// readConfigs has the configurations of all cases that can be compiled.
var readConfigs = sync.OnceValues(func() (read []readConfig, err error) {
	cases, err := fixtures.All()
	for _, c := range cases {
		options := []engine.Option{engine.WithPlaceholders(), engine.WithFormat(".yaml", yaml.Parse), engine.WithFormat(".yml", yaml.Parse)}
		text := []byte(strings.ReplaceAll(string(c.Config), "{base}", "https://api.example.com"))
		if e, err := engine.Load(c.ConfigName, text, options...); err == nil {
			read = append(read, readConfig{c.Name, c.ConfigName, text, options, e.Jobs(), e.Explain()})
		}
	}
	return read, err
})

func allConfigs(t *testing.T) []readConfig {
	t.Helper()
	read, err := readConfigs()
	require.NoError(t, err)
	require.Greater(t, len(read), 400)
	return read
}

func TestNoConfigurationDiffersFromItself(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs every case in one goroutine, as other tests do")
	for _, c := range allConfigs(t) {
		again, err := engine.Load(c.file, append([]byte("\n\n"), c.text...), c.options...)
		require.NoError(t, err, c.name)
		d := explain.Diff(c.explained, again.Explain())
		require.True(t, d.Same, "%s: %s", c.name, d)
		require.Equal(t, c.jobs, d.Unchanged, c.name)
	}
}

// TestTheDifferenceOfEveryTwoCasesHasItsForm compares each configuration with that of the next
// case, both ways: the JSON is as the schema says, the text fits its width, and what one way is
// added is removed the other way.
func TestTheDifferenceOfEveryTwoCasesHasItsForm(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs every case in one goroutine, as other tests do")
	text, err := json.Marshal(explain.DifferenceSchema())
	require.NoError(t, err)
	schema := strictSchema(t, text)
	var last *explain.Explanation
	for _, c := range allConfigs(t) {
		name, next := c.name, c.explained
		if last != nil {
			there, back := explain.Diff(last, next), explain.Diff(next, last)
			requireValid(t, schema, there)
			for _, width := range []int{60, 120} {
				requireWidth(t, there.Text(explain.TextOptions{Width: width}), width)
			}
			require.Equal(t, there.Same, back.Same, name)
			require.Equal(t, kinds(there, explain.Added), kinds(back, explain.Removed), name)
			require.Equal(t, kinds(there, explain.Changed), kinds(back, explain.Changed), name)
		}
		last = next
	}
}

// kinds counts the jobs and the changes of a kind.
func kinds(d *explain.Difference, kind explain.ChangeKind) int {
	n := 0
	count := func(changes []explain.Change) {
		for _, c := range changes {
			if c.Change == kind {
				n++
			}
		}
	}
	count(d.Changes)
	for _, x := range d.Jobs {
		if x.Change == kind {
			n++
		}
		count(x.Changes)
	}
	return n
}

func requireValid(t *testing.T, schema *jsonschema.Schema, v any) {
	t.Helper()
	text, err := json.Marshal(v)
	require.NoError(t, err)
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	require.NoError(t, err)
	require.NoError(t, schema.Validate(document))
}

// requireWidth requires lines that are longer than the width to be one word.
func requireWidth(t *testing.T, text string, width int) {
	t.Helper()
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		bare := strings.TrimLeft(line, " -+~=")
		if utf8.RuneCountInString(line) > width {
			require.NotContains(t, bare, " ", "%d columns", width)
		}
	}
}

// strictSchema compiles a schema that refuses unknown keys.
func strictSchema(t *testing.T, text []byte) *jsonschema.Schema {
	t.Helper()
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	require.NoError(t, err)
	if definitions, ok := parsed.(map[string]any)["definitions"].(map[string]any); ok {
		for _, definition := range definitions {
			definition.(map[string]any)["additionalProperties"] = false
		}
	}
	compiler := jsonschema.NewCompiler()
	require.NoError(t, compiler.AddResource("schema.json", parsed))
	schema, err := compiler.Compile("schema.json")
	require.NoError(t, err)
	return schema
}

// TestEveryChangeOfAConfigurationIsADifference changes one value at a time. If the
// configuration still loads, the difference must say so, unless no run depends on the value.
func TestEveryChangeOfAConfigurationIsADifference(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs every case in one goroutine, as other tests do")
	without := []string{"$schema", "tests", "doc", "outputBucket"}
	changed := 0
	try := func(name string, config any, options ...engine.Option) {
		load := func() (*engine.Engine, error) {
			text, err := json.Marshal(config)
			require.NoError(t, err)
			return engine.Load("c.json", text, options...)
		}
		one, err := load()
		require.NoError(t, err, name)
		a := one.Explain()
		visit(config, nil, func(object map[string]any, key string, path []string) {
			if slices.ContainsFunc(path, func(key string) bool { return slices.Contains(without, key) }) {
				return
			}
			if !mutate(object, key) {
				return
			}
			two, err := load()
			if err != nil {
				return
			}
			changed++
			d := explain.Diff(a, two.Explain())
			require.False(t, d.Same, "%s: %s %v", name, strings.Join(path, "."), object[key])
			require.NotContains(t, d.String(), "No difference")
		})
	}
	try("everything", everything(t), engine.WithPlaceholders())
	for _, c := range allConfigs(t) {
		if c.file == "config.json" && strings.HasPrefix(c.name, "cookbook/") {
			var config any
			require.NoError(t, json.Unmarshal(c.text, &config))
			try(c.name, config, c.options...)
		}
	}
	require.Greater(t, changed, 300)
}

// TestTheDifferenceNamesWhatHasChanged changes one thing in a configuration that has something
// of everything, and requires the change to be told under its name, with both sides.
func TestTheDifferenceNamesWhatHasChanged(t *testing.T) {
	const before = `{
		"api": {"baseUrl": "https://x.example/", "http": {"maxRetries": 3, "requestsPerSecond": 5},
			"authentication": {"type": "bearer", "#token": {"env": "A"}},
			"pagination": {"method": "offset", "limit": 10, "guards": {"samePage": "fail"},
				"onError": [{"when": "status == 404", "do": "stop"}], "keep": {"since": "now()"}, "forceStop": {"pages": 9}}},
		"config": {"jobs": [{"id": "a", "endpoint": "a", "dataField": "data", "filter": "item.n > 0", "fields": {"x": "item.y"},
			"for": {"w": {"values": [1, 2]}}, "params": {"w": {"expr": "w"}}}]}}`
	for _, c := range []struct{ was, is, part, a, b string }{
		{`"maxRetries": 3`, `"maxRetries": 4`, "retries", "3", "4"},
		{`"requestsPerSecond": 5`, `"requestsPerSecond": 1`, "pace", "at most 5 requests per second, all jobs together",
			"at most one request per second, all jobs together"},
		{`"bearer", "#token": {"env": "A"}`, `"query", "name": "k", "#value": {"env": "A"}`, "credentials", "bearer", "query"},
		{`"limit": 10`, `"limit": 20`, "page size", "10", "20"},
		{`"samePage": "fail"`, `"samePage": "stop"`, "safety", "samePage and not emptyWindow", "samePage and not emptyWindow"},
		{`status == 404`, `status == 410`, "error responses", "status == 404", "status == 410"},
		{`"do": "stop"`, `"do": "retry"`, "error responses", "status == 404", "status == 404"},
		{`now()`, `items[-1].t`, "saved for the next run", "now()", "items[-1].t"},
		{`"pages": 9`, `"pages": 8`, "cut-offs", "total.pages >= 9", "total.pages >= 8"},
		{`"dataField": "data"`, `"dataField": "d.e"`, "items", "at data of the response", "at d.e of the response"},
		{`item.n > 0`, `item.n > 1`, "each item", "item.n > 0", "item.n > 1"},
		{`item.y`, `item.z`, "each item", "item.y", "item.z"},
		{`[1, 2]`, `[1, 3]`, "partitions", "[1,2]", "[1,3]"},
		{`"endpoint": "a"`, `"endpoint": "b"`, "first request", "GET https://x.example/a?w={w}&limit=10&offset=0",
			"GET https://x.example/b?w={w}&limit=10&offset=0"},
		{`"endpoint": "a"`, `"endpoint": "a", "emit": false`, "written", "yes", "no: the items are for other jobs only"},
		{`"expr": "w"`, `"expr": "w + 1"`, "computed once", "w", "w + 1"},
		{`"method": "offset"`, `"method": "pagenum"`, "paging", "method offset", "method pagenum"},
	} {
		t.Run(c.part+": "+c.is, func(t *testing.T) {
			var x [2]*explain.Explanation
			for i, text := range []string{before, strings.Replace(before, c.was, c.is, 1)} {
				e, err := engine.Load("c.json", []byte(text), engine.WithPlaceholders())
				require.NoError(t, err)
				x[i] = e.Explain()
			}
			d := explain.Diff(x[0], x[1])
			all := slices.Clone(d.Changes)
			for _, job := range d.Jobs {
				all = append(all, job.Changes...)
			}
			told := slices.ContainsFunc(all, func(change explain.Change) bool {
				return change.Part == c.part && change.A != nil && change.B != nil && change.A.Text == c.a && change.B.Text == c.b
			})
			require.True(t, told, "%s", d)
		})
	}
}
