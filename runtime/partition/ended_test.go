package partition

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/runtime"
)

func TestValuesAreKeptForSoManyKeysOnly(t *testing.T) {
	value := func(key string, v any) map[string]any { return map[string]any{"at": map[string]any{key: v}} }
	r := &EndedResult{Result: runtime.Result{}}
	for i := range maxKeys - 1 {
		require.True(t, r.keepByKey(value(fmt.Sprint(i), 1)))
	}
	require.True(t, r.keepByKey(value("0", 5)), "a key that is known needs no room")
	require.True(t, r.keepByKey(value("0", 3)))
	r.keepEarlier(map[string]any{"at": map[string]any{"0": 9, "b": 8, "a": 7}})
	require.False(t, r.keepByKey(value("c", 1)))

	at := r.Kept["at"].(map[string]any)
	require.Len(t, at, maxKeys)
	require.Equal(t, 5, at["0"], "the greatest of this run, and not the value of an earlier run")
	require.Equal(t, 7, at["a"], "the first of the earlier keys has the last place")
	require.NotContains(t, at, "b")
	require.NotContains(t, at, "c")
}
