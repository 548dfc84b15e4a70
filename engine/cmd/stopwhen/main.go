// Command stopwhen extracts lists from paged HTTP APIs that a configuration
// describes, and reports why paging continued or stopped after every page.
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
