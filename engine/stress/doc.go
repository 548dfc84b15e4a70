// Package stress tests how a configuration copes with the possible behaviours of an API. A model
// of the API is derived from the compiled rules of each job: from the requests that they send and
// the values that they read. The job then runs against this model, in memory and on a virtual
// clock, once for each [Behaviour] of a table, and each run has a [Verdict]: does the job obtain
// the list and, if not, does it say so? Package engine offers this as Engine.Stress.
//
// # Decisions
//
//   - The model is found by trying. Of what the values that rules read may mean (meaning.go),
//     and how a list may end, the first combination with which the job obtains a list of
//     several pages is taken. So nothing here knows a method: a rule of a user has a
//     model as a rule of a method has.
//   - What an API may do is a row of a table (behaviour.go): its name, its sentence, what a
//     configuration must have for it to matter, and its effect on the answers (effect.go).
//     What must happen is the same for all rows: the job obtains every item once, or says
//     that it did not.
//   - A fix is a row, too (fix.go), and no row is believed: each is tried with the changed
//     configuration, on the list that was lost and on an ordinary one.
//   - A fix is laid over the configuration as it stands. Only what ended the list too early
//     is taken away; limits, guards, rules that fail the run and values that are kept stay.
//     A rule of a method cannot be taken away, so such a job is written with the rules
//     that it was compiled to.
//   - A run has no more than a fixed number of requests, and its clock advances only where it waits.
//     The same seed gives the same report.
package stress
