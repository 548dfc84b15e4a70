// Package engine extracts lists from paged HTTP APIs. [LoadFile] compiles a configuration
// file, and [New] a configuration in Go (package engine/config); [Engine.Pages] and
// [Engine.Run] run it. Options pass in everything that a run needs: there is no global state.
//
// docs/guide/embedding.md and docs/guide/extending.md show how programs use it.
package engine
