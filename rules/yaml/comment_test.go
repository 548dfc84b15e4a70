package yaml_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/fixtures"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/rules/yaml"
)

func TestAnnotatePlacesComments(t *testing.T) {
	one := func(path, text string) []yaml.Comment { return []yaml.Comment{{Path: path, Text: text}} }
	last := func(path, text string) []yaml.Comment { return []yaml.Comment{{Path: path, Text: text, Last: true}} }
	for _, c := range []struct {
		name, text string
		comments   []yaml.Comment
		want       string
	}{
		{"above a key", "a: 1\nb: 2\n", one("b", "x"), "a: 1\n#: x\nb: 2\n"},
		{"indented as the key", "a:\n  b: 2\n", one("a.b", "x"), "a:\n  #: x\n  b: 2\n"},
		{"above the dash of an element", "a:\n  - b: 1\n    c: 2\n", one("a[0]", "x"), "a:\n  #: x\n  - b: 1\n    c: 2\n"},
		{"of the first key of an element", "- b: 1\n", one("[0].b", "x"), "#: x\n- b: 1\n"},
		{"in one line with the outer key", "a: {b: 1}\n", one("a.b", "x"), "#: b: x\na: {b: 1}\n"},
		{"of an element on one line", "a: [1, 2]\n", one("a[1]", "x"), "#: a[1]: x\na: [1, 2]\n"},
		{"of a flow object with a key on each line", "a: {\n  b: 1,\n  c: 2}\n", one("a.c", "x"), "a: {\n  b: 1,\n  #: x\n  c: 2}\n"},
		{"of a key that is not written", "a:\n  b: 1\n", one("a.c", "x"), "#: c: x\na:\n  b: 1\n"},
		{"of nothing that is written", "b: 1\n", one("a.c", "x"), "#: a.c: x\nb: 1\n"},
		{"of the text", "b: 1\n", one("", "x"), "#: x\nb: 1\n"},
		{"of the text, after its byte order mark", "\ufeffb: 1\n", one("", "x"), "\ufeff#: x\nb: 1\n"},
		{"of the text, before its directive", "%YAML 1.2\n---\nb: 1\n", one("", "x"), "#: x\n%YAML 1.2\n---\nb: 1\n"},
		{"at the end of an object", "a:\n  b: 1\nc: 2\n", last("a", "x"), "a:\n  b: 1\n  #: x\nc: 2\n"},
		{"at the end of the text", "a: 1\n", last("", "x"), "a: 1\n#: x\n"},
		{"at the end of a text without a line end", "a: 1", last("", "x"), "a: 1\n#: x\n"},
		{"at the end, before the end of the document", "a: 1\n...\n", last("", "x"), "a: 1\n#: x\n...\n"},
		{"at the end of an element", "- a: 1\n- a: 2\n", last("[0]", "x"), "- a: 1\n  #: x\n- a: 2\n"},
		{"after a literal text", "a:\n  b: |\n    # no comment\nc: 1\n", last("a", "x"), "a:\n  b: |\n    # no comment\n  #: x\nc: 1\n"},
		{"before the comment of the next key", "a:\n  b: 1\n# own\nc: 1\n", last("a", "x"), "a:\n  b: 1\n  #: x\n# own\nc: 1\n"},
		{"at the end of an object on one line", "a: {b: 1}\n", last("a", "x"), "#: x\na: {b: 1}\n"},
		{"of an alias, whose text is elsewhere", "a: &x\n  b: 1\nc: *x\n", one("c.b", "y"), "a: &x\n  b: 1\n#: b: y\nc: *x\n"},
		{"wrapped", "a: 1\n", one("a", "one two three four"), "#: one two\n#:   three four\na: 1\n"},
		{"on one line, whatever is in it", "a: 1\n", one("a", "one\ntwo"), "#: one two\na: 1\n"},
		{"instead of earlier ones", "#: old\na: 1\n#: older\n", one("a", "x"), "#: x\na: 1\n"},
		{"next to what looks like earlier ones", "a: |\n  #: text\n", one("a", "x"), "#: x\na: |\n  #: text\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := yaml.Annotate(c.text, c.comments, 16)
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
}

func TestAnnotateReportsWhatIsNotYAML(t *testing.T) {
	_, err := yaml.Annotate("a: [", nil, 80)
	require.ErrorContains(t, err, "not valid YAML")
}

func TestAnnotateRefusesAResultThatIsTooLarge(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs a single goroutine")
	text := "a: " + strings.Repeat("x", rules.MaxConfigBytes-4) + "\n"
	_, err := yaml.Annotate(text, nil, 80)
	require.NoError(t, err)
	_, err = yaml.Annotate(text, []yaml.Comment{{Text: "x"}}, 80)
	require.ErrorIs(t, err, yaml.ErrTooLarge)
}

func TestReplaceLeavesAllElse(t *testing.T) {
	for _, c := range []struct{ name, text, path, want string }{
		{"plain", "a: secret # why\n", "a", "a: {env: A} # why\n"},
		{"plain, with spaces", "a: Bearer x y\nb: 1\n", "a", "a: {env: A}\nb: 1\n"},
		{"a number", "a: 12345\n", "a", "a: {env: A}\n"},
		{"in flow", "{a: secret, b: 1}\n", "a", "{a: {env: A}, b: 1}\n"},
		{"in a list", "a: [x, secret]\n", "a[1]", "a: [x, {env: A}]\n"},
		{"double quotes", `a: "se\"cret" # why` + "\n", "a", "a: {env: A} # why\n"},
		{"single quotes", "a: 'se''cret'\n", "a", "a: {env: A}\n"},
		{"several lines", "a: |\n  one\n\n  two\nb: 1\n", "a", "a: {env: A}\nb: 1\n"},
		{"an element of several lines", "- >-\n  one\n  two\n- b\n", "[0]", "- {env: A}\n- b\n"},
		{"the last value", "a: secret", "a", "a: {env: A}"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := yaml.Replace(c.text, map[string]string{c.path: "{env: A}"})
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
	_, err := yaml.Replace("a: 1\n", map[string]string{"b": "2"})
	require.ErrorContains(t, err, "b: cannot tell where the value ends")
	_, err = yaml.Replace("{a: x y, b: 1}\n", map[string]string{"a": "2"})
	require.ErrorContains(t, err, "a: cannot tell where the value ends; write it in quotes")
}

func TestFormatWritesWhatParseReads(t *testing.T) {
	for _, c := range []struct {
		name string
		v    any
		want string
	}{
		{"an object", rules.Object{{Name: "b", Value: 1}, {Name: "a", Value: "x"}}, "b: 1\na: x\n"},
		{"texts that look like other values", []any{"yes", "null", "1", "0x1f", "1e3", "~", ""},
			`["yes", "null", "1", "0x1f", "1e3", "~", ""]` + "\n"},
		{"several lines", rules.Object{{Name: "a", Value: "one\ntwo\n"}}, "a: |\n  one\n  two\n"},
		{"nothing", rules.Object{{Name: "a", Value: rules.Object{}}, {Name: "b", Value: []any{}}, {Name: "c", Value: nil}},
			"a: {}\nb: []\nc: null\n"},
		{"a float that is whole", 100.0, "100\n"},
		{"floats", []any{1.5, 1e21, 1e-7, rules.Object{}, json.Number("1.50")}, "- 1.5\n- 1e+21\n- 1e-07\n- {}\n- 1.50\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := yaml.Format(c.v)
			require.NoError(t, err)
			require.Equal(t, c.want, string(got))
		})
	}
}

// paths calls f with the path of every value.
func paths(path string, v any, f func(path string)) {
	f(path)
	if members, ok := value.Members(v); ok {
		for _, m := range members {
			paths(diag.Join(path, m.Name), m.Value, f)
		}
	}
	if list, ok := v.([]any); ok {
		for i, e := range list {
			paths(diag.Index(path, i), e, f)
		}
	}
}

// FuzzAnnotate requires comments at every place of any text to change none of its values, and
// what is formatted to be read as it was.
func FuzzAnnotate(f *testing.F) {
	for _, seed := range []string{
		"a: 1\n", "a:\n- b: |\n    # x\n\n  c: [1,\n 2]\n", "{\"a\": {\"b\": \"x\ty\"}}", "? a\n: b\n", "a: &x {b: 1}\nc: *x\n",
		"a: >+\n  x\n\n\nb: 'x\n\n  y'\n",
		"%YAML 1.2\n---\n# c\n- - a\n  - b\n...\n", "a: x\n  y\nb: {c: 1,\n d: \"e\n f\"}\n", "\"a.b\": 1\r\nc:\r\n  d: 2\r\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		before, err := yaml.Parse(diag.NewSource("", text))
		if err != nil || len(text) > 1000 {
			return
		}
		var comments []yaml.Comment
		paths("", before, func(path string) {
			comments = append(comments, yaml.Comment{Path: path, Text: "x: " + path}, yaml.Comment{Path: path, Text: "last", Last: true})
		})
		out, err := yaml.Annotate(text, comments, 60)
		if err != nil {
			return // it is refused, and not changed
		}
		after, err := yaml.Parse(diag.NewSource("", out))
		require.NoError(t, err, out)
		require.True(t, reflect.DeepEqual(before, after), out)
		again, err := yaml.Annotate(out, comments, 60)
		require.NoError(t, err)
		require.Equal(t, strings.Count(out, yaml.Mark), strings.Count(again, yaml.Mark), out)
		formatted, err := yaml.Format(before)
		if err == nil {
			back, err := yaml.Parse(diag.NewSource("", string(formatted)))
			require.NoError(t, err)
			require.Equal(t, before, back)
		}
	})
}
