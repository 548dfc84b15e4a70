package value_test

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
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
		t.Run(fmt.Sprintf("%#v", c.v), func(t *testing.T) {
			require.Equal(t, c.truthy, value.Truthy(c.v), "truthy")
			require.Equal(t, c.empty, value.Empty(c.v), "empty")
		})
	}
}

func TestTextKeepsEveryDigit(t *testing.T) {
	for _, c := range []struct {
		v    any
		want string
	}{
		{9007199254740993, "9007199254740993"},
		{json.Number("123456789012345678901"), "123456789012345678901"},
		{1.5, "1.5"},
		{1e5, "100000"},
		{1e21, "1e+21"},
		{1e-7, "1e-07"},
		{true, "true"},
		{"x", "x"},
	} {
		t.Run(c.want, func(t *testing.T) {
			got, ok := value.Text(c.v)
			require.True(t, ok)
			require.Equal(t, c.want, got)
		})
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

func TestGatherListsTheValuesOfARepeatedName(t *testing.T) {
	o := value.Object{{Name: "a", Value: "1"}, {Name: "b", Value: nil}, {Name: "a", Value: []any{"2"}}, {Name: "a", Value: "3"}}
	require.Equal(t, value.Object{{Name: "a", Value: []any{"1", []any{"2"}, "3"}}, {Name: "b", Value: nil}}, o.Gather())
	require.Len(t, o, 4)
	require.Nil(t, value.Object(nil).Gather())
}

func TestMergeReplacesInPlaceAndAppends(t *testing.T) {
	o := value.Object{{Name: "a", Value: 1}, {Name: "b", Value: 2}}
	merged := o.Merge(value.Object{{Name: "b", Value: 3}, {Name: "c", Value: 4}, {Name: "c", Value: 5}})
	require.Equal(t, value.Object{{Name: "a", Value: 1}, {Name: "b", Value: 3}, {Name: "c", Value: 5}}, merged)
	require.Equal(t, value.Object{{Name: "a", Value: 1}, {Name: "b", Value: 2}}, o, "the original does not change")
	require.Equal(t, o, o.Merge(nil))
}

func TestNumberLosesNoDigitOfAnInteger(t *testing.T) {
	for _, c := range []struct {
		text string
		want any
	}{
		{"0", 0},
		{"-7", -7},
		{"9223372036854775807", math.MaxInt64},
		{"9223372036854775808", json.Number("9223372036854775808")},
		{"-123456789012345678901234567890", json.Number("-123456789012345678901234567890")},
		{"1.5", 1.5},
		{"1e3", 1000.0},
		{"-0.0", 0.0},
	} {
		t.Run(c.text, func(t *testing.T) {
			got, err := value.Number(json.Number(c.text))
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
	_, err := value.Number("1e999")
	require.EqualError(t, err, "the number 1e999 is too large to compute with")
}

func TestPreviewReadsNoMoreOfATextThanItShows(t *testing.T) {
	long := strings.Repeat("x", 64<<20)
	require.Less(t, testing.Benchmark(func(b *testing.B) {
		for b.Loop() {
			_ = value.Preview(long)
		}
	}).AllocedBytesPerOp(), int64(4096))
}

func TestExceedsCountsTextsNamesAndValues(t *testing.T) {
	for _, c := range []struct {
		name  string
		v     any
		bytes int
	}{
		{"nil", nil, 1},
		{"text", "abc", 4},
		{"a long number", json.Number("12345678901234567890"), 21},
		{"a list", []any{"a", 1, nil}, 5},
		{"an object", value.Object{{Name: "ab", Value: "c"}, {Name: "d", Value: []any{}}}, 7},
		{"a map", map[string]any{"ab": "c", "d": true}, 7},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.False(t, value.Exceeds(c.v, c.bytes))
			require.True(t, value.Exceeds(c.v, c.bytes-1))
		})
	}
}

func TestNumbersOfTooManyDigitsAreRefused(t *testing.T) {
	most := json.Number(strings.Repeat("7", value.MaxDigits))
	n, err := value.Number(most)
	require.NoError(t, err)
	require.Equal(t, most, n)
	_, err = value.Number(most + "7")
	require.EqualError(t, err, "the number 7777777777777777777777777777777777777777… has 1001 digits; at most 1000 can be computed with")
}

// TestMarshalWritesWhatTheStandardLibraryWrites compares the texts of values with those of an encoder.
func TestMarshalWritesWhatTheStandardLibraryWrites(t *testing.T) {
	for _, v := range []any{
		nil, true, 7, -7, int64(8), 1e300, json.Number("12345678901234567890"), "", "plain", `"\`, "a\nb\x00\x7f", "é\u2028<&>", "\xff",
		"é \"x\" \r\n\t\\", "\b\f", "\xc3(", "\u2029", "日本", 0.0, math.Copysign(0, -1), 1.5, -1234.25, 1e-6, 9.9e-7, 1e20, 1e21, 1.0000000000000002,
		[]any(nil), []any{}, []any{1, []any{"x"}, nil}, map[string]any{"b": 1, "a": "<"},
	} {
		var want strings.Builder
		enc := json.NewEncoder(&want)
		enc.SetEscapeHTML(false)
		require.NoError(t, enc.Encode(v))
		got, err := value.Marshal(v)
		require.NoError(t, err)
		require.Equal(t, want.String(), string(got)+"\n")
		got, err = value.Marshal(value.Object{{Name: "a\"b", Value: v}, {Name: "a\"b", Value: v}})
		require.NoError(t, err)
		inner := strings.TrimSpace(want.String())
		require.Equal(t, `{"a\"b":`+inner+`,"a\"b":`+inner+`}`, string(got))
	}
	_, err := value.Marshal([]any{value.Object{{Name: "f", Value: func() {}}}})
	require.Error(t, err)
}

func TestUnmarshalRefusesTextAfterTheValue(t *testing.T) {
	var v any
	require.NoError(t, value.Unmarshal([]byte(" {\"n\": 9007199254740993} \n"), &v))
	require.Equal(t, map[string]any{"n": json.Number("9007199254740993")}, v)
	for _, text := range []string{`{}{}`, `1 2`, `{}]`, `null,`, `{} x`} {
		require.ErrorContains(t, value.Unmarshal([]byte(text), &v), "after top-level value", text)
	}
}
