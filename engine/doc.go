// Package engine extracts lists from paged HTTP APIs. [New] compiles a configuration
// that is written in Go, [Load] one that is read from a file; [Engine.Pages] and
// [Engine.Run] run it. An [Engine] does not change and may be used by several
// goroutines. There is no global state: an [Option] passes in whatever a run needs.
//
// [WithMethod], [WithGuard] and [WithFunction] add methods of paging, guards and
// functions. An [Observer] sees every event of a run.
package engine
