package shape_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/stopwhen/stopwhen/engine/shape"
)

func TestAShapeHasEveryPathWithItsTypesAndASample(t *testing.T) {
	var s shape.Shape
	require.NoError(t, s.Add([]byte(`{"data": [
		{"id": 1, "name": null, "at": "2026-01-02", "tags": []},
		{"id": 2.5, "name": "Ada", "at": "2026-01-03", "tags": ["x"], "late": true}], "next": ""}`)))
	data := s.Member("data")
	require.Equal(t, shape.List, data.Types)
	require.Equal(t, 2, data.Longest)
	item := data.Element
	require.Equal(t, 2, item.Count)
	require.Equal(t, shape.Integer|shape.Number, item.Member("id").Types)
	require.Equal(t, "1", item.Member("id").Sample)
	require.Equal(t, []string{"text", "null"}, item.Member("name").Types.Names())
	require.Equal(t, `"Ada"`, item.Member("name").Sample)
	require.Equal(t, "date", item.Member("at").Format)
	require.Equal(t, 1, item.Member("late").Count)
	require.Equal(t, shape.Text, item.Member("tags").Element.Types)
	require.Empty(t, s.Member("next").Sample, "an empty text says nothing")
	require.Nil(t, s.Member("absent"))
	names := make([]string, len(item.Members))
	for i, m := range item.Members {
		names[i] = m.Name
	}
	require.Equal(t, []string{"id", "name", "at", "tags", "late"}, names)
}

func TestAFormatIsThatOfAllTexts(t *testing.T) {
	for _, c := range []struct{ values, format string }{
		{`"2026-01-02T03:04:05Z"`, "date-time"},
		{`"2026-01-02T03:04:05.123+02:00", "2026-01-02T03:04:05Z"`, "date-time"},
		{`"2026-01-02", "2026-01-02T03:04:05Z"`, ""},
		{`"", "2026-01-02"`, "date"},
		{`"2026-13-02"`, ""},
		{`"2026-02-29"`, ""},
		{`"2024-02-29"`, "date"},
		{`"2026-01-02T24:00:00Z"`, ""},
		{`"2026-01-02T03:04:05"`, ""},
		{`"2026-01-02T03:04:05.Z"`, ""},
		{`"2026-01-02T03:04:05+0200"`, ""},
		{`"https:\/\/api.test\/x"`, "uri"},
		{`"123e4567-E89b-12d3-a456-426614174000"`, "uuid"},
		{`"123e4567-e89b-12d3-a456-42661417400g"`, ""},
		{`"ada@example.com", ""`, "email"},
		{`"ada@example", "a@b@c.de"`, ""},
		{`"Ada <ada@example.com>"`, ""},
		{`"https://api.test/x"`, "uri"},
		{`"plain", "2026-01-02"`, ""},
	} {
		var s shape.Shape
		require.NoError(t, s.Add([]byte("["+c.values+"]")))
		require.Equal(t, c.format, s.Element.Format, c.values)
	}
}

func TestAHostileValueDoesNotMakeAShapeLarge(t *testing.T) {
	var wide, deep shape.Shape
	var b strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&b, `,"k%d": {"a": 1}`, i)
	}
	require.NoError(t, wide.Add([]byte("{"+b.String()[1:]+"}")))
	require.Len(t, wide.Members, 500)
	require.Equal(t, 1500, wide.Unnamed)
	require.NoError(t, deep.Add([]byte(strings.Repeat("[", 5000)+strings.Repeat("]", 5000))))
	levels := 0
	for s := &deep; s != nil; s = s.Element {
		levels++
	}
	require.Equal(t, 51, levels)
	require.Error(t, new(shape.Shape).Add([]byte(strings.Repeat("[", 1<<20))))
}

func TestAValueThatIsNotJSONIsRefused(t *testing.T) {
	for _, text := range []string{``, `{`, `{"a"`, `[1,`, `1 2`, `{"a": 1}}`} {
		require.Error(t, new(shape.Shape).Add([]byte(text)), text)
	}
}

func TestATypeIsThatOfTheValueAsWritten(t *testing.T) {
	for text, want := range map[string]shape.Types{
		`null`: shape.Null, `true`: shape.Boolean, `-1`: shape.Integer, `9007199254740992`: shape.Integer, `9007199254740993`: shape.BigInt,
		`9223372036854775808`: shape.Decimal, `1.5`: shape.Number, `1e3`: shape.Number, `1e999`: shape.Decimal, `1e-999`: shape.Decimal,
		`0.12345678901234567890`: shape.Decimal, `""`: shape.Text, `[]`: shape.List, `{}`: shape.Empty, `{ }`: shape.Empty, `{"a":1}`: shape.Object,
		`"` + strings.Repeat("x", 126) + `"`: shape.Text | shape.LongText,
	} {
		require.Equal(t, want, shape.TypeOf([]byte(text)), text)
	}
}

// A shape that is written and read again says the same, except for samples and exact numbers.
func TestAShapeIsReadAsItWasWritten(t *testing.T) {
	var s shape.Shape
	for i := range 30 {
		optional := ""
		if i > 3 {
			optional = `, "opt": {"in": 1}`
		}
		require.NoError(t, s.Add([]byte(`{"id": 1, "at": "2026-01-02", "tags": [[1], [null]], "empty": {}`+optional+`}`)))
	}
	text, err := s.MarshalJSON()
	require.NoError(t, err)
	read, err := shape.Parse("shape", string(text))
	require.NoError(t, err)
	again, err := read.MarshalJSON()
	require.NoError(t, err)
	require.JSONEq(t, string(text), string(again))
	require.Contains(t, string(text), `"opt":{"types":["object"],"optional":true,"members":{"in":{"types":["integer"]}}}`)
	require.NotContains(t, string(text), "seen", "dozens of objects were seen at every path")
}

// The shape of all values is the union of the shapes of any two parts of them.
func TestAUnionIsTheShapeOfAllValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.SampledFrom([]string{
			`{"a": 1}`, `{"a": null, "b": "2026-01-02"}`, `{"b": "x"}`, `{"b": ""}`, `[]`, `[{"c": 1.5}, 2]`, `{}`, `null`, `"https://a.test/"`, `{"b": {"d": [true]}}`,
		}), 1, 12).Draw(t, "values")
		cut := rapid.IntRange(0, len(values)).Draw(t, "cut")
		var all, first, second shape.Shape
		for i, v := range values {
			into := &first
			if i >= cut {
				into = &second
			}
			require.NoError(t, all.Add([]byte(v)))
			require.NoError(t, into.Add([]byte(v)))
		}
		want, err := all.MarshalJSON()
		require.NoError(t, err)
		got, err := shape.Union(&first, &second).MarshalJSON()
		require.NoError(t, err)
		require.Equal(t, string(want), string(got))
	})
}

func FuzzParse(f *testing.F) {
	f.Add(`{"types": ["object"], "seen": 3, "members": {"id": {"types": ["integer"], "optional": true}, "l": {"types": ["list"], "elements": {"types": ["text"], "format": "uuid"}}}}`)
	f.Add(`{"types": ["text"], "members": {}}`)
	f.Fuzz(func(t *testing.T, text string) {
		s, err := shape.Parse("shape", text)
		if err != nil {
			return
		}
		once, err := s.MarshalJSON()
		require.NoError(t, err)
		read, err := shape.Parse("shape", string(once))
		require.NoError(t, err, string(once))
		twice, err := read.MarshalJSON()
		require.NoError(t, err)
		require.Equal(t, string(once), string(twice))
	})
}

func FuzzAdd(f *testing.F) {
	f.Add([]byte(`{"a": [1, null, {"b": "2026-01-02"}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var s shape.Shape
		err := s.Add(text)
		if json.Valid(text) {
			require.NoError(t, err)
			require.Equal(t, 1, s.Count)
		}
	})
}
