// Package runtime runs compiled jobs: one loop for all methods.
//
//	for more {
//		// fetch.go and send.go; packages transport and credential; package ahead may have made the exchange already
//		response := fetch(request)
//		// read.go; packages format and document: items, and values for the rules
//		page := read(response)
//		// judge.go; packages compile and language: every rule; the first rule that is met decides
//		judge(page)
//		// edit.go: filter and fields change the items
//		edit(page)
//		// advance.go: the variables of the method, and the next request
//		request, more = advance(page)
//		// audit.go; package evidence, after the last page: is the list complete?
//		findings := audit(page, more)
//		// package ahead may make the exchange now
//		offer(request)
//		// deliver.go: the sink, with the checkpoint (state.go, package saved) and the record (package trace)
//		deliver(page, findings)
//	}
//
// [Loop.RunList] runs this loop, and the method step is one turn of it (loop.go). Each step processes one page
// in five phases: fetch, read, decide (judge, edit, advance and audit), offer, deliver. Package
// partition runs the loop for every partition of a job and of its children. Package redact removes
// secrets from all output, and package failure defines the errors.
//
// A list begins and restarts in run.go, and ends in end.go. partition.go has the partitions, page.go the pages,
// probe.go the probe of a job, which shows values of pages, kept.go the values for the next run, checkpoint.go what
// can be read from a checkpoint, pool.go the buffers, observe.go the events, and result.go and error.go the
// results and errors.
//
// Each value lives in the struct that lasts as long as it does:
//
//	Loop          all lists of a run: the settings, which do not change
//	workspace     many lists, one after another: the machine, the reader and the buffers; see Pool
//	listRun       one list: values derived from its job, and caches of the state
//	state         one list, from page to page and beyond a resume: it is the checkpoint
//	pageWork      one page
//
// Values that rules count or remember from page to page are only in the state, so a checkpoint
// cannot miss them.
//
// [Result] and [Event] are declared here and not in package trace, because a Result also carries
// facts for the loop and for package partition that are not part of a trace.
//
// The package has the name of a package of the standard library, which is not imported here.
//
// # Decisions
//
// A page is delivered completely or not at all: it is read to its end and validated before the sink
// receives an item. If a rule fails on a page, its items are still delivered.
//
// The body is decoded into a sparse copy with only the paths that rules read. Items are passed on as
// raw bytes: slices of the response's buffer, valid until the sink returns.
//
// A checkpoint holds the values that rules count and remember, and the parts of the next request, so
// that a resumed run does not repeat a request.
//
// Secrets are recognized by their values when a request is encoded (send.go), regardless of how they
// got into it.
package runtime
