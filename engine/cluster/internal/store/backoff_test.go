package store

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// Something that happens an hour later costs few looks, and is soon looked at again.
func TestPausesBecomeLongerUntilSomethingHappens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := Backoff{First: 200 * time.Millisecond, Longest: 10 * time.Second}
		next := func() time.Duration {
			began := time.Now()
			require.NoError(t, b.Wait(t.Context()))
			return time.Since(began)
		}
		n := 0
		for waited := time.Duration(0); waited < time.Hour; n++ {
			waited += next()
		}
		require.Less(t, n, 370)
		require.Equal(t, b.Longest, next())
		b.Reset()
		require.Equal(t, b.First, next())
		require.Equal(t, 2*b.First, next())
	})
}
