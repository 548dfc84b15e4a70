package printable

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
)

func TestUnsafeCharactersAreEscaped(t *testing.T) {
	for text, want := range map[string]string{
		"plain text, äöü €  😀 \\n \"":   "plain text, äöü €  😀 \\n \"",
		"\x1b[31mred\x1b]0;title\x07":   `\x1b[31mred\x1b]0;title\a`,
		"line\nERR forged\r\tx":         `line\nERR forged\r\tx`,
		"\u009b31m \u0085 \x7f":         `\u009b31m \u0085 \x7f`,
		"abc\u202egpj.exe\u2066x\u2069": `abc\u202egpj.exe\u2066x\u2069`,
		"a\u200bb\ufeffc\u2028d\u00ade": `a\u200bb\ufeffc\u2028d\u00ade`,
		"\U000e0041":                    `\U000e0041`,
		"\xff\xfe\x9b":                  `\xff\xfe\x9b`,
		"\ufffd":                        "\ufffd",
	} {
		require.Equal(t, want, Text(text))
	}
	require.Equal(t, "a\n\tb\\x1b", Lines("a\n\tb\x1b"))
}

func TestJSONKeepsItsMeaning(t *testing.T) {
	values := map[string]string{"k\u009b": "a\u202eb\u007f\U000e0041\u2028\x1b\n"}
	text, err := json.MarshalIndent(values, "", "\t")
	require.NoError(t, err)
	safe := JSON(string(text))
	require.NotContains(t, safe, "\u202e")
	require.False(t, strings.ContainsFunc(safe, func(r rune) bool { return unsafe(r) && r != '\n' && r != '\t' }))
	var got map[string]string
	require.NoError(t, json.Unmarshal([]byte(safe), &got))
	require.Equal(t, values, got)
	require.Equal(t, `{"a": "b"}`, JSON(`{"a": "b"}`))
}

// TestJSONFindsUnsafeCharactersAtAnyPlace: JSON passes over eight characters at once.
func TestJSONFindsUnsafeCharactersAtAnyPlace(t *testing.T) {
	plain := "0123456789~\u00e9!abcdefghijklmnopqrst"
	for i := range plain {
		for char, want := range map[string]string{"\x7f": `\u007f`, "\u0085": `\u0085`, "\u202e": `\u202e`, "\U000e0041": `\udb40\udc41`, "\u00ff": "\u00ff"} {
			require.Equal(t, plain[:i]+want+plain[i:], JSON(plain[:i]+char+plain[i:]))
			require.Equal(t, plain[:i]+want+plain[i:], string(JSON([]byte(plain[:i]+char+plain[i:]))))
		}
	}
}

func TestAllStringsOfAValueAreEscaped(t *testing.T) {
	type inner struct{ Text string }
	v := struct {
		Name    string
		List    []inner
		Map     map[string]any
		Pointer *inner
		None    *inner
		Any     any
		Bytes   []byte
		hidden  string
	}{"a\n", []inner{{"b\x1b"}}, map[string]any{"c\x1b": []any{"d\n", 1}}, &inner{"e\n"}, nil, "f\n", []byte("g\n"), "h\n"}
	Strings(&v)
	require.Equal(t, `a\n b\x1b e\n f\n`, strings.Join([]string{v.Name, v.List[0].Text, v.Pointer.Text, v.Any.(string)}, " "))
	require.Equal(t, map[string]any{`c\x1b`: []any{`d\n`, 1}}, v.Map)
	require.Equal(t, "g\n", string(v.Bytes))
	require.Equal(t, "h\n", v.hidden)
}

func FuzzText(f *testing.F) {
	f.Add("a\x1b\u202e\xff")
	f.Fuzz(func(t *testing.T, text string) {
		require.False(t, strings.ContainsFunc(Text(text), func(r rune) bool { return unicode.IsControl(r) || r == '\u202e' }))
		require.False(t, strings.ContainsFunc(Lines(text), func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }))
	})
}
