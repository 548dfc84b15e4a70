// Package explain describes what compiled jobs do, for people and for programs, and how two
// configurations differ.
//
// [Explain] describes jobs. An [Explanation] is JSON with a schema; [Explanation.Text] writes it
// for people, [Explanation.Mermaid] draws it, and [Explanation.Notes] says what the parts of the
// configuration do. [Diff] compares two explanations.
//
// The text of a job begins as follows:
//
//	job orders   method offset   dialect spec
//
//	  Sends GET https://api.example.com/orders?limit=100&offset=0, then adds 100 to offset. Ends
//	  normally when a page is empty; or a page has fewer items than the limit of 100; …
//
// Read explanation.go first, which has the types, and then job.go (a job) and rule.go (its rules). Each of the
// following files has one subject of a job: simulate.go its first requests, partitions.go its variables,
// retries.go its waits and retries, items.go its items, files.go its files, kept.go its kept values, bounds.go its
// bounds and its end without a next request, never.go why rules have no effect, and summary.go its first paragraph.
// terms.go has the names that expressions use, exit_status.go the exit statuses, and origins.go where requests may go.
//
// The presentations are text.go, with text_common.go (the passages that jobs share), text_audit.go (one of them),
// text_flags.go (what flags of a run change) and layout.go (lines and columns), mermaid.go, and notes.go. diff.go compares
// the properties of jobs (properties.go) and their rules (diff_rules.go); diff_text.go writes the differences.
//
// # Decisions
//
// The first requests are made as a run makes them. A value that only a response can tell is a
// placeholder of letters and digits, which no encoding of an address or a body changes. At the end,
// the placeholders are replaced by phrases. If the requests were made from the phrases, each encoding
// would need a second writer.
package explain
