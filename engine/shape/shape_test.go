package shape_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine/shape"
)

func TestAShapeHasEveryPathWithItsTypesAndASample(t *testing.T) {
	var s shape.Shape
	require.NoError(t, s.Add([]byte(`{"data": [
		{"id": 1, "name": null, "at": "2026-01-02", "tags": []},
		{"id": 2.5, "name": "Ada", "at": "2026-01-03", "tags": ["x"], "late": true}], "next": ""}`)))
	data := s.Member("data")
	require.Equal(t, []shape.Type{shape.List}, data.Has())
	require.Equal(t, 2, data.Longest)
	item := data.Element
	require.Equal(t, 2, item.Count)
	require.Equal(t, []shape.Type{shape.Integer, shape.Number}, item.Member("id").Has())
	require.Equal(t, "1", item.Member("id").Sample)
	require.Equal(t, []shape.Type{shape.Text, shape.Null}, item.Member("name").Has())
	require.Equal(t, `"Ada"`, item.Member("name").Sample)
	require.Equal(t, "date", item.Member("at").Format)
	require.Equal(t, 1, item.Member("late").Count)
	require.Equal(t, []shape.Type{shape.Text}, item.Member("tags").Element.Has())
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
		{`"2026-01-02T03:04:05Z"`, "time"},
		{`"2026-01-02T03:04:05.123+02:00", "2026-01-02T03:04:05Z"`, "time"},
		{`"2026-01-02", "2026-01-02T03:04:05Z"`, ""},
		{`"", "2026-01-02"`, "date"},
		{`"2026-13-02"`, ""},
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
	require.ErrorContains(t, new(shape.Shape).Add([]byte(strings.Repeat("[", 1<<20))), "more than 10000 levels")
}

func TestAValueThatIsNotJSONIsRefused(t *testing.T) {
	for _, text := range []string{``, `{`, `{"a"`, `[1,`, `1 2`, `{"a": 1}}`} {
		require.Error(t, new(shape.Shape).Add([]byte(text)), text)
	}
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
