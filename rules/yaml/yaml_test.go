package yaml_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/yaml"
)

func parse(t *testing.T, text string) (any, *diag.Source) {
	t.Helper()
	source := diag.NewSource("config.yaml", text)
	v, err := yaml.Parse(source)
	require.NoError(t, err)
	return v, source
}

func TestScalarsFollowTheCoreSchema(t *testing.T) {
	for text, want := range map[string]any{
		`yes`: "yes", `no`: "no", `on`: "on", `Off`: "Off", `y`: "y", `TrUe`: "TrUe",
		`true`: true, `True`: true, `FALSE`: false,
		`null`: nil, `~`: nil, ``: nil, `Null`: nil, `nil`: "nil",
		`0`: 0, `-0`: 0, `12`: 12, `+12`: 12, `-12`: -12, `0123`: 123, `0o17`: 15, `0x1F`: 31,
		`1_000`: "1_000", `0b1`: "0b1", `0O17`: "0O17", `-0x1F`: "-0x1F", `1,5`: "1,5", `190:20:30`: "190:20:30",
		`9223372036854775807`:     9223372036854775807,
		`9223372036854775808`:     json.Number("9223372036854775808"),
		`-123456789012345678901`:  json.Number("-123456789012345678901"),
		`+0123456789012345678901`: json.Number("123456789012345678901"),
		`0xFFFFFFFFFFFFFFFFFF`:    json.Number("4722366482869645213695"),
		`1.5`:                     1.5,
		`1.`:                      1.0,
		`.5`:                      0.5,
		`-1e3`:                    -1000.0,
		`1E5`:                     100000.0,
		`1e999`:                   json.Number("1e999"),
		`.`:                       ".",
		`1e`:                      "1e",
		`1.2.3`:                   "1.2.3",
		`2026-01-01`:              "2026-01-01",
		`2026-01-01T10:00:00Z`:    "2026-01-01T10:00:00Z",
		`10 minutes`:              "10 minutes",
		`body.a[0] == "x"`:        `body.a[0] == "x"`,
		`count < limit`:           `count < limit`,
		`"yes"`:                   "yes",
		`"12"`:                    "12",
		`'12'`:                    "12",
		`''`:                      "",
		`""`:                      "",
		`'it''s'`:                 "it's",
		`"a\tb\"\\\u00e9"`:        "a\tb\"\\é",
		`"\ud83d\ude00"`:          "😀",
		`http://x.test/a?b=c`:     "http://x.test/a?b=c",
		`"@odata\\.nextLink"`:     `@odata\.nextLink`,
		`!!str 12`:                "12",
		`!!str yes`:               "yes",
		`!!str "12"`:              "12",
		`!!int 12`:                12,
		`!!float 12`:              12,
		`!!bool true`:             true,
		`!!null ~`:                nil,
		`!!seq [1]`:               []any{1},
		`!!map {a: 1}`:            rules.Object{{Name: "a", Value: 1}},
		`&x !!str 12`:             "12",
	} {
		t.Run(text, func(t *testing.T) {
			v, _ := parse(t, "k: "+text+"\n")
			require.Equal(t, rules.Object{{Name: "k", Value: want}}, v)
			v, _ = parse(t, "- "+text)
			require.Equal(t, []any{want}, v)
			v, _ = parse(t, "a: 1\r\nk: "+text+"\r\nz: 1\r\n")
			require.Equal(t, rules.Object{{Name: "a", Value: 1}, {Name: "k", Value: want}, {Name: "z", Value: 1}}, v)
		})
	}
}

func TestStructuresKeepTheirOrder(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want any
	}{
		"empty text":       {"", nil},
		"comment alone":    {"# nothing\n", nil},
		"document header":  {"---\na: 1\n", rules.Object{{Name: "a", Value: 1}}},
		"document end":     {"a: 1\n...\n", rules.Object{{Name: "a", Value: 1}}},
		"version":          {"%YAML 1.2\n---\na: 1\n", rules.Object{{Name: "a", Value: 1}}},
		"byte order mark":  {"\ufeffa: 1\n", rules.Object{{Name: "a", Value: 1}}},
		"scalar root":      {"text", "text"},
		"order of keys":    {"z: 1\na: 2\nm: 3\n", rules.Object{{Name: "z", Value: 1}, {Name: "a", Value: 2}, {Name: "m", Value: 3}}},
		"numbers as keys":  {"200: a\n1.50: b\n", rules.Object{{Name: "200", Value: "a"}, {Name: "1.50", Value: "b"}}},
		"quoted keys":      {"\"true\": 1\n'null': 2\n", rules.Object{{Name: "true", Value: 1}, {Name: "null", Value: 2}}},
		"explicit key":     {"? a\n: 1\n", rules.Object{{Name: "a", Value: 1}}},
		"flow":             {"{a: [1, {b: c}], d: {}, e: []}", rules.Object{{Name: "a", Value: []any{1, rules.Object{{Name: "b", Value: "c"}}}}, {Name: "d", Value: rules.Object{}}, {Name: "e", Value: []any{}}}},
		"JSON":             {`{"a": [1, {"b": "c"}], "d": null}`, rules.Object{{Name: "a", Value: []any{1, rules.Object{{Name: "b", Value: "c"}}}}, {Name: "d", Value: nil}}},
		"list of objects":  {"- a: 1\n  b: 2\n-\n  - 3\n-\n", []any{rules.Object{{Name: "a", Value: 1}, {Name: "b", Value: 2}}, []any{3}, nil}},
		"literal block":    {"a: |\n  x\n  y\nb: 1\n", rules.Object{{Name: "a", Value: "x\ny\n"}, {Name: "b", Value: 1}}},
		"folded block":     {"a: >-\n  x\n  y\nb: 1\n", rules.Object{{Name: "a", Value: "x y"}, {Name: "b", Value: 1}}},
		"wrapped plain":    {"a: x\n  y\nb: 1\n", rules.Object{{Name: "a", Value: "x y"}, {Name: "b", Value: 1}}},
		"number in block":  {"a: |-\n  12\n", rules.Object{{Name: "a", Value: "12"}}},
		"anchor and alias": {"a: &x {b: 1}\nc: *x\nd: [*x, *x]\n", rules.Object{{Name: "a", Value: rules.Object{{Name: "b", Value: 1}}}, {Name: "c", Value: rules.Object{{Name: "b", Value: 1}}}, {Name: "d", Value: []any{rules.Object{{Name: "b", Value: 1}}, rules.Object{{Name: "b", Value: 1}}}}}},
		"anchored scalar":  {"a: &x 5\nb: *x\n", rules.Object{{Name: "a", Value: 5}, {Name: "b", Value: 5}}},
		"anchor set anew":  {"a: &x 5\nb: *x\nc: &x 6\nd: *x\n", rules.Object{{Name: "a", Value: 5}, {Name: "b", Value: 5}, {Name: "c", Value: 6}, {Name: "d", Value: 6}}},
	} {
		t.Run(name, func(t *testing.T) {
			v, _ := parse(t, c.text)
			require.Equal(t, c.want, v)
		})
	}
}

// The mark » stands before the value and « before the key of the path.
func TestPositionsAreByteOffsets(t *testing.T) {
	for name, c := range map[string]struct{ path, text string }{
		"first value":              {"a", "«a: »1\nb: 2\n"},
		"last value":               {"b", "a: 1\n«b: »2\n"},
		"last value, no newline":   {"b", "a: 1\n«b: »2"},
		"spaces at the end":        {"b", "a: 1\n«b:   »2   \n"},
		"after a long character":   {"b", "a: 'é😀ü'\n«b: »2\n"},
		"same line, characters":    {"b", "{ä: 'é😀', «b: »2}\n"},
		"long character in key":    {"é", "«é: »2\n"},
		"after a comment":          {"b", "# cömment\na: 1 # ü\n«b: »2 # é\n"},
		"comment names the value":  {"b", "a: 1 # b: 2\n«b: »2\n"},
		"quoted key":               {"b c", "a: 1\n«\"b c\": »2\n"},
		"single-quoted key":        {"é'", "a: 1\n«'é''': »2\n"},
		"quoted value":             {"b", "a: \"x\\u00e9 \\\" y\"\n«b: »\"é\"\n"},
		"after an escaped string":  {"b", "{a: \"\\u00e9\\n\\\"é\", «b: »'x'}\n"},
		"nested":                   {"p.q.r", "p:\n  q:\n    «r: »x\n"},
		"object":                   {"p", "«p:\n  »q:\n    r: x\n"},
		"flow object":              {"p", "«p: »{q: 1}\n"},
		"list":                     {"p", "«p:\n  »- a\n  - b\n"},
		"flow list":                {"p", "«p: »[a, b]\n"},
		"element":                  {"p[1]", "p:\n  - ä\n  - »b\n"},
		"flow element":             {"p[1]", "p: [ä, »b]\n"},
		"same text twice":          {"p[1]", "p: [b, »b]\n"},
		"element's key":            {"p[1].k", "p:\n  - k: ä\n  - «k: »b\n"},
		"object in list":           {"p[1]", "p:\n  - k: ä\n  - »k: b\n"},
		"carriage returns":         {"b", "a: 'ü'\r\n«b: »2\r\nc: 3\r\n"},
		"nested, carriage returns": {"p[1].k", "p:\r\n  - k: ä\r\n  - «k: »b\r\n"},
		"after a literal block":    {"b", "a: |\n  é b: 2\n\n  y\n\n\n«b: »2\n"},
		"after a folded block":     {"b", "a: >-\n  é\n  y\n«b: »2\n"},
		"literal block":            {"b", "a: 1\n«b: »|\n  x\n"},
		"after wrapped text":       {"b", "a: é\n  y\n  z\n«b: »2\n"},
		"after wrapped quotes":     {"b", "a: 'é\n\n  y'\n«b: »2\n"},
		"wrapped text":             {"b", "a: 1\n«b: »x\n  y\n"},
		"byte order mark":          {"b", "\ufeffa: 1\n«b: »2\n"},
		"document header":          {"a", "---\n«a: »1\n"},
		"left out":                 {"b", "a: 1\n»«b:\nc: 1\n"},
		"left out in list":         {"a[1]", "a:\n  - 1\n  »-\n"},
		"anchored":                 {"a", "«a: &x »{b: 1}\n"},
		"anchored block":           {"a", "«a: &x\n  »b: 1\n"},
		"tagged":                   {"a", "«a: !!str »12\n"},
		"alias":                    {"c", "a: &x {b: 1}\n«c: »*x\n"},
		"inside an alias":          {"c.b", "a: &x {«b: »1}\nc: *x\n"},
		"number key":               {"200", "a: 1\n«200: »x\n"},
		"explicit key":             {"a", "«? a\n: »1\n"},
		"JSON":                     {"a[1].b", `{"ä": 1, "a": ["é", {«"b": »"x"}]}`},
		"root":                     {"", "»a: 1\n"},
		"root list":                {"", "# c\n»- 1\n"},
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.NewReplacer("«", "", "»", "").Replace(c.text)
			value := strings.Index(strings.ReplaceAll(c.text, "«", ""), "»")
			key := strings.Index(strings.ReplaceAll(c.text, "»", ""), "«")
			if key < 0 {
				key = value
			}
			_, source := parse(t, text)
			require.Equal(t, value, source.ValueAt(c.path), "value")
			require.Equal(t, key, source.KeyAt(c.path), "key")
		})
	}
}

func TestFaultsSayWhereAndHowToCure(t *testing.T) {
	deep := func(open, close string, n int) string { return strings.Repeat(open, n) + strings.Repeat(close, n) }
	bomb := "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
	for i := 1; i < 12; i++ {
		bomb += fmt.Sprintf("a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 10), ", "))
	}
	for name, c := range map[string]struct{ text, want string }{
		"duplicate key":        {"a: 1\né:\n  b: 1\n  b: 2\n", "é.b: the key \"b\" stands here twice (config.yaml:4:3)\n |   b: 2\n |   ^\n   remove one of them"},
		"duplicate quoted key": {"a: 1\n\"a\": 2\n", "a: the key \"a\" stands here twice (config.yaml:2:1)"},
		"duplicate in flow":    {"{a: 1, a: 2}", "the key \"a\" stands here twice (config.yaml:1:8)"},
		"boolean key":          {"a:\n  true: 1\n", "a: a key must be text, got true (config.yaml:2:3)\n |   true: 1\n |   ^\n   put it in quotes"},
		"null key":             {"~: 1\n", "a key must be text, got ~ (config.yaml:1:1)"},
		"list as key":          {"? [a]\n: 1\n", "not valid YAML: found an invalid key for this map (config.yaml:2:1)"},
		"merge key":            {"a: &x {b: 1}\nc:\n  <<: *x\n", "c: merge keys (<<) are not supported (config.yaml:3:3)"},
		"second document":      {"a: 1\n---\nb: 2\n", "a second document begins here (config.yaml:2:1)"},
		"second, empty":        {"a: 1\n---\n", "a second document begins here (config.yaml:2:1)"},
		"unknown tag":          {"a: !ref x\n", "a: unknown tag !ref (config.yaml:1:4)"},
		"binary":               {"a: !!binary aGk=\n", "a: unknown tag !!binary (config.yaml:1:4)"},
		"timestamp":            {"a: !!timestamp 2026-01-01\n", "a: unknown tag !!timestamp (config.yaml:1:4)"},
		"reserved character":   {"a: @odata\n", "not valid YAML: '@' is a reserved character (config.yaml:1:4)"},
		"tagged anchor":        {"a: !!str &x 12\n", "a: !!str stands before an anchor or alias"},
		"wrong tag":            {"a: !!int x\n", "a: the value is not what its tag !!int says (config.yaml:1:10)"},
		"infinity":             {"a: .inf\n", "a: a configuration has no number .inf; put it in quotes if it is text (config.yaml:1:4)"},
		"not a number":         {"a: .NaN\n", "a configuration has no number .NaN"},
		"too large":            {"a: +1e999\n", "a: the number +1e999 is too large (config.yaml:1:4)"},
		"unknown alias":        {"a: &base 1\nb: *bsae\n", "b: no anchor &bsae before this alias (config.yaml:2:4)\n | b: *bsae\n |    ^\n   did you mean \"base\"?"},
		"alias in itself":      {"a: &x [*x]\n", "a[0]: no anchor &x before this alias (config.yaml:1:8)"},
		"aliases that explode": {bomb, "the aliases expand to more than 10000 values"},
		"too deep, flow":       {deep("[", "]", 66), "nested more than 64 levels deep (config.yaml:1:66)"},
		"too deep, braces":     {deep("{a: ", "}", 70), "nested more than 64 levels deep (config.yaml:1:261)"},
		"too deep, dashes":     {strings.Repeat("- ", 70) + "x", "nested more than 64 levels deep (config.yaml:1:131)"},
		"too deep, indented": {func() (s string) {
			for i := range 70 {
				s += strings.Repeat(" ", i) + "a:\n"
			}
			return s
		}(), "nested more than 64 levels deep (config.yaml:66:66)"},
		"too deep by aliases": {"a: &a " + deep("[", "]", 40) + "\nb: &b " + strings.Repeat("[", 40) + "*a" + strings.Repeat("]", 40) + "\n", "nested more than 64 levels deep"},
		"huge depth":          {strings.Repeat("[", 40_000), "nested more than 64 levels deep (config.yaml:1:66)"},
		"too long":            {strings.Repeat("#", rules.MaxConfigBytes+1), "a configuration of 1048577 bytes; the limit is 1048576"},
		"too many words":      {strings.Repeat("- a\n", 30_000), "a YAML configuration of more than 50000 words and signs (config.yaml:25001:1)"},
		"blank lines":         {"a: |\n  x\n" + strings.Repeat(" \n", 2_000), "more than 1000 blank lines in a row (config.yaml:1003:1)"},
		"tabs":                {"a: 1\nb: \"" + strings.Repeat("\t", 20_000) + "\"\n", "more than 10000 tabs (config.yaml:2:1)"},
		"not UTF-8":           {"a: 1\nb: \xff\n", "not valid YAML: byte 0xff is not UTF-8 (config.yaml:2:4)"},
		"unclosed list":       {"a: [1\n", "not valid YAML: sequence end token ']' not found (config.yaml:1:4)"},
		"tab":                 {"\ta: 1\n", "not valid YAML: tab character cannot use as a map key directly (config.yaml:1:2)"},
		"list after object":   {"é: ü\nx: 0123\n- bad", "not valid YAML: non-map value is specified (config.yaml:3:1)"},
		"unclosed quote":      {"a: 'x\n", "not valid YAML: could not find end character of single-quoted text (config.yaml:1:4)"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := yaml.Parse(diag.NewSource("config.yaml", c.text))
			var faults diag.Diagnostics
			require.ErrorAs(t, err, &faults)
			require.Len(t, faults, 1)
			require.NotZero(t, faults[0].Pos.Line)
			require.Contains(t, err.Error(), c.want)
		})
	}
}

// JSON is YAML: whatever the JSON reader says of a text, this one says too.
func TestJSONReadsTheSame(t *testing.T) {
	for _, text := range []string{
		`{}`, `[]`, `"x"`, `12`, `null`,
		`{"a": 1, "b": [true, false, null, -1.5e3, 12345678901234567890], "é": {"ü": "é", "z": "\u00e9\"\\"}}`,
		"{\n  \"parameters\": {\n    \"api\": {\"baseUrl\": \"http://x.test/v1/\"},\n    \"config\": {\"jobs\": [\n      {\"endpoint\": \"users?a=b#c\", \"params\": {\"since\": \"2026-01-01\", \"n\": 0}},\n      {\"endpoint\": \"é\"}\n    ]}\n  }\n}\n",
		`{"when": "body.a[0] == 'x' && count < 3 ? true : {\"a\": 1}.a"}`,
		`{"a":"b","c":[1,2,{"d":"e"}],"f":{}}`,
	} {
		requireSame(t, text)
	}
}

func requireSame(t *testing.T, text string) {
	t.Helper()
	fromJSON, fromYAML := diag.NewSource("c", text), diag.NewSource("c", text)
	want, err := rules.ParseJSON(fromJSON)
	require.NoError(t, err)
	got, err := yaml.Parse(fromYAML)
	require.NoError(t, err, text)
	require.Equal(t, want, got, text)
	require.Equal(t, fromJSON, fromYAML, text) // marks too
}

// FuzzJSON holds the YAML reader to the JSON reader, marks included.
func FuzzJSON(f *testing.F) {
	f.Add(`{"a": [1, {"b": "c\n\"é\"'"}], "é": {"ü": null}, "e": -1.5e-3, "": ""}`)
	f.Add(`[[], {}, "#", ": ", "- ", "&a", "*a", "!t", "? ", "|", ">", "%", "@", "{", "12", 12345678901234567890]`)
	f.Fuzz(func(t *testing.T, text string) {
		v, err := rules.ParseJSON(diag.NewSource("c", text))
		if err != nil {
			return
		}
		compact, err := json.Marshal(v)
		require.NoError(t, err)
		indented, err := json.MarshalIndent(v, "", "  ")
		require.NoError(t, err)
		requireSame(t, string(compact))
		requireSame(t, string(indented))
	})
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"a: 1\nb: 'é' # cömment\n\"kéy\": \"x\\u00e9 y\"\nc: [ü, {d: 1_000}]\nlit: |\n  héllo\n",
		"a: &x {b: 1}\nc: *x\nd: !!str 5\n? k\n: v\ne:\n...\n", "\ufeffa: 1\r\nb: 2\r\n", "%YAML 1.2\n---\n- a\n-\n",
		"a: >-\n  x\n\n  y\nb: \"q\n  r\"\n", "<<: *a", "{a, b: , ? c}", "- - - x\n", "&a *a", "!!map {}", "? - a\n: b",
	} {
		f.Add(seed)
	}
	files, _ := filepath.Glob("../../fixtures/cases/*/*.txtar")
	for _, file := range files {
		if text, err := os.ReadFile(file); err == nil {
			f.Add(string(text))
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		source := diag.NewSource("config.yaml", text)
		v, err := yaml.Parse(source)
		if err != nil {
			var faults diag.Diagnostics
			require.ErrorAs(t, err, &faults)
			require.NotContains(t, err.Error(), "the parser failed on it")
			return
		}
		checkPlaces(t, source, "", v)
		_, err = json.Marshal(v)
		require.NoError(t, err, "what was read can be written as JSON")
	})
}

// checkPlaces requires that every value has a place inside the text, and that
// the text of a scalar begins there.
func checkPlaces(t *testing.T, source *diag.Source, path string, v any) {
	at := source.ValueAt(path)
	require.GreaterOrEqual(t, at, 0)
	require.LessOrEqual(t, at, len(source.Text))
	switch v := v.(type) {
	case rules.Object:
		for _, m := range v {
			checkPlaces(t, source, diag.Join(path, m.Name), m.Value)
		}
	case []any:
		for i, e := range v {
			checkPlaces(t, source, diag.Index(path, i), e)
		}
	}
}
