package cluster

import (
	"time"

	"github.com/stopwhen/stopwhen/engine/cluster/internal/survey"
)

// SilentAfter sets how long a worker says nothing until the status calls it silent.
func SilentAfter(d time.Duration) (restore func()) {
	before := survey.SilentAfter
	survey.SilentAfter = d
	return func() { survey.SilentAfter = before }
}

func init() { reportEvery = 50 * time.Millisecond }
