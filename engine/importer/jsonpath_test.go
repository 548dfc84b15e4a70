package importer_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine/importer"
)

func TestPathsOfJSONPath(t *testing.T) {
	for text, want := range map[string][]string{
		"$": nil, "$.a": {"a"}, "$.a.b-c": {"a", "b-c"}, "$['a b'].c": {"a b", "c"}, "$.a[-1].b": {"a", "-1", "b"}, "$.a[*].b": {"a", "*", "b"},
		"$.'a.b'.c": {"a.b", "c"}, `$."a b"`: {"a b"}, `$["x"][0]`: {"x", "0"}, "$.a[(@.length-1)].b": {"a", "-1", "b"},
	} {
		got, err := importer.JSONPath(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	for _, bad := range []string{"", "a.b", "$..a", "$.", "$.a[?(@.b)]", "$.a[1:2]", "$[", "$x", "$.'a", "$.''"} {
		_, err := importer.JSONPath(bad)
		require.Error(t, err, bad)
	}
}
