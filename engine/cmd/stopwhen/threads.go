package main

import (
	"os"
	goruntime "runtime"
	"sync/atomic"
)

// threads decides how many threads of the process run Go code at the same time. A run that
// reads one small page after another has no work for a second one. But Go wakes it up whenever
// net/http hands a request from one goroutine to the next, and with such pages that takes a
// third of the CPU time. The nil threads decides nothing.
type threads struct{ one atomic.Bool }

// useOne uses one thread from now on, unless the environment says how many there are.
func (t *threads) useOne() {
	if t != nil && os.Getenv("GOMAXPROCS") == "" {
		t.one.Store(true)
		goruntime.GOMAXPROCS(1)
	}
}

// useAll uses as many threads as there are processors from now on.
func (t *threads) useAll() {
	if t != nil && t.one.Swap(false) {
		goruntime.SetDefaultGOMAXPROCS()
	}
}
