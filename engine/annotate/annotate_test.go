package annotate_test

import (
	"encoding/json"
	"flag"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/annotate"
	"github.com/stopwhen/stopwhen/engine/explain"
	"github.com/stopwhen/stopwhen/fixtures"
	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/yaml"
)

var everyCase = flag.Bool("every-case", false, "annotate every case, instead of one in every few")

// configs calls f with the configuration of one case in every few that compile.
func configs(t *testing.T, every int, f func(t *testing.T, name string, text []byte, options []engine.Option)) {
	t.Helper()
	cases, err := fixtures.All()
	require.NoError(t, err)
	if *everyCase {
		every = 1
	}
	annotated := 0
	for i, c := range cases {
		if i%every != 0 {
			continue
		}
		options := []engine.Option{engine.WithPlaceholders(), engine.WithFormat(".yaml", yaml.Parse), engine.WithFormat(".yml", yaml.Parse)}
		text := []byte(strings.ReplaceAll(string(c.Config), "{base}", "https://api.example.com"))
		if _, err := engine.Load(c.ConfigName, text, options...); err != nil {
			continue
		}
		annotated++
		t.Run(c.Name, func(t *testing.T) { f(t, c.ConfigName, text, options) })
	}
	require.Greater(t, annotated*every, 400)
}

// forms returns the forms in which a configuration may be written, by the names of their files: as
// it is, in YAML, and in JSON whose name says that it is YAML, on few lines or with a key on each.
func forms(t *testing.T, name string, text []byte) map[string][]byte {
	t.Helper()
	out := map[string][]byte{name: text}
	root, err := yaml.Parse(diag.NewSource(name, string(text)))
	require.NoError(t, err)
	block, err := yaml.Format(root)
	require.NoError(t, err)
	out["block.yaml"] = block
	if json.Valid(text) {
		flow, err := json.MarshalIndent(json.RawMessage(text), "", "  ")
		require.NoError(t, err)
		out["flow.yaml"], out["line.yml"] = flow, text
	}
	return out
}

func annotated(t *testing.T, name string, text []byte, options []engine.Option) (*engine.Engine, []byte) {
	t.Helper()
	e, err := engine.Load(name, text, options...)
	require.NoError(t, err)
	out, _, err := annotate.YAML(annotate.Config{Name: name, Text: text, Explanation: e.Explain(), Redact: e.Redactor().Text})
	require.NoError(t, err)
	return e, out
}

// TestAnnotatedConfigurationsCompileToTheSameRules is the promise of the package: nothing but
// the values of secrets changes.
func TestAnnotatedConfigurationsCompileToTheSameRules(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs one case after another, as other tests do")
	others := []string{"block.yaml", "flow.yaml", "line.yml"}
	configs(t, 4, func(t *testing.T, name string, text []byte, options []engine.Option) {
		all := forms(t, name, text)
		others = append(others[1:], others[0]) // each case in one other form
		for _, name := range []string{name, others[0]} {
			text, ok := all[name]
			if !ok { // it is YAML
				continue
			}
			before, out := annotated(t, name, text, options)
			after, err := engine.Load("annotated.yaml", out, options...)
			require.NoError(t, err, "%s\n%s", name, out)
			requireSame(t, before.Explain(), after.Explain(), string(out))
			require.Contains(t, string(out), yaml.Mark)

		}
	})
}

// TestAnnotatingAgainReplacesTheComments annotates what was annotated: the second time there is
// no secret to leave out any more, and after that nothing changes.
func TestAnnotatingAgainReplacesTheComments(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs one case after another, as other tests do")
	configs(t, 8, func(t *testing.T, name string, text []byte, options []engine.Option) {
		_, once := annotated(t, name, text, options)
		_, twice := annotated(t, "c.yaml", once, options)
		_, thrice := annotated(t, "c.yaml", twice, options)
		require.Equal(t, string(twice), string(thrice))
		if !strings.Contains(string(once), "Values of secrets are left out") {
			require.Equal(t, string(once), string(twice))
		}
	})
}

// requireSame compares two configurations, apart from the values of secrets.
func requireSame(t *testing.T, a, b *explain.Explanation, text string) {
	t.Helper()
	secret := func(c explain.Change) bool { return c.Hidden || c.Part == "environment variables" }
	d := explain.Diff(a, b)
	d.Changes = slices.DeleteFunc(d.Changes, secret)
	for _, x := range d.Jobs {
		require.Empty(t, slices.DeleteFunc(x.Changes, secret), text)
	}
	require.Empty(t, d.Changes, text)
}

// TestSecretsAreLeftOutWhereverTheyAre leaves out every secret, and what is left loads.
func TestSecretsAreLeftOutWhereverTheyAre(t *testing.T) {
	text := []byte(`
api:
  baseUrl: https://x.example/?
  http: {headers: {"#X-Key": topsecret1}}
  authentication: {type: basic, username: me, "#password": 'topsecret2'}
config:
  jobs:
    - endpoint: users?api_key=topsecret3
      params: {"#again": topsecret1, "#number": 123456789}
inputs:
  tenant: {secret: true, default: topsecret4} # not topsecret4
tests:
  - name: topsecret1
    pages: [{body: [{"id": 1, "key": "topsecret1"}]}]
    expect: {items: 1}
`)
	e, err := engine.Load("c.yaml", text, engine.WithFormat(".yaml", yaml.Parse))
	require.NoError(t, err)
	out, names, err := annotate.YAML(annotate.Config{Name: "c.yaml", Text: text, Explanation: e.Explain(), Redact: e.Redactor().Text})
	require.NoError(t, err)
	require.NotContains(t, string(out), "topsecret")
	require.NotContains(t, string(out), "123456789")
	require.ElementsMatch(t, []string{"HEADERS_X_KEY", "AUTHENTICATION_PASSWORD", "PARAMS_NUMBER", "TENANT_DEFAULT"}, names)
	require.Contains(t, string(out), `params: {"#again": {env: HEADERS_X_KEY}, "#number": {env: PARAMS_NUMBER}}`)
	require.Contains(t, string(out), "# not ***\n")
	_, err = engine.Load("c.yaml", out, engine.WithFormat(".yaml", yaml.Parse), engine.WithPlaceholders())
	require.NoError(t, err)
}

// TestAnnotatedYAMLKeepsItsOwnLines removes the added lines and compares the rest.
func TestAnnotatedYAMLKeepsItsOwnLines(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs a single goroutine")
	configs(t, 4, func(t *testing.T, name string, text []byte, options []engine.Option) {
		block := append([]byte("# My own comment.\n\n"), forms(t, name, text)["block.yaml"]...)
		block = append(block, "# The end.\n"...)
		e, err := engine.Load("own.yaml", block, options...)
		require.NoError(t, err)
		_, out := annotated(t, "own.yaml", block, options)
		var own []string
		for line := range strings.Lines(string(out)) {
			if !strings.HasPrefix(strings.TrimSpace(line), yaml.Mark) {
				own = append(own, line)
			}
		}
		if text := string(block); e.Redactor().Text(text) == text {
			require.Equal(t, text, strings.Join(own, ""))
		}
	})
}

// TestAnExpressionIsNotRepeated leaves out what the configuration has at a key, whatever the name
// of the key is.
func TestAnExpressionIsNotRepeated(t *testing.T) {
	for _, key := range []string{"since", "created[gte]", "filter.since"} {
		text := []byte(`{"api": {"baseUrl": "https://api.test/"}, "config": {"jobs": [
			{"endpoint": "users", "params": {"` + key + `": {"expr": "upper('abc')"}}}]}}`)
		_, out := annotated(t, "users.json", text, nil)
		require.Equal(t, 1, strings.Count(string(out), "upper('abc')"), "%s", out)
	}
}
