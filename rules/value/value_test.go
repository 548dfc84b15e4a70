package value_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/rules/value"
)

// The specification's two notions of nothing, side by side (2.2 and 3.1).
func TestTruthyAndEmptyDiffer(t *testing.T) {
	for _, c := range []struct {
		v      any
		truthy bool
		empty  bool
	}{
		{nil, false, true},
		{false, false, true},
		{true, true, false},
		{0, false, false},
		{int64(0), false, false},
		{0.0, false, false},
		{-1, true, false},
		{"", true, true},
		{"0", false, false},
		{"00", true, false},
		{"no", true, false},
		{"false", true, false},
		{[]any{}, false, false},
		{[]any{0}, true, false},
		{map[string]any{}, true, false},
		{value.Object{}, true, false},
		{json.Number("12345678901234567890"), true, false},
	} {
		require.Equal(t, c.truthy, value.Truthy(c.v), "truthy %#v", c.v)
		require.Equal(t, c.empty, value.Empty(c.v), "empty %#v", c.v)
	}
}

func TestTextKeepsEveryDigit(t *testing.T) {
	for want, v := range map[string]any{
		"9007199254740993": 9007199254740993, "123456789012345678901": json.Number("123456789012345678901"),
		"1.5": 1.5, "100000": 1e5, "1e+21": 1e21, "1e-07": 1e-7, "true": true, "x": "x",
	} {
		got, ok := value.Text(v)
		require.True(t, ok)
		require.Equal(t, want, got)
	}
	for _, v := range []any{nil, []any{}, value.Object{}} {
		_, ok := value.Text(v)
		require.False(t, ok)
	}
}

func TestAnObjectKeepsItsOrder(t *testing.T) {
	o := value.Object{{Name: "b", Value: 1}, {Name: "a", Value: "<&>"}}
	changed := o.With("b", 2).With("c", nil).Without("a")
	text, err := json.Marshal(changed)
	require.NoError(t, err)
	require.Equal(t, `{"b":2,"c":null}`, string(text))
	text, err = o.MarshalJSON()
	require.NoError(t, err)
	require.Equal(t, `{"b":1,"a":"<&>"}`, string(text), "the original is as it was, and HTML is not escaped")
}
