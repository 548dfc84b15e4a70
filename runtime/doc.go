// Package runtime runs compiled jobs: one loop for all methods.
//
//	request ── fetch ──> response ── read ──> page ── judge ──> verdicts ──> continue or stop
//	   ^                                                                       │
//	   └───────────── advance: state, next request <───────────────────────────┘
//
// [Loop.Run] is the loop. Package transport makes the exchange, package document
// decodes the values that rules read, read.go makes a page of them, and judge.go
// evaluates every rule on the page. The package shares its name with one of the
// standard library, which nothing here imports.
package runtime
