// Package evidence notices signs that a list may be incomplete, although it has ended by rule.
//
// A [Watcher] compares each page with those before it: items and requests that are repeated, a
// list that has moved, a body that reports an error, paths that no response has. The audit rules
// of the configuration read what it has noticed when the list ends. [Seen] and [Presence] have the signs that
// only all partitions of a job show together.
//
// # Decisions
//
// Hashes are kept from page to page, with a limit on their number, and are part of the
// checkpoint. Items are compared where pages meet, and not all of them, which costs less than
// one percent of the CPU time of a page. At the end, only the audit rules for which there is
// evidence are evaluated: three of twenty in a typical list.
package evidence
