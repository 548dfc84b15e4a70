package main

import (
	"os"
	"runtime"
)

// manyThreads is the size of the pages, in bytes, of which one is read while another is
// written, so that a run can use several threads.
const manyThreads = 64 << 10

// threads decides how many threads of the process run Go code at the same time. A run that
// reads one small page after another has no work for a second one. But Go wakes it up whenever
// net/http hands a request from one goroutine to the next, and with such pages that takes a
// third of the CPU time. The nil threads decides nothing.
type threads struct{ one bool }

// useOne uses one thread from now on, unless the environment says how many there are.
func (t *threads) useOne() {
	if t != nil && os.Getenv("GOMAXPROCS") == "" {
		t.one = true
		runtime.GOMAXPROCS(1)
	}
}

// useAll uses as many threads as there are processors from now on.
func (t *threads) useAll() {
	if t != nil && t.one {
		t.one = false
		runtime.SetDefaultGOMAXPROCS()
	}
}
