// Package compile turns rules into programs. It is the only package that imports
// the expression language.
//
// [Rulesets] compiles the rules of a configuration to jobs. It parses each source,
// checks its names and types against the page context ([rules.Context]) and the
// functions of the [Language], derives the values that it reads ([Read]), rewrites
// it so that absent values do not fail it and its cost is metered, and compiles it.
// Rules with the same source share the result. A [Job] holds the expressions of one
// job; it never changes and may be shared by goroutines.
//
// A run evaluates the state and the parts of the next request in one step, and
// makes the request from the parts in another:
//
//	values, err := job.Compute(machine, page)            // once for each partition
//	binding, err := job.Bind(values)
//	state, request, err := binding.Begin(machine, page)
//	for {
//		page = …                                            // the response to request
//		page.State = state
//		…                                                   // job.Stops: does the list end here?
//		state, parts, more, err = job.Advance(machine, page) // more is false: the rules give no address
//		request, err = binding.Apply(parts, addressOfTheResponse)
//	}
//
// [Parts] are plain values. A run that is resumed applies the parts that it saved
// and needs no response for it.
//
// [Explain] describes compiled jobs, for people and for programs.
package compile
