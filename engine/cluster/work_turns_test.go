package cluster

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine/cluster/internal/record"
)

// A run takes as many turns as its priority says while another one takes one, whatever the number of
// its tasks. A run that had none for a while has not saved turns.
func TestRunsTakeTurnsByTheirPriority(t *testing.T) {
	p := &workerRun{cluster: &Cluster{}, runs: map[string]*activeRun{}, wake: make(chan struct{}, 1)}
	for id, priority := range map[string]int{"a": 0, "b": 3} {
		p.addRunLocked(&record.Run{Run: id, Priority: priority})
	}
	taken := map[string]int{}
	take := func(n int) {
		clear(taken)
		for range n {
			q, ok := p.nextQueue()
			require.True(t, ok)
			p.noteFetched(q.Run, true)
			taken[q.Run]++
		}
	}
	take(400)
	require.Equal(t, map[string]int{"a": 100, "b": 300}, taken)

	p.addRunLocked(&record.Run{Run: "late", Priority: 1})
	take(500)
	require.InDelta(t, 100, taken["late"], 1)

	p.noteFetched("late", false)
	p.runs["late"].next = p.runs["late"].next.AddDate(1, 0, 0)
	take(400)
	require.Zero(t, taken["late"])
	p.checkRunNow("late")
	take(500)
	require.InDelta(t, 100, taken["late"], 2)
}
