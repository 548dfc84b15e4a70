package main

import (
	"os"
	goruntime "runtime"
	"sync/atomic"

	"github.com/stopwhen/stopwhen/runtime/ahead"
)

// threads decides how many threads of the process run Go code at the same time. A run that
// reads one small page after another has no work for a second one. But Go wakes it up whenever
// net/http hands a request from one goroutine to the next, and with such pages that takes a
// third of the CPU time. A nil *threads does nothing.
type threads struct {
	one   atomic.Bool
	small int // number of small pages since the last large one
}

// manySmall is the number of small pages in a row after which a run uses one thread again: the children of
// a large page may be many. Changing the number of threads stops the process for some microseconds.
const manySmall = 10

// adapt uses one thread again after many small pages in a row, and all threads for a large page.
func (t *threads) adapt(bytes int) {
	switch {
	case t == nil:
	case bytes >= ahead.LargePage:
		t.small = 0
		t.useAll()
	default:
		if t.small++; t.small == manySmall {
			t.useOne()
		}
	}
}

// useOne uses one thread from now on, unless GOMAXPROCS is set in the environment.
func (t *threads) useOne() {
	if t != nil && os.Getenv("GOMAXPROCS") == "" && !t.one.Swap(true) {
		goruntime.GOMAXPROCS(1)
	}
}

// useAll uses one thread per processor from now on.
func (t *threads) useAll() {
	if t != nil && t.one.Swap(false) {
		goruntime.SetDefaultGOMAXPROCS()
	}
}
