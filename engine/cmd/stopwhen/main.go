package main

import (
	"os"
	"runtime/debug"
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
