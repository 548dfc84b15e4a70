package runtime

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/runtime/document"
)

func keyOf(n int) document.Digest { return document.DigestOf(fmt.Append(nil, n), document.Digest{}) }

func TestARecallForgetsTheOldestKey(t *testing.T) {
	var m recall
	for n := range maxRecall + 10 {
		m.put(keyOf(n), uint64(n))
	}
	require.Len(t, m.values, maxRecall)
	require.Len(t, m.order, maxRecall)
	_, known := m.get(keyOf(9))
	require.False(t, known)
	for _, n := range []int{10, maxRecall, maxRecall + 9} {
		v, known := m.get(keyOf(n))
		require.True(t, known)
		require.EqualValues(t, n, v)
	}
}

func TestACheckpointHoldsTheLatestKeysOfARecall(t *testing.T) {
	for _, count := range []int{0, 3, maxRecall + 10} {
		var m, resumed recall
		for n := range count {
			m.put(keyOf(n), uint64(n))
		}
		text, err := json.Marshal(m)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(text, &resumed))
		require.Len(t, resumed.order, min(count, savedRecall))
		again, err := json.Marshal(resumed)
		require.NoError(t, err)
		require.JSONEq(t, string(text), string(again))
		if count > 0 {
			v, known := resumed.get(keyOf(count - 1))
			require.True(t, known)
			require.EqualValues(t, count-1, v)
		}
	}
	require.Error(t, json.Unmarshal([]byte(`"AAAA"`), &recall{}))
}
