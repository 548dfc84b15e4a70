// Package ahead requests pages of a list before their turn.
//
// A [Queue] holds the exchanges that were begun and whose pages the loop has not read yet, in
// the order of the list. Requests come from two sources: those that read no response are made
// from the position of the list, as the loop will make them; any other is offered by the loop
// as soon as it has decided that the list goes on. A [Policy] says when a page is worth it.
//
// Whether a page is requested ahead is decided by what is known of the list and by the sizes of
// its pages, and not by a clock: a run makes the same requests every time.
//
// # Decisions
//
// By default one page is requested ahead, and only while a large one is scanned and delivered.
// Small pages gain nothing, and so most runs send exactly the requests that their pages call
// for. A page that arrives ahead of its turn is scanned by the goroutine that has received it,
// which needs only the bytes; rules, warnings and errors follow in the order of the list. A
// failed exchange stops requests ahead until its turn.
package ahead
