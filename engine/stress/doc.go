// Package stress tests how a configuration copes with the possible behaviours of an API. A model
// of the API is derived from the compiled rules of each job: from the requests that they send and
// the values that they read. The job then runs against this model, in memory and on a virtual
// clock, once for each [Behaviour] of a table, and each run has a [Verdict]: does the job obtain
// the list and, if not, does it say so? Package engine offers this as Engine.Stress.
//
// # An example
//
// This job reads pages of 10 items, and stops at a page that has fewer:
//
//	{"api": {"baseUrl": "https://api.example.com/", "pagination": {"method": "offset", "limit": 10}},
//	 "config": {"jobs": [{"endpoint": "users", "dataField": "data"}]}}
//
// [Suite.Run] takes these steps, in the order of the files:
//
//   - Suite.stressJob (suite.go) calls Suite.model (subject.go), which makes a subject of the job: its
//     responses are JSON, and its items are not changed, so that they can be counted.
//   - subject.planOf (search.go) tries plans until the job obtains a list. A plan (plan.go) says where
//     the items are, here at data, how many are on a page, here 10, and what the values mean that the
//     rules read (meaning.go). The rules of this job read no value, so the first plan is tried with a
//     list of 25 rows: subject.run (subject.go, run.go) runs the job against plan.api, the model (model.go,
//     answer.go).
//   - The first run has a model that answers with one page after another, whatever is asked. findLocator
//     looks for the part of the requests that names the page (locate.go). The values 0, 10 and 20 of
//     the parameter offset fit the pages that were answered, so the plan says: "The parameter offset
//     is the index of the first item of a page."
//   - subject.lengths (doubt.go) runs the job on lists of other lengths. Nothing speaks against the plan.
//   - modelledJob.row (subject.go) takes one behaviour after another, such as cappedPages: "The API caps
//     its pages at half of the limit." modelledJob.behaving makes a model with this behaviour, by the
//     functions of its row of the table (behaviour.go, effect.go): capped sets the page size to 5.
//   - The job receives 5 of 25 items, and offset.short ends the list: run.tally counts 20 missing rows.
//     Suite.judge (suite.go) judges the run: rows are missing, the outcome is complete, and there is no
//     finding, so the verdict is [Silent].
//   - fixer.fix (fixer.go) tries the remedies against cappedPages, which are rows of a table (fix.go); some
//     replace the method by its rules (rewrite.go). The first remedy advances by the number of items received,
//     and stops at an empty page only. With it, the verdict of the row is [Complete], and no other row
//     becomes SILENT: it is the [Fix] of the row.
//
// Several behaviours may also happen in the same run (combination.go). The kinds of keys that items
// have are rows of a table (keys.go), and path.go reads and replaces values at paths. A fix consists of
// changes of the configuration (change.go).
//
// The rows about partitions are judged in the same way, with a model for each partition of a tree of
// jobs (tree.go, tree_behaviour.go). A recording of the API gives the model its shape (recording.go),
// and leaves out meanings that it contradicts (contradict.go). [Suite.Simulate] runs a single
// behaviour (simulate.go), and a [Server] serves one over HTTP (server.go). The results are in
// report.go, and [Report.Combine] tries several fixes together (combine.go).
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
