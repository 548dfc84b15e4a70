package engine_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/rules/yaml"
)

// readConfigs returns the configurations of all cases that can be compiled, by name: with
// placeholders for the environment, and for the address of the server.
func readConfigs(t *testing.T, visit func(name, file string, text []byte, options []engine.Option)) {
	t.Helper()
	read := 0
	for _, c := range allCases(t) {
		options := []engine.Option{engine.WithPlaceholders(), engine.WithFormat(".yaml", yaml.Parse), engine.WithFormat(".yml", yaml.Parse)}
		if i := slices.Index(c.Args, "--dialect"); i >= 0 {
			options = append(options, engine.WithDialect(c.Args[i+1]))
		}
		text := []byte(strings.ReplaceAll(string(c.Config), "{base}", "https://api.example.com"))
		if _, err := engine.Load(c.ConfigName, text, options...); err == nil {
			read++
			visit(c.Name, c.ConfigName, text, options)
		}
	}
	require.Greater(t, read, 400)
}

func TestNoConfigurationDiffersFromItself(t *testing.T) {
	readConfigs(t, func(name, file string, text []byte, options []engine.Option) {
		a, err := engine.Load(file, text, options...)
		require.NoError(t, err, name)
		b, err := engine.Load(file, append([]byte("\n\n"), text...), options...)
		require.NoError(t, err, name)
		d := compile.Diff(a.Explain(), b.Explain())
		require.True(t, d.Same, "%s: %s", name, d)
		require.Equal(t, a.Jobs(), d.Unchanged, name)
	})
}

// TestTheDifferenceOfEveryTwoCasesHasItsForm compares each configuration with that of the next
// case, both ways: the JSON is as the schema says, the text fits its width, and what one way is
// added is removed the other way.
func TestTheDifferenceOfEveryTwoCasesHasItsForm(t *testing.T) {
	text, err := json.Marshal(compile.DifferenceSchema())
	require.NoError(t, err)
	schema := strictSchema(t, text)
	var last *compile.Explanation
	readConfigs(t, func(name, file string, text []byte, options []engine.Option) {
		e, err := engine.Load(file, text, options...)
		require.NoError(t, err, name)
		next := e.Explain()
		if last != nil {
			there, back := compile.Diff(last, next), compile.Diff(next, last)
			requireValid(t, schema, there)
			for _, width := range []int{60, 120} {
				requireWidth(t, there.Text(compile.TextOptions{Width: width}), width)
			}
			require.Equal(t, there.Same, back.Same, name)
			require.Equal(t, kinds(there, compile.Added), kinds(back, compile.Removed), name)
			require.Equal(t, kinds(there, compile.Changed), kinds(back, compile.Changed), name)
		}
		last = next
	})
}

// kinds counts the jobs and the changes of a kind.
func kinds(d *compile.Difference, kind compile.ChangeKind) int {
	n := 0
	count := func(changes []compile.Change) {
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
			switch v := object[key].(type) {
			case string:
				object[key] = v + "1"
			case float64:
				object[key] = v + 1
			case bool:
				object[key] = !v
			default:
				return
			}
			two, err := load()
			if err != nil {
				return
			}
			changed++
			d := compile.Diff(a, two.Explain())
			require.False(t, d.Same, "%s: %s %v", name, strings.Join(path, "."), object[key])
			require.NotContains(t, d.String(), "No difference")
		})
	}
	try("everything", everything(t), engine.WithPlaceholders())
	readConfigs(t, func(name, file string, text []byte, options []engine.Option) {
		if config := any(nil); file == "config.json" && strings.HasPrefix(name, "cookbook/") {
			require.NoError(t, json.Unmarshal(text, &config))
			try(name, config, options...)
		}
	})
	require.Greater(t, changed, 300)
}
