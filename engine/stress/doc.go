// Package stress tests how a configuration copes with the possible behaviours of an API. A model
// of the API is derived from the compiled rules of each job: from the requests that they send and
// the values that they read. The job then runs against this model, in memory and on a virtual
// clock, once for each [Behaviour] of a table, and each run has a [Verdict]: does the job obtain
// the list and, if not, does it say so? Package engine offers this as Engine.Stress.
//
// Read suite.go first, which judges every behaviour of every job, then behaviour.go and effect.go
// (the behaviours), plan.go, meaning.go and locate.go (how a model is found), model.go and run.go (a
// run against a model) and fix.go (remedies). tree.go and treebehaviour.go do the same for
// partitions. like.go gives a model the shape of a response, and simulate.go runs a single
// behaviour, and server.go serves one over HTTP. report.go and text.go have the results.
//
// # Decisions
//
//   - The model is found by trying. Each value that a rule reads may have several meanings
//     (meaning.go), and a list may end in several ways. The model is the first combination
//     with which the job obtains a list of several pages. No method is special: a user's rule
//     is modelled like a rule of a method.
//   - A behaviour of an API is a row of a table (behaviour.go): its name, its sentence, the
//     configurations that it concerns, and its effect on the answers (effect.go). The
//     expectation is the same for all rows: the job obtains every item once, or reports that
//     it did not.
//   - Fixes are a table, too (fix.go). A fix is reported only after the changed configuration
//     was tried, on the list that was lost and on an ordinary one.
//   - A fix removes only the rule that ended the list too early. Limits, guards, rules that
//     fail the run and kept values stay. If the rule belongs to a method, the fix replaces the
//     method by the rules that it was compiled to.
//   - A run has no more than a fixed number of requests, and its clock advances only where it waits.
//     The same seed gives the same report.
package stress
