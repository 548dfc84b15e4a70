// Package engine extracts lists from paged HTTP APIs. [New] compiles a
// configuration written in Go, [Load] one that is read from a file; [Engine.Pages]
// and [Engine.Run] run it. An [Engine] does not change and may be used by several
// goroutines. Nothing is global: what a run needs is passed in as an [Option].
//
// Methods of paging, guards and functions of your own are added by [WithMethod],
// [WithGuard] and [WithFunction]; an [Observer] sees every event of a run.
package engine
