package yaml_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/fixtures"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/rules/yaml"
)

func parse(t *testing.T, text string) (any, *diag.Source) {
	t.Helper()
	source := diag.NewSource("config.yaml", text)
	v, err := yaml.Parse(source)
	require.NoError(t, err)
	return v, source
}

// object builds an object of pairs: a name and its value.
func object(pairs ...any) rules.Object {
	o := rules.Object{}
	for pair := range slices.Chunk(pairs, 2) {
		o = append(o, rules.Member{Name: pair[0].(string), Value: pair[1]})
	}
	return o
}

func TestScalarsFollowTheCoreSchema(t *testing.T) {
	for _, c := range []struct {
		text string
		want any
	}{
		{`yes`, "yes"},
		{`no`, "no"},
		{`on`, "on"},
		{`Off`, "Off"},
		{`y`, "y"},
		{`TrUe`, "TrUe"},
		{`true`, true},
		{`True`, true},
		{`FALSE`, false},
		{`null`, nil},
		{`~`, nil},
		{``, nil},
		{`Null`, nil},
		{`nil`, "nil"},
		{`0`, 0},
		{`-0`, 0},
		{`12`, 12},
		{`!!int +12`, 12},
		{`-12`, -12},
		{`!!int 0123`, 123},
		{`!!int 0o17`, 15},
		{`!!int 0x1F`, 31},
		{`1_000`, "1_000"},
		{`0b1`, "0b1"},
		{`0O17`, "0O17"},
		{`-0x1F`, "-0x1F"},
		{`1,5`, "1,5"},
		{`190:20:30`, "190:20:30"},
		{`9223372036854775807`, 9223372036854775807},
		{`9223372036854775808`, json.Number("9223372036854775808")},
		{`-123456789012345678901`, json.Number("-123456789012345678901")},
		{`!!int +0123456789012345678901`, json.Number("123456789012345678901")},
		{`!!int 0xFFFFFFFFFFFFFFFFFF`, json.Number("4722366482869645213695")},
		{`1.5`, 1.5},
		{`!!float 1.`, 1.0},
		{`!!float .5`, 0.5},
		{`-1e3`, json.Number("-1e3")},
		{`1E5`, json.Number("1E5")},
		{`1e999`, json.Number("1e999")},
		{`.`, "."},
		{`1e`, "1e"},
		{`1.2.3`, "1.2.3"},
		{`2026-01-01`, "2026-01-01"},
		{`2026-01-01T10:00:00Z`, "2026-01-01T10:00:00Z"},
		{`10 minutes`, "10 minutes"},
		{`body.a[0] == "x"`, `body.a[0] == "x"`},
		{`count < limit`, `count < limit`},
		{`"yes"`, "yes"},
		{`"12"`, "12"},
		{`'12'`, "12"},
		{`''`, ""},
		{`""`, ""},
		{`'it''s'`, "it's"},
		{`"a\tb\"\\\u00e9"`, "a\tb\"\\é"},
		{`"\ud83d\ude00"`, "😀"},
		{`http://x.test/a?b=c`, "http://x.test/a?b=c"},
		{`"@odata\\.nextLink"`, `@odata\.nextLink`},
		{`!!str 12`, "12"},
		{`!!str yes`, "yes"},
		{`!!str "12"`, "12"},
		{`!!int 12`, 12},
		{`!!float 12`, 12},
		{`!!bool true`, true},
		{`!!null ~`, nil},
		{`!!seq [1]`, []any{1}},
		{`!!map {a: 1}`, object("a", 1)},
		{`&x !!str 12`, "12"},
		{`!!str &x 12`, "12"},
		{`!!str`, ""},
		{`"\ud83d\ude00\ud83d\ude00 x\\ud83d"`, `😀😀 x\ud83d`},
		{`'\ud83d\ude00'`, `\ud83d\ude00`},
		{`\uD83D\uDE00`, `\uD83D\uDE00`},
	} {
		t.Run(c.text, func(t *testing.T) {
			v, _ := parse(t, "k: "+c.text+"\n")
			require.Equal(t, object("k", c.want), v)
			v, _ = parse(t, "- "+c.text)
			require.Equal(t, []any{c.want}, v)
			v, _ = parse(t, "a: 1\r\nk: "+c.text+"\r\nz: 1\r\n")
			require.Equal(t, object("a", 1, "k", c.want, "z", 1), v)
		})
	}
}

func TestStructuresKeepTheirOrder(t *testing.T) {
	shared := object("b", 1)
	for _, c := range []struct {
		name string
		text string
		want any
	}{
		{"empty text", "", nil},
		{"only a comment", "# nothing\n", nil},
		{"document header", "---\na: 1\n", object("a", 1)},
		{"document end", "a: 1\n...\n", object("a", 1)},
		{"version", "%YAML 1.2\n---\na: 1\n", object("a", 1)},
		{"version after comments", "\ufeff# x\r\n\r\n%YAML 1.2 # y\n---\na: 1\n", object("a", 1)},
		{"version in a text", "--- |\n%YAML 1.2\n", "%YAML 1.2\n"},
		{"byte order mark", "\ufeffa: 1\n", object("a", 1)},
		{"scalar root", "text", "text"},
		{"order of keys", "z: 1\na: 2\nm: 3\n", object("z", 1, "a", 2, "m", 3)},
		{"numbers as keys", "200: a\n1.50: b\n", object("200", "a", "1.50", "b")},
		{"quoted keys", "\"true\": 1\n'null': 2\n", object("true", 1, "null", 2)},
		{"explicit key", "? a\n: 1\n", object("a", 1)},
		{"explicit block key", "? |-\n  a\n: 1\n", object("a", 1)},
		{"tagged keys", "!!str true: 1\n!!int 12: 2\n", object("true", 1, "12", 2)},
		{"flow", "{a: [1, {b: c}], d: {}, e: []}", object("a", []any{1, object("b", "c")}, "d", object(), "e", []any{})},
		{"JSON", `{"a": [1, {"b": "c"}], "d": null}`, object("a", []any{1, object("b", "c")}, "d", nil)},
		{"list of objects", "- a: 1\n  b: 2\n-\n  - 3\n-\n", []any{object("a", 1, "b", 2), []any{3}, nil}},
		{"literal block", "a: |\n  x\n  y\nb: 1\n", object("a", "x\ny\n", "b", 1)},
		{"folded block", "a: >-\n  x\n  y\nb: 1\n", object("a", "x y", "b", 1)},
		{"line of a tab", "a: 1\n\t\nb: 2\n", object("a", 1, "b", 2)},
		{"wrapped plain", "a: x\n  y\nb: 1\n", object("a", "x y", "b", 1)},
		{"number in block", "a: |-\n  12\n", object("a", "12")},
		{"merge key", "a: &x {b: 1, c: 2}\nd:\n  <<: *x\n  c: 3\n  e: 4\n",
			object("a", object("b", 1, "c", 2), "d", object("b", 1, "c", 3, "e", 4))},
		{"merge key after a key of the same name", "a: &x {b: 1, c: 2}\nd: {c: 3, <<: *x}\n",
			object("a", object("b", 1, "c", 2), "d", object("c", 3, "b", 1))},
		{"merge key of a list, whose first object counts", "a: &x {b: 1}\nd: &y {b: 2, c: 3}\ne: {<<: [*x, *y]}\n",
			object("a", object("b", 1), "d", object("b", 2, "c", 3), "e", object("b", 1, "c", 3))},
		{"merge keys of merged objects", "a: &x {b: 1}\nc: &y {<<: *x, d: 2}\ne: {<<: *y, <<: {b: 5, f: 6}}\n",
			object("a", object("b", 1), "c", object("b", 1, "d", 2), "e", object("b", 1, "d", 2, "f", 6))},
		{"quoted merge key", "'<<': 1\n", object("<<", 1)},
		{"anchor and alias", "a: &x {b: 1}\nc: *x\nd: [*x, *x]\n", object("a", shared, "c", shared, "d", []any{shared, shared})},
		{"anchored scalar", "a: &x 5\nb: *x\n", object("a", 5, "b", 5)},
		{"anchor on a key", "&x a: 1\nb: *x\n", object("a", 1, "b", "a")},
		{"tag before an anchor", "a: !!int &x 5\nb: *x\n", object("a", 5, "b", 5)},
		{"anchor defined again", "a: &x 5\nb: *x\nc: &x 6\nd: *x\n", object("a", 5, "b", 5, "c", 6, "d", 6)},
	} {
		t.Run(c.name, func(t *testing.T) {
			v, _ := parse(t, c.text)
			require.Equal(t, c.want, v)
		})
	}
}

// The mark » is before the value and « before the key of the path.
func TestPositionsAreByteOffsets(t *testing.T) {
	for _, c := range []struct{ name, path, text string }{
		{"first value", "a", "«a: »1\nb: 2\n"},
		{"last value", "b", "a: 1\n«b: »2\n"},
		{"last value, no newline", "b", "a: 1\n«b: »2"},
		{"spaces at the end", "b", "a: 1\n«b:   »2   \n"},
		{"after a long character", "b", "a: 'é😀ü'\n«b: »2\n"},
		{"same line, characters", "b", "{ä: 'é😀', «b: »2}\n"},
		{"long character in key", "é", "«é: »2\n"},
		{"after a comment", "b", "# cömment\na: 1 # ü\n«b: »2 # é\n"},
		{"comment names the value", "b", "a: 1 # b: 2\n«b: »2\n"},
		{"quoted key", "b c", "a: 1\n«\"b c\": »2\n"},
		{"single-quoted key", "é'", "a: 1\n«'é''': »2\n"},
		{"quoted value", "b", "a: \"x\\u00e9 \\\" y\"\n«b: »\"é\"\n"},
		{"after an escaped string", "b", "{a: \"\\u00e9\\n\\\"é\", «b: »'x'}\n"},
		{"nested", "p.q.r", "p:\n  q:\n    «r: »x\n"},
		{"object", "p", "«p:\n  »q:\n    r: x\n"},
		{"flow object", "p", "«p: »{q: 1}\n"},
		{"list", "p", "«p:\n  »- a\n  - b\n"},
		{"flow list", "p", "«p: »[a, b]\n"},
		{"element", "p[1]", "p:\n  - ä\n  - »b\n"},
		{"flow element", "p[1]", "p: [ä, »b]\n"},
		{"same text twice", "p[1]", "p: [b, »b]\n"},
		{"element's key", "p[1].k", "p:\n  - k: ä\n  - «k: »b\n"},
		{"object in list", "p[1]", "p:\n  - k: ä\n  - »k: b\n"},
		{"carriage returns", "b", "a: 'ü'\r\n«b: »2\r\nc: 3\r\n"},
		{"nested, carriage returns", "p[1].k", "p:\r\n  - k: ä\r\n  - «k: »b\r\n"},
		{"after a literal block", "b", "a: |\n  é b: 2\n\n  y\n\n\n«b: »2\n"},
		{"after a folded block", "b", "a: >-\n  é\n  y\n«b: »2\n"},
		{"literal block", "b", "a: 1\n«b: »|\n  x\n"},
		{"after wrapped text", "b", "a: é\n  y\n  z\n«b: »2\n"},
		{"after wrapped quotes", "b", "a: 'é\n\n  y'\n«b: »2\n"},
		{"wrapped text", "b", "a: 1\n«b: »x\n  y\n"},
		{"byte order mark", "b", "\ufeffa: 1\n«b: »2\n"},
		{"document header", "a", "---\n«a: »1\n"},
		{"left out", "b", "a: 1\n»«b:\nc: 1\n"},
		{"left out in list", "a[1]", "a:\n  - 1\n  »-\n"},
		{"anchored", "a", "«a: &x »{b: 1}\n"},
		{"anchor with a colon", "a", "«a: &x:y »1\n"},
		{"anchored block", "a", "«a: &x\n  »b: 1\n"},
		{"tagged", "a", "«a: !!str »12\n"},
		{"alias", "c", "a: &x {b: 1}\n«c: »*x\n"},
		{"merged key", "c.b", "a: &x {«b: »1}\nc: {<<: *x}\n"},
		{"key that replaces a merged one", "c.b", "a: &x {b: 1}\nc: {<<: *x, «b: »2}\n"},
		{"inside an alias", "c.b", "a: &x {«b: »1}\nc: *x\n"},
		{"number key", "200", "a: 1\n«200: »x\n"},
		{"explicit key", "a", "«? a\n: »1\n"},
		{"after a question mark", "b", "a: what?\n«b: »2\n"},
		{"anchored key", "a", "&x «a: »1\n"},
		{"anchored, nothing", "a", "«a: »&x\nb: 2\n"},
		{"tag and comments", "a", "«a: !!map # c\n  # d\n  »b: 1\n"},
		{"verbatim tag", "a", "«a: !<tag:yaml.org,2002:str> »1\n"},
		{"single carriage returns", "b", "a: é\r«b: »2\r"},
		{"after a surrogate pair", "b", `{a: "é\ud83d\ude00", «b: »1}`},
		{"after an emoji", "b", "{a: 😀, «b: »1}"},
		{"JSON", "a[1].b", `{"ä": 1, "a": ["é", {«"b": »"x"}]}`},
		{"root", "", "»a: 1\n"},
		{"root list", "", "# c\n»- 1\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
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

func TestErrorsNameThePlaceAndTheFix(t *testing.T) {
	indented := ""
	for i := range 70 {
		indented += strings.Repeat(" ", i) + "a:\n"
	}
	nested := func(n int, inner string) string { return strings.Repeat("[", n) + inner + strings.Repeat("]", n) }
	bomb := "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
	for i := 1; i < 12; i++ {
		bomb += fmt.Sprintf("a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 10), ", "))
	}
	for _, c := range []struct{ name, text, want string }{
		{
			"duplicate key", "a: 1\né:\n  b: 1\n  b: 2\n",
			"é.b: the key \"b\" appears twice (config.yaml:4:3)\n |   b: 2\n |   ^\n   remove one of them",
		},
		{"duplicate quoted key", "a: 1\n\"a\": 2\n", "a: the key \"a\" appears twice (config.yaml:2:1)"},
		{"duplicate in flow", "{a: 1, a: 2}", "the key \"a\" appears twice (config.yaml:1:8)"},
		{"boolean key", "a:\n  true: 1\n", "a: a key must be text, got true (config.yaml:2:3)\n |   true: 1\n |   ^\n   put it in quotes"},
		{"null key", "~: 1\n", "a key must be text, got ~ (config.yaml:1:1)"},
		{"list as key", "? [a]\n: 1\n", "a key must be text (config.yaml:1:1)\n | ? [a]\n | ^\n   write the key as plain text"},
		{"list as key without value", "x:\n  ? - a\n", "x: a key must be text (config.yaml:2:3)"},
		{"object as key", "{a: 1}: 2\n", "a key must be text (config.yaml:1:1)"},
		{"alias as key", "a: &x b\n*x : 1\n", "a key must be text (config.yaml:2:1)"},
		{"no key", ": 1\n", "a key must be text, got nothing (config.yaml:1:1)"},
		{"merge key of a number", "? <<\n: 1\n", "the value of a merge key (<<) must be an object, or a list of objects (config.yaml:2:3)"},
		{"merge key of a text in a list", "a: &x {b: 1}\nc:\n  <<: [*x, y]\n",
			"c: the value of a merge key (<<) must be an object, or a list of objects (config.yaml:3:12)"},
		{"merge key of a later anchor", "c:\n  <<: *x\na: &x {b: 1}\n", "no anchor of this name is defined before this alias (config.yaml:2:7)"},
		{"merge key of the object around it", "a: &x\n  b:\n    <<: *x\n", "no anchor of this name is defined before this alias (config.yaml:3:9)"},
		{"the same key twice next to a merge key", "a: &x {b: 1}\nc:\n  <<: *x\n  b: 2\n  b: 3\n", `c.b: the key "b" appears twice (config.yaml:5:3)`},
		{"second document", "a: 1\n---\nb: 2\n", "a second document begins here (config.yaml:2:1)"},
		{"second, empty", "a: 1\n---\n", "a second document begins here (config.yaml:2:1)"},
		{"unknown tag", "a: !ref x\n", "a: unknown tag !ref (config.yaml:1:4)"},
		{"tag without a name", "a: ! 12\n", "a: unknown tag ! (config.yaml:1:4)"},
		{"unknown tag of a key", "!ref a: 1\n", "unknown tag !ref (config.yaml:1:1)"},
		{"binary", "a: !!binary aGk=\n", "a: unknown tag !!binary (config.yaml:1:4)"},
		{"timestamp", "a: !!timestamp 2026-01-01\n", "a: unknown tag !!timestamp (config.yaml:1:4)"},
		{
			"reserved character", "a: @odata\n",
			"not valid YAML: text cannot begin with @ (config.yaml:1:4)\n | a: @odata\n |    ^\n   put the text in quotes",
		},
		{"reserved character in a list", "a: [x, `y`]\n", "not valid YAML: text cannot begin with ` (config.yaml:1:8)"},
		{"version 2", "%YAML 2.0\n---\na: 1\n", "not valid YAML: found incompatible YAML document (config.yaml:1:1)"},
		{"wrong tag", "a: !!int x\n", "a: the value does not match its tag !!int (config.yaml:1:10)"},
		{"infinity", "a: .inf\n", "a: the number .inf is not supported; put it in quotes if it is text (config.yaml:1:4)"},
		{"not a number", "a: .NaN\n", "the number .NaN is not supported"},
		{
			"address in hexadecimal", "a: 0xdAC1\n", "a: 0xdAC1 is read as the number 56001 (config.yaml:1:4)\n | a: 0xdAC1\n |    ^\n" +
				"   put it in quotes if it is text, or write 56001 if it is a number",
		},
		{"a point without a digit before it", "a: .5\n", "a: .5 is read as the number 0.5 (config.yaml:1:4)"},
		{"a point without a digit after it", "a: 1.\n", "a: 1. is read as the number 1 (config.yaml:1:4)"},
		{"leading zeros", "a: 00123456\n", "a: 00123456 is read as the number 123456 (config.yaml:1:4)"},
		{"telephone number", "a: +420123\n", "a: +420123 is read as the number 420123 (config.yaml:1:4)"},
		{"too large", "a: +1e999\n", "a: the number +1e999 is too large (config.yaml:1:4)"},
		{
			"unknown alias", "a: &base 1\nb: *bsae\n",
			"b: no anchor of this name is defined before this alias (config.yaml:2:4)\n | b: *bsae\n |    ^\n   did you mean \"base\"?",
		},
		{
			"password that begins with an asterisk", "\"#password\": *Pa55-ABCDEFGHIJ\n",
			"#password: no anchor of this name is defined before this alias (config.yaml:1:14)\n | \"#password\": ****************\n" +
				" |              ^\n   put the value in quotes if it is text",
		},
		{"alias in itself", "a: &x [*x]\n", "a[0]: no anchor of this name is defined before this alias (config.yaml:1:8)"},
		{"aliases that explode", bomb, "the aliases expand to more than 10000 values"},
		{"too deep, flow", nested(66, ""), "nested more than 64 levels deep (config.yaml:1:66)"},
		{"too deep, braces", strings.Repeat("{a: ", 70) + strings.Repeat("}", 70), "nested more than 64 levels deep (config.yaml:1:261)"},
		{"too deep, dashes", strings.Repeat("- ", 70) + "x", "nested more than 64 levels deep (config.yaml:1:131)"},
		{"too deep, indented", indented, "nested more than 64 levels deep (config.yaml:66:66)"},
		{"too deep by aliases", "a: &a " + nested(40, "") + "\nb: &b " + nested(40, "*a"), "nested more than 64 levels deep"},
		{"huge depth", strings.Repeat("[", 40_000), "nested more than 64 levels deep (config.yaml:1:66)"},
		{"too long", strings.Repeat("#", rules.MaxConfigBytes+1), "the text has more than 1048576 bytes (config.yaml:1:1)"},
		{"control character", "a: 1\nb: \x00\n", "the character U+0000 must be escaped (config.yaml:2:4)"},
		{"line end of YAML 1.1", "a: x\u2028y\n", "the character U+2028 must be escaped (config.yaml:1:5)"},
		{"noncharacter", "a: \U0010ffff\n", "the character U+10FFFF must be escaped (config.yaml:1:4)"},
		{"half of a surrogate pair", `a: "\ud83d"`, "not valid YAML: found invalid Unicode character escape code"},
		{"not UTF-8", "a: 1\nb: \xff\n", "not valid YAML: byte 0xff is not UTF-8 (config.yaml:2:4)"},
		{"unclosed list", "a: [1\n", "not valid YAML: did not find expected ',' or ']' while parsing a flow sequence (config.yaml:1:4)"},
		{"tab", "\ta: 1\n", "not valid YAML: a tab is not allowed here (config.yaml:1:1)\n |  a: 1\n | ^\n   indent with spaces"},
		{
			"list after object", "é: ü\nx: 0123\n- bad",
			"not valid YAML: did not find expected key while parsing a block mapping (config.yaml:3:1)",
		},
		{"many digits", "a: " + strings.Repeat("1", 400_000), "a: the number 1111111111111111111111111111111111111111… has 400000 digits; " +
			"at most 1000 can be computed with (config.yaml:1:4)"},
		{"many hexadecimal digits", "a: 0x" + strings.Repeat("1", 400_000), "has 400002 digits; at most 1000 can be computed with (config.yaml:1:4)"},
		{"unclosed quote", "a: 'x\n", "not valid YAML: found unexpected end of stream while scanning a quoted scalar (config.yaml:1:4)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := yaml.Parse(diag.NewSource("config.yaml", c.text))
			var faults diag.Diagnostics
			require.ErrorAs(t, err, &faults)
			require.Len(t, faults, 1)
			require.NotZero(t, faults[0].Pos.Line)
			require.Contains(t, err.Error(), c.want)
		})
	}
}

// A parser whose time grows with the square of the text would need minutes here.
func TestLargeTextsAreRead(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs a single goroutine")
	fill := func(begin, repeated, end string) string {
		return begin + strings.Repeat(repeated, 400_000/len(repeated)) + end
	}
	for _, c := range []struct{ name, text string }{
		{"carriage returns in a block", fill("a: |\n  x\n", "\r", "")},
		{"blank lines in a block", fill("a: |\n  x\n", " \n", "b: 1\n")},
		{"lines of text before blank lines", fill("a: >\n", "  x\n", strings.Repeat("\n", 10_000))},
		{"tabs in quotes", fill("a: \"", "\tx", "\"\n")},
		{"elements", fill("", "- a\n", "")},
		{"elements in one line", fill("[", "é, ", "x]")},
		{"comments", fill("", "- a # b\n", "")},
		{"surrogate pairs", fill("a: \"", `\ud83d\ude00`, "\"\n")},
	} {
		t.Run(c.name, func(t *testing.T) {
			v, _ := parse(t, c.text)
			require.NotNil(t, v)
		})
	}
}

// JSON is YAML: both readers agree on every JSON text.
func TestJSONReadsTheSame(t *testing.T) {
	for _, c := range []struct{ name, text string }{
		{"empty object", `{}`},
		{"empty list", `[]`},
		{"string", `"x"`},
		{"number", `12`},
		{"null", `null`},
		{"scalars", `{"a": 1, "b": [true, false, null, -1.5e3, 12345678901234567890], "é": {"ü": "é", "z": "\u00e9\"\\"}}`},
		{"indented", `{
  "parameters": {
    "api": {"baseUrl": "http://x.test/v1/"},
    "config": {"jobs": [
      {"endpoint": "users?a=b#c", "params": {"since": "2026-01-01", "n": 0}},
      {"endpoint": "é"}
    ]}
  }
}
`},
		{"YAML in strings", `{"when": "body.a[0] == 'x' && count < 3 ? true : {\"a\": 1}.a"}`},
		{"no spaces", `{"a":"b","c":[1,2,{"d":"e"}],"f":{}}`},
		{"escapes", `["\/", "\b\f\n\r\t", "\ud83d\ude00", "\u0000\u0085\u2028"]`},
		{"long key", `{"` + strings.Repeat("k", 2_000) + `": 1}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			requireSame(t, c.text, c.text)
			requireSame(t, "[ "+c.text+"\n]", "- "+strings.ReplaceAll(c.text, "\n}", "\n }"))
		})
	}
}

// requireSame requires that a YAML text reads as a JSON text does, marks included.
func requireSame(t *testing.T, inJSON, inYAML string) {
	t.Helper()
	fromJSON, fromYAML := diag.NewSource("c", inJSON), diag.NewSource("c", inYAML)
	want, err := rules.ParseJSON(fromJSON)
	require.NoError(t, err)
	got, err := yaml.Parse(fromYAML)
	require.NoError(t, err, inYAML)
	require.Equal(t, want, got, inYAML)
	requireSameMarks(t, fromJSON, fromYAML, "", want)
}

// requireSameMarks compares the positions of a value, its key and all values in it.
func requireSameMarks(t *testing.T, want, got *diag.Source, path string, v any) {
	t.Helper()
	require.Equal(t, want.ValueAt(path), got.ValueAt(path), "the value at %q of %s", path, got.Text)
	require.Equal(t, want.KeyAt(path), got.KeyAt(path), "the key at %q of %s", path, got.Text)
	switch v := v.(type) {
	case rules.Object:
		for _, m := range v {
			requireSameMarks(t, want, got, diag.Join(path, m.Name), m.Value)
		}
	case []any:
		for i, e := range v {
			requireSameMarks(t, want, got, diag.Index(path, i), e)
		}
	}
}

// escapedInYAML matches what JSON allows unescaped and this package refuses.
var escapedInYAML = regexp.MustCompile(`[\x{85}\x{2028}\x{2029}\x{fffe}\x{ffff}\x{10ffff}]`)

// longNumber matches numbers that may have too many digits. JSON leaves them to the
// check of the setting; YAML, whose numbers have several notations, refuses them at once.
var longNumber = regexp.MustCompile(fmt.Sprintf(`[0-9.]{%d}`, value.MaxDigits))

// FuzzJSON holds the YAML reader to the JSON reader, marks included: for a JSON
// text, and for the same text as an element of a YAML list.
func FuzzJSON(f *testing.F) {
	f.Add(`{"a": [1, {"b": "c\n\"é\"'"}], "é": {"ü": null}, "e": -1.5e-3, "": ""}`)
	f.Add(`[[], {}, "#", ": ", "- ", "&a", "*a", "!t", "? ", "|", ">", "%", "@", "{", "12", 12345678901234567890]`)
	f.Add(strings.Repeat("3", value.MaxDigits+1))
	f.Fuzz(func(t *testing.T, text string) {
		v, err := rules.ParseJSON(diag.NewSource("c", text))
		if err != nil || longNumber.MatchString(text) {
			return
		}
		compact, err := json.Marshal(v)
		require.NoError(t, err)
		indented, err := json.MarshalIndent(v, "  ", "  ")
		require.NoError(t, err)
		for _, text := range []string{string(compact), string(indented)} {
			requireSame(t, text, text)
			if !escapedInYAML.MatchString(text) {
				requireSame(t, "[ "+text+"]", "- "+text)
			}
		}
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
			return
		}
		if !ambiguous(v) {
			checkPositions(t, source, "", v)
		}
		_, err = json.Marshal(v)
		require.NoError(t, err, "what was read can be written as JSON")
	})
}

// ambiguous reports whether two values may have the same config path.
func ambiguous(v any) bool {
	switch v := v.(type) {
	case rules.Object:
		return slices.ContainsFunc(v, func(m rules.Member) bool {
			return m.Name == "" || strings.ContainsAny(m.Name, ".[") || ambiguous(m.Value)
		})
	case []any:
		return slices.ContainsFunc(v, ambiguous)
	}
	return false
}

// checkPositions requires that every value has a position in the text, and that
// its text or an alias begins there. A null may be left out.
func checkPositions(t *testing.T, source *diag.Source, path string, v any) {
	at := source.ValueAt(path)
	require.GreaterOrEqual(t, at, 0)
	require.LessOrEqual(t, at, len(source.Text))
	beginsWithOneOf := func(characters string) {
		require.Less(t, at, len(source.Text))
		require.Contains(t, "*"+characters, source.Text[at:at+1])
	}
	switch v := v.(type) {
	case rules.Object:
		for _, m := range v {
			checkPositions(t, source, diag.Join(path, m.Name), m.Value)
		}
	case []any:
		beginsWithOneOf("[-")
		for i, e := range v {
			checkPositions(t, source, diag.Index(path, i), e)
		}
	case bool:
		beginsWithOneOf("tTfF")
	case int, float64, json.Number:
		beginsWithOneOf("+-.0123456789")
	case string:
		if v != "" {
			beginsWithOneOf(`|>"'` + v[:1])
		}
	}
}
