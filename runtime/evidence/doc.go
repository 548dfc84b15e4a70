// Package evidence finds signs that a list may be incomplete although a rule has ended it.
//
// A [Watcher] compares each page with earlier ones. It notices repeated items and requests, a list
// that has moved, a body that reports an error, and paths that no response has. The audit rules of
// the configuration read its facts when the list ends. [Seen] and [Presence] collect signs that
// appear only across all partitions of a job.
//
// # Decisions
//
// A bounded number of hashes is kept from page to page, also in checkpoints. Only items where pages
// meet are compared, which costs less than one percent of the CPU time of a page. At the end, only
// audit rules with evidence are evaluated: three of twenty in a typical list.
package evidence
