package value_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/rules/value"
)

func TestReplaceCopiesAValueAtAnyDepth(t *testing.T) {
	v := map[string]any{"a": []any{"x", 1, value.Object{{Name: "b", Value: "y"}}}}
	out, err := value.Replace(v, value.Replacement{
		Name: func(name string) (string, error) { return name + "'", nil },
		Scalar: func(v any) (any, error) {
			if text, ok := v.(string); ok {
				return strings.ToUpper(text), nil
			}
			return v, nil
		},
		Object: func(object map[string]any) any { object["more"] = true; return object },
	})
	require.NoError(t, err)
	require.Equal(t, map[string]any{"more": true, "a'": []any{"X", 1, value.Object{{Name: "b'", Value: "Y"}}}}, out)
	require.Equal(t, map[string]any{"a": []any{"x", 1, value.Object{{Name: "b", Value: "y"}}}}, v, "the value itself stays")
}

func TestReplaceEndsWithTheFirstError(t *testing.T) {
	failed := errors.New("failed")
	fail := func(v any) (any, error) { return nil, failed }
	for _, v := range []any{1, []any{1}, map[string]any{"a": 1}, value.Object{{Name: "a", Value: 1}}} {
		_, err := value.Replace(v, value.Replacement{Scalar: fail})
		require.ErrorIs(t, err, failed)
	}
	_, err := value.Replace(map[string]any{"a": 1}, value.Replacement{Name: func(string) (string, error) { return "", failed }})
	require.ErrorIs(t, err, failed)
}

func TestAnyLooksAtScalarsAndNamesAtAnyDepth(t *testing.T) {
	isNumber := func(v any) bool { _, ok := v.(json.Number); return ok }
	isB := func(name string) bool { return name == "b" }
	for _, v := range []any{json.Number("1"), []any{1, json.Number("1")}, map[string]any{"a": json.Number("1")}, value.Object{{Name: "a", Value: json.Number("1")}}} {
		require.True(t, value.Any(v, isNumber, nil))
		require.False(t, value.Any(v, nil, isB))
	}
	for _, v := range []any{[]any{map[string]any{"b": 1}}, value.Object{{Name: "a", Value: value.Object{{Name: "b"}}}}} {
		require.True(t, value.Any(v, nil, isB))
		require.False(t, value.Any(v, isNumber, nil))
	}
}
