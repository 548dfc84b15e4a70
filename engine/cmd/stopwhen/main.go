package main

import (
	"os"
	goruntime "runtime"
	"runtime/debug"
	"sync/atomic"
	_ "time/tzdata" // time zones for systems that have none: containers and Windows
)

// memoryTarget limits the size of the heap: the garbage collector works harder when the heap is
// nearly as large. Ordinary pages need a fraction of it. The environment variable
// GOMEMLIMIT overrides it.
const memoryTarget = 384 << 20

func main() {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryTarget)
	}
	a := newApp(os.Stdin, os.Stdout, os.Stderr)
	a.threads = &threads{}
	os.Exit(a.run(os.Args[1:]))
}

// threads decides how many threads of the process run Go code at the same time. A run that
// reads one small page after another has no work for a second one. But Go wakes it up whenever
// net/http hands a request from one goroutine to the next, and with such pages that takes a
// third of the CPU time. A nil *threads does nothing.
type threads struct{ one atomic.Bool }

// useOne uses one thread from now on, unless GOMAXPROCS is set in the environment.
func (t *threads) useOne() {
	if t != nil && os.Getenv("GOMAXPROCS") == "" {
		t.one.Store(true)
		goruntime.GOMAXPROCS(1)
	}
}

// useAll uses one thread per processor from now on.
func (t *threads) useAll() {
	if t != nil && t.one.Swap(false) {
		goruntime.SetDefaultGOMAXPROCS()
	}
}
