package cluster

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A retried partition that waits an hour for a worker costs few looks, and one that goes on
// is soon looked at.
func TestLooksAtARetryBecomeRareWhileNothingChanges(t *testing.T) {
	var l looks
	n := 0
	for waited := time.Duration(0); waited < time.Hour; n++ {
		waited += l.next(5)
	}
	require.Less(t, n, 370)
	require.Equal(t, longestLook, l.next(5))
	require.Equal(t, shortestLook, l.next(6))
	require.Equal(t, 2*shortestLook, l.next(6))
}
