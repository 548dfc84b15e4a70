// Package runtime runs compiled jobs: one loop for all methods.
//
//	for more {
//		response := fetch(request)     // packages transport and credential, or ahead, which made the exchange before its turn
//		page := read(response)         // packages format and document: the items, and the values that rules read
//		judge(page)                    // packages compile and language: every rule, the first one that is met decides
//		shape(page)                    // filter and fields change the items
//		request, more = advance(page)  // the variables of the method, and the request that follows from them
//		findings := audit(page, more)  // package evidence, after the last page: is the list complete?
//		offer(request)                 // package ahead may make the exchange now
//		deliver(page, findings)        // the sink, with the checkpoint (package saved) and the record (package trace)
//	}
//
// That is [Loop.Run]; a step of it is the work on one page, in five phases: fetch, read, decide
// (judge, shape, advance and audit), offer, deliver. Package partition runs the loop for every
// partition of a job, and for its children. Package redact keeps secrets out of all that leaves,
// and the errors are those of package failure.
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
