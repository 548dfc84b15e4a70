package main

import (
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// GNU timeout sends the same signal twice within milliseconds.
func TestASignalThatIsRepeatedAtOnceCountsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		signals, ended := make(chan os.Signal), make(chan bool)
		var seconds int
		var last os.Signal
		go func() {
			defer close(ended)
			eachSignal(signals, func(s os.Signal, first bool) {
				last = s
				if !first {
					seconds++
				}
			})
		}()
		for _, step := range []struct {
			after   time.Duration
			signal  os.Signal
			seconds int
		}{
			{0, syscall.SIGTERM, 0},
			{3 * time.Millisecond, syscall.SIGTERM, 0},
			{repeatTime - 4*time.Millisecond, syscall.SIGTERM, 0},
			{time.Millisecond, syscall.SIGTERM, 1},
			{0, syscall.SIGINT, 2},
		} {
			time.Sleep(step.after)
			signals <- step.signal
			synctest.Wait()
			require.Equal(t, step.seconds, seconds)
		}
		require.Equal(t, syscall.SIGINT, last)
		close(signals)
		<-ended
	})
}
