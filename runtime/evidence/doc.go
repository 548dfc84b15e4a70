// Package evidence compares the pages of a list for the rules, and finds signs that a list may be
// incomplete although a rule has ended it.
//
// A [Watcher] compares each page with earlier ones. Guards and other rules read the result as
// [rules.Comparisons], such as samePage. The watcher also notices repeated items and requests, a list
// that has moved, a body that reports an error, and paths that no response has. The audit rules of
// the configuration read its facts when the list ends. [Seen] and [MissingPaths] collect signs that
// appear only across all partitions of a job.
//
// # An example
//
// While a list of five orders is read by offsets, with a limit of 2, an order is inserted at its
// start. The second page therefore begins with the last order of the first one, and the third page
// is empty:
//
//	{"total": 5, "items": [{"id": 1}, {"id": 2}]}
//	{"total": 5, "items": [{"id": 2}, {"id": 3}]}
//	{"total": 5, "items": []}
//
// The loop (package runtime) calls the watcher of the list in this order:
//
//   - Notice, page 1 (notice.go): noticeItems (repeat.go) remembers the identifiers 1 and 2 in
//     repeatMemory.Identities, and noticeTotal (signs.go) the total of 5 in totalMemory.FirstTotal. Both are
//     parts of the history (history.go), which is part of the state of the list, so that it survives a resume.
//   - Notice, page 2: noticeItems finds the identifier 2 again, with the same content. It counts one of
//     Facts.Duplicates, and sets Facts.ShiftPage to 2.
//   - Notice, page 3: the page has no items. The rule offset.empty ends the list; its outcome is
//     complete.
//   - Audit (audit.go): Signs (signs.go) takes the total from the last response, as signs.total, and
//     facts completes the facts, which rules read as list. Of the audit rules (package rules,
//     audit.go), two are met: audit.shift, whose source is "list.duplicates > 0 or …", and audit.total,
//     whose source is "signs.total > total.items". Each becomes a [trace.Finding] with its message:
//     "body.total is 5, but the number of items read is 4".
//
// The watcher is in watcher.go, its history in history.go, and the facts about the job in subject.go. latest_page.go
// has the last page, which all searches read, and first_page.go what they compare it with. A search is a type with
// the memory that its findings need, such as errorSearch with errorMemory. Most other files notice one kind of sign
// each:
//
//   - Repeats: repeat.go pages, items and requests that return, cursor.go a cursor that is the wrong item, repeat_key.go keys that
//     occur twice, and size.go a page size that gets lost.
//   - Lists: moved.go a list at another path, other_places.go where else the items may be, missing_list.go a page
//     without a list between others, nested.go lists within items, overlap.go items that several
//     partitions have, position.go a position that was not requested, redirect.go a page from
//     elsewhere, and page_beyond.go items on a page after the end.
//   - Errors: error.go bodies that report errors (error_items.go in the list or in its place,
//     error_only.go and error_single.go in its only item, error_last.go in the last line,
//     error_text.go in a text, error_csv.go in the header of CSV, error_header.go in headers and trailers),
//     error_end.go lines without an end, error_change.go statuses that change,
//     and bare_page.go a page without any member of page 1.
//   - Paths: absence.go paths that no response has, missing_paths.go paths of a parent's items
//     that no item has, detail.go items of a parent whose list was read in their place, warn.go oddities of a page
//     that are logged, and since.go items before the kept value that the requests send.
//
// signs_body.go finds the signs in a body, signs_header.go those in headers, and sighting.go has the page on which
// an item or a list was seen. loop_facts.go records the facts that only the loop knows, and paging_value.go returns the values of a
// page that contracts compare.
//
// # Decisions
//
// A limited number of hashes is kept from page to page, also in checkpoints (recall.go). Only items
// where pages meet are compared, which costs less than one percent of the CPU time of a page. At the
// end, only audit rules whose facts were noticed are evaluated, which are few in a typical list.
package evidence
