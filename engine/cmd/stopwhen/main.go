// Command stopwhen extracts lists from paged HTTP APIs that a configuration
// describes, and reports why paging continued or stopped after every page.
//
// # Decisions
//
// A run that reads one small page after another uses one thread (threads.go): with two, Go
// wakes the second one in vain whenever net/http hands a request from one goroutine to the
// next. The library leaves the number of threads to the program that embeds it.
package main

import (
	"os"
	"runtime/debug"
)

// memoryTarget is how large the heap should be at most: the garbage collector works
// harder when it is near. Honest pages need a fraction of it. The environment variable
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
