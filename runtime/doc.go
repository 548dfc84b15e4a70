// Package runtime runs compiled jobs: one loop for all methods.
//
//	request ── fetch ──> response ── read ──> page ── judge ──> verdicts ──> continue or stop
//	   ^                                                                       │
//	   └───────────── advance: state, next request <───────────────────────────┘
//
// [Loop.Run] is the loop, and a step of it is the work on one page: fetch, read, decide, offer,
// deliver. Package transport makes the exchange, package document decodes the values that rules
// read, read.go makes a page of them, and judge.go evaluates every rule on the page. Package
// ahead makes the offered requests before their turn, package evidence watches the pages for
// the audit, package saved writes what a checkpoint has, and package trace has the records.
//
// What a job remembers from page to page is one struct, the state, which is also its checkpoint.
// The types of a [Result] and of an [Event] are here and not in package trace: a Result also
// carries what only the loop and the walk over partitions need of it, which is no part of a trace.
//
// The package shares its name with one of the standard library, which nothing here imports.
//
// # Decisions
//
// A page is all or nothing: it is read to its end and validated before an item leaves. When a
// rule fails on a page, its items are still delivered.
//
// The body is decoded as a sparse copy that has only the paths that rules read. Items are
// passed on as raw bytes: slices of the buffer of the response, which are valid until the sink
// returns.
//
// A checkpoint holds the values that rules count and remember, and those of the parts of the
// next request. So a resumed run needs no response again.
//
// Secrets are recognized by their values when a request is encoded (send.go), so it does not
// matter how they came into it.
package runtime
