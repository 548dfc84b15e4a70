package transport

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

func TestTheLowestNumberHasTheNextTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(SystemClock, NewPacer(Pace{Parallel: 1}))
		require.NoError(t, g.enter(t.Context(), 1))
		var order []int
		for _, number := range []int{5, 2, 4, 3, 6} {
			go func() {
				if g.enter(t.Context(), number) == nil {
					order = append(order, number)
					g.endTurn()
					g.leave()
				}
			}()
			synctest.Wait()
		}
		g.endTurn()
		synctest.Wait()
		require.Empty(t, order, "the first one is in flight")
		g.leave()
		synctest.Wait()
		require.Equal(t, []int{2, 3, 4, 5, 6}, order)
	})
}

// A request that is interrupted gives back its turn and its place in flight, also if its
// turn comes at the same time.
func TestAnInterruptedRequestLeavesTheGate(t *testing.T) {
	interrupted, cancel := context.WithCancel(t.Context())
	cancel()
	g := newGate(SystemClock, NewPacer(Pace{Parallel: 1}))
	for number := range 200 { // either of the two may be noticed first
		if g.enter(interrupted, number) == nil {
			g.endTurn()
			g.leave()
		}
		require.False(t, g.taken)
		require.Zero(t, g.inFlight)
		require.Empty(t, g.waiting)
	}
	require.NoError(t, g.enter(t.Context(), 1))
	require.ErrorIs(t, g.enter(interrupted, 2), context.Canceled)
	require.Empty(t, g.waiting)
}
