package rules_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/value"
)

// A tokenReader reads JSON with the decoder of encoding/json. It notes the offset of every
// value and key.
type tokenReader struct {
	text         string
	dec          *json.Decoder
	values, keys map[string]int
}

var errRefused = errors.New("twice, or too deep")

func newTokenReader(text string) *tokenReader {
	r := &tokenReader{text: text, dec: json.NewDecoder(strings.NewReader(text)), values: map[string]int{}, keys: map[string]int{}}
	r.dec.UseNumber()
	return r
}

func (r *tokenReader) token() (json.Token, int, error) {
	at := int(r.dec.InputOffset())
	for at < len(r.text) && strings.IndexByte(" \t\r\n,:", r.text[at]) >= 0 {
		at++
	}
	token, err := r.dec.Token()
	return token, at, err
}

func (r *tokenReader) value(path string, key, depth int) (any, error) {
	token, at, err := r.token()
	if err != nil {
		return nil, err
	}
	if depth > rules.MaxConfigDepth {
		return nil, errRefused
	}
	if r.values[path] = at; key >= 0 {
		r.keys[path] = key
	}
	switch token := token.(type) {
	case json.Number:
		return value.Spelled(token), nil
	case json.Delim:
		if token == '{' {
			return r.object(path, depth)
		}
		return r.list(path, depth)
	}
	return token, nil
}

func (r *tokenReader) object(path string, depth int) (any, error) {
	object := rules.Object{}
	for r.dec.More() {
		token, at, err := r.token()
		if err != nil {
			return nil, err
		}
		name := token.(string)
		if _, twice := object.Get(name); twice {
			return nil, errRefused
		}
		v, err := r.value(diag.Join(path, name), at, depth+1)
		if err != nil {
			return nil, err
		}
		object = append(object, rules.Member{Name: name, Value: v})
	}
	_, _, err := r.token()
	return object, err
}

func (r *tokenReader) list(path string, depth int) (any, error) {
	list := []any{}
	for r.dec.More() {
		v, err := r.value(diag.Index(path, len(list)), -1, depth+1)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	_, _, err := r.token()
	return list, err
}

// requireLikeEncodingJSON checks that a text is read as encoding/json reads it, and that
// every value and key is found where it is.
func requireLikeEncodingJSON(t *testing.T, text string) {
	t.Helper()
	source := diag.NewSource("c.json", text)
	got, err := rules.ParseJSON(source)
	r := newTokenReader(text)
	want, refused := r.value("", -1, 0)
	if refused != nil || !json.Valid([]byte(text)) {
		require.Error(t, err, "%q", text)
		return
	}
	require.NoError(t, err, "%q", text)
	require.Equal(t, want, got, "%q", text)
	for path, at := range r.values {
		require.Equal(t, at, source.ValueAt(path), "%q: %q", text, path)
	}
	for path, at := range r.keys {
		require.Equal(t, at, source.KeyAt(path), "%q: %q", text, path)
	}
}

// texts are of every kind that the parser treats differently.
var texts = []string{
	`{"a": 1, "b": [true, false, null, "x", -1.50, 1e3, 12345678901234567890], "c": {"d": {}}, "e": []}`,
	" [ 1 ,\t2\r\n, 3 ] ", `0`, `"text"`, `{}`, `[]`, `[[], [[]], {"a": []}]`,
	`{"a\u0062\n\"\\": "\ud83d\ude00 \ud83d \/"}`, `"\\"`, `"\\\""`, `["\\", "b"]`, `{"\\": "\\\\"}`,
	"{\"a\xff\": \"\xc3\x28 ä\", \"b\": \"\xed\xa0\x80\"}", "\"\\n\xff\"",
	`{"a.b": 1, "a": {"b": 2, "c[0]": 3, "c": [4]}}`, `{"a": {"b": 1}, "a.b": 2}`, `{"": {"": 1}, "a": {"": 2}}`, `{"[0]": 1}`,
	`{"a": 1, "a": 2}`, `{"a": 1, "\u0061": 2}`, "{\"\xff\": 1, \"\ufffd\": 2}", `{"a": {"b": 1, "b": 2}, "a": 3}`,
	strings.Repeat("[", 64) + "1" + strings.Repeat("]", 64), strings.Repeat("[", 65) + "1" + strings.Repeat("]", 65),
	strings.Repeat(`{"a":`, 65) + "1" + strings.Repeat("}", 65), strings.Repeat(`{"a":`, 66) + "1" + strings.Repeat("}", 66),
	"", "{", `{"a"}`, `[1,]`, `{} {}`, "01", `"` + "\x01" + `"`, `"\x"`, "\ufeff{}",
}

func FuzzParseJSON(f *testing.F) {
	for _, text := range texts {
		f.Add(text)
	}
	f.Fuzz(requireLikeEncodingJSON)
}

func TestMistakesInJSONSayWhatAndWhere(t *testing.T) {
	var many strings.Builder
	for i := range 100 {
		fmt.Fprintf(&many, `"k%d": 0, `, i)
	}
	for _, c := range []struct{ name, text, path, message, hint string }{
		{"a key twice", `{"a": {"b.c": [{"x": 1, "y": 2, "x": 3}]}}`, "a.b.c[0].x", `duplicate key "x"`, "remove one of them"},
		{"a key of the root twice", `{"x": 1, "x": 3}`, "x", `duplicate key "x"`, "remove one of them"},
		{"a key of a large object twice", `[{` + many.String() + `"k3": 1, "k4": 1}]`, "[0].k3", `duplicate key "k3"`, "remove one of them"},
		{"lists in lists", strings.Repeat("[", 66) + strings.Repeat("]", 66), strings.Repeat("[0]", 65), "nested more than 64 levels deep", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := rules.ParseJSON(diag.NewSource("c.json", c.text))
			found, ok := errors.AsType[diag.Diagnostics](err)
			require.True(t, ok)
			require.Len(t, found, 1)
			require.Equal(t, c.path, found[0].Path)
			require.Equal(t, c.message, found[0].Message)
			require.Equal(t, c.hint, found[0].Hint)
			at := strings.LastIndex(c.text, `"`+found[0].Path[strings.LastIndexByte(found[0].Path, '.')+1:]+`"`)
			if c.hint == "" {
				at = 65
			}
			require.Equal(t, diag.Position{Line: 1, Column: at + 1}, found[0].Pos)
		})
	}
}

func TestALargeObjectIsReadAndSearchedInLinearTime(t *testing.T) {
	text := strings.Builder{}
	text.WriteString(`{"k": 0`)
	const members = 60_000
	for i := range members {
		fmt.Fprintf(&text, `,"k%d":%d`, i, i%10)
	}
	text.WriteString("}")
	source := diag.NewSource("c.json", text.String())
	begin := time.Now()
	_, err := rules.ParseJSON(source)
	require.NoError(t, err)
	for i := range members {
		require.True(t, source.Has(fmt.Sprintf("k%d", i)))
	}
	require.Less(t, time.Since(begin), 20*time.Second) // it takes a thousandth of that
}
