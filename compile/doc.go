// Package compile turns rules into programs.
//
// A configuration becomes requests and a verdict in these steps:
//
//	rules.Decode        a text becomes a rules.Config
//	Config.Lower        its methods, guards and settings become rules.Rule: expressions with ids
//	compile.Compile     lowers, and the rules of each job become a Job: compiled expressions, checked
//	Job.Builder         a Job becomes a Builder of requests, with the computed values
//	package runtime     requests pages, and after each one asks Job.Stops and Job.Advance
//	package evidence    evaluates the rules of [AuditTrigger] on a list that has ended: is it complete?
//
// Rules with the same source share the compiled expression (package language). A [Job] holds the
// expressions of one job; it never changes and may be shared by goroutines.
//
// A run evaluates the state and the parts of the next request in one step, and
// makes the request from the parts in another:
//
//	values, err := job.Compute(machine, page)            // once for each partition
//	builder, err := job.Builder(values)
//	state, request, err := builder.Begin(machine, page)
//	for {
//		page = …                                            // the response to request
//		page.State = state
//		…                                                   // job.Stops: does the list end here?
//		state, parts, more, err = job.Advance(machine, page) // more is false: the rules yield no address
//		request, err = builder.Apply(parts, addressOfTheResponse)
//	}
//
// [ComputedValues] and [PartValues] are plain values. A run that is resumed applies the parts that it saved
// and needs no response for it.
//
// The files, in the order of these steps:
//
//   - job.go compiles the rules of a job; message.go their messages, item_rules.go what changes items,
//     partition.go the variables of for and the links of parents and children, audit.go the audit,
//     credential.go the credentials, and derived.go which values may have parts of secrets.
//   - check.go warns about rules that are probably mistakes, and check_kept.go about those of kept values. The warnings,
//     and those who request pages ahead or explain a job, ask an Analysis (analysis.go): kept.go how kept values are used,
//     kept_continue.go whether a list continues from them, kept_sent.go whether requests send them, ends.go whether
//     a list ends and which rules end it, prefetch.go what is known before a response, and surface.go what a job reads of one.
//   - builder.go makes the requests, advance.go the state and the parts of the next one; part.go puts values into them.
//   - kept_values.go has the values for the next run.
//
// # Decisions
//
// Pages are requested ahead only where the expressions prove that no request reads a response
// (prefetch.go).
//
// The expressions of credentials are compiled with the jobs and evaluated by each run, so
// compiled jobs hold no credentials of a tenant. The request of a login is a job without
// pages, so that it is decoded, computed and encoded as other requests are.
package compile
