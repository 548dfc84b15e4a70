// Package runtime runs compiled jobs: one loop for all methods.
//
//	request ── fetch ──> response ── read ──> page ── judge ──> verdicts ──> go on or stop
//	   ^                                                                        │
//	   └────────────────────────── advance: state, next request <───────────────┘
//
// [Loop.Run] is the loop; client.go makes the exchange, reader.go takes from a
// response what rules read, read.go makes a page of it, judge.go puts the page
// to every rule. The package shares its name with one of the standard library,
// which nothing here imports.
package runtime
