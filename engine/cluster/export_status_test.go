package cluster

import "time"

// SilentAfter sets how long a worker says nothing until the status calls it silent.
func SilentAfter(d time.Duration) (restore func()) {
	before := silentAfter
	silentAfter = d
	return func() { silentAfter = before }
}

func init() { reportEvery = 50 * time.Millisecond }
