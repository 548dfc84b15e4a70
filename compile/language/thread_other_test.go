//go:build !linux

package language

import (
	"testing"
	"time"
)

// cost returns the time that a function takes.
func cost(_ *testing.T, f func()) time.Duration {
	began := time.Now()
	f()
	return time.Since(began)
}
