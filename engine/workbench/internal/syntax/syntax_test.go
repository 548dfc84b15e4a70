package syntax

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/fixtures"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/rules/yaml"
)

// texts returns configurations in JSON and YAML: those of the cases as they are and written as YAML, and those of
// the guide.
func texts(t testing.TB) map[string]string {
	t.Helper()
	all := map[string]string{}
	cases, err := fixtures.All()
	require.NoError(t, err)
	for _, c := range cases {
		text := strings.ReplaceAll(string(c.Config), "{base}", "http://localhost")
		all[c.Name] = text
		root, err := yaml.ParseByContent(diag.NewSource("", text))
		if err != nil {
			continue
		}
		if formatted, err := yaml.Format(root); err == nil {
			all[c.Name+".yaml"] = string(formatted)
		}
		if formatted, err := (yaml.Layout{Line: 80}).Format(root); err == nil {
			all[c.Name+".laidout.yaml"] = string(formatted)
		}
	}
	block := regexp.MustCompile("(?s)```(?:yaml|json)\n(.*?)```")
	pages, err := filepath.Glob("../../../../docs/guide/*.md")
	require.NoError(t, err)
	for _, page := range pages {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for i, m := range block.FindAllStringSubmatch(string(text), -1) {
			all[fmt.Sprint(filepath.Base(page), i)] = m[1]
		}
	}
	all["written by hand"] = byHand
	return all
}

// byHand has what the others lack.
const byHand = `# a comment
%YAML 1.2
---
"quoted key": 'it''s' # a comment
plain: a:b#c
"a\"b": "\u00e4\ud83d\ude00\
  x"
folded: two
  lines

  and more
shared: &shared {limit: 10, 'x': [a, "b"]}
use: *shared
merged:
  <<: [*shared]
  limit: 3
list:
- a
-   b: 1
    c: 2
- - nested
  - {d: e}
-
  f: g
literal: |
  first
    second

  third
kept: |+
  x

stripped: >-
  one
  two

  three
empty:
? complex
: 1
tagged: !!str 12
after: &anchor
  k: v
`

// TestATreeHasTheValuesAndPlacesOfTheParsers compares the trees of texts without mistakes with what the
// parsers read.
func TestATreeHasTheValuesAndPlacesOfTheParsers(t *testing.T) {
	compared := 0
	for name, text := range texts(t) {
		source := diag.NewSource(name, text)
		want, err := yaml.ParseByContent(source)
		if _, isObject := value.Members(want); err != nil || !isObject {
			continue
		}
		t.Run(name, func(t *testing.T) {
			root := Parse(text)
			require.JSONEq(t, jsonOf(t, want), jsonOf(t, root.Value()), text)
			root.Each(func(n *Node) {
				path := n.Path()
				if !source.Has(path) || root.At(n.Steps()...) != n {
					return
				}
				if n.Kind != Missing {
					require.Equal(t, source.ValueAt(path), n.Start, "%s in\n%s", path, text)
				}
				if n.KeyStart >= 0 && n.Name != "complex" { // the parser means the question mark
					require.Equal(t, source.KeyAt(path), n.KeyStart, "%s in\n%s", path, text)
				}
			})
		})
		compared++
	}
	require.Greater(t, compared, 700)
}

func jsonOf(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(normal(v))
	require.NoError(t, err)
	return string(text)
}

// normal returns a value in which numbers that are spelled differently are equal.
func normal(v any) any {
	switch v := v.(type) {
	case rules.Object:
		o := map[string]any{}
		for _, m := range v {
			o[m.Name] = normal(m.Value)
		}
		return o
	case []any:
		list := []any{}
		for _, e := range v {
			list = append(list, normal(e))
		}
		return list
	case nil, bool, string:
		return v
	}
	if text, ok := value.Text(v); ok {
		var f float64
		if _, err := fmt.Sscan(text, &f); err == nil {
			return f
		}
	}
	return v
}

// TestATextThatIsBeingWrittenHasATree parses the beginnings of texts, and texts without a part.
func TestATextThatIsBeingWrittenHasATree(t *testing.T) {
	all := texts(t)
	for _, name := range []string{"demo/orders", "demo/orders.yaml", "written by hand"} {
		for i := 0; i < len(all[name]); i += 3 {
			requireConsistent(t, all[name][:i])
			requireConsistent(t, all[name][:i]+all[name][min(i+7, len(all[name])):])
		}
	}
}

// requireConsistent requires the places of a tree to be in the text and in each other.
func requireConsistent(t *testing.T, text string) {
	t.Helper()
	root := Parse(text)
	root.Value()
	root.Each(func(n *Node) {
		require.True(t, 0 <= n.Start && n.Start <= n.End && n.End <= len(text), "%+v in %q", n, text)
		require.True(t, n.KeyStart == -1 || 0 <= n.KeyStart && n.KeyStart <= n.KeyEnd && n.KeyEnd <= len(text), "%+v in %q", n, text)
		for i := 0; i <= len(n.Text); i++ {
			at := n.Source(i)
			require.True(t, at >= 0 && at <= len(text), "%+v in %q", n, text)
		}
		require.Equal(t, n.Parent == nil, n == root)
		if n.Kind == Scalar || n.Kind == Missing || n.Kind == Alias {
			require.Empty(t, n.Inner)
		}
	})
}

func TestAKeyWithoutItsValueDoesNotTakeTheNextOne(t *testing.T) {
	for name, text := range map[string]string{
		"JSON": "{\"api\": {\"baseUrl\": \n  \"name\": \"x\"}, \"config\": {\"jobs\": [{\"endpoint\": }]}}",
		"open": "{\"api\": {\"baseUrl\":, \"name\": \"x\"}, \"config\": {\"jobs\": [{\"endpoint\":",
		"YAML": "api:\n  baseUrl:\n  name: x\nconfig:\n  jobs:\n  - endpoint:\n",
	} {
		t.Run(name, func(t *testing.T) {
			root := Parse(text)
			require.Equal(t, Missing, root.At("api", "baseUrl").Kind)
			require.Equal(t, "x", root.At("api", "name").Text)
			require.Equal(t, Missing, root.At("config", "jobs", "0", "endpoint").Kind)
		})
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range texts(f) {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 1<<14 {
			return
		}
		requireConsistent(t, text)
	})
}
