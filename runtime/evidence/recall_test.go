package evidence

import (
	"encoding/json"
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/fixtures"
	"github.com/stopwhen/stopwhen/runtime/document"
)

func keyOf(n int) document.Digest { return document.DigestOf(fmt.Append(nil, n), document.Digest{}) }

func TestARecallForgetsTheOldestKey(t *testing.T) {
	var m Recall
	for n := range maxRecall + 10 {
		m.Put(keyOf(n), uint64(n))
	}
	require.Len(t, m.pairs, maxRecall)
	require.Len(t, m.places, maxRecall)
	_, known := m.Get(keyOf(9))
	require.False(t, known)
	for _, n := range []int{10, maxRecall, maxRecall + 9} {
		v, known := m.Get(keyOf(n))
		require.True(t, known)
		require.EqualValues(t, n, v)
	}
}

// TestTheMemoryOfARecallIsBounded puts many more keys than a Recall holds: it takes 3.5 MB, whatever
// their number is.
func TestTheMemoryOfARecallIsBounded(t *testing.T) {
	fixtures.SkipUnderRace(t, "it measures time or memory")
	heap := func() int64 {
		var s runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&s)
		return int64(s.HeapAlloc)
	}
	var m Recall
	empty := heap()
	for n := range 5 * maxRecall {
		m.Put(keyOf(n), uint64(n))
	}
	require.Less(t, heap()-empty, int64(4<<20))
	runtime.KeepAlive(&m)
}

// A few keys are searched, and many are in a map: both find the latest number of each key.
func TestARecallFindsTheLatestNumberOfAKey(t *testing.T) {
	var m Recall
	want := map[int]uint64{}
	for n := range 10 * fewRecalled {
		key := n * n % 47
		m.Put(keyOf(key), uint64(n))
		want[key] = uint64(n)
		for key := range 47 {
			v, known := m.Get(keyOf(key))
			wanted, put := want[key]
			require.Equal(t, put, known, "key %d after %d puts", key, n+1)
			require.Equal(t, wanted, v, "key %d after %d puts", key, n+1)
		}
	}
	require.Greater(t, len(want), fewRecalled)
	require.Len(t, m.pairs, len(want))
}

func TestACheckpointHoldsTheLatestKeysOfARecall(t *testing.T) {
	for _, count := range []int{0, 3, fewRecalled, fewRecalled + 1, maxRecall + 10} {
		var m, resumed Recall
		for n := range count {
			m.Put(keyOf(n), uint64(n))
		}
		text, err := json.Marshal(m)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(text, &resumed))
		require.Len(t, resumed.pairs, min(count, savedRecall))
		again, err := json.Marshal(resumed)
		require.NoError(t, err)
		require.JSONEq(t, string(text), string(again))
		if count > 0 {
			v, known := resumed.Get(keyOf(count - 1))
			require.True(t, known)
			require.EqualValues(t, count-1, v)
		}
	}
	require.Error(t, json.Unmarshal([]byte(`"AAAA"`), &Recall{}))
}
