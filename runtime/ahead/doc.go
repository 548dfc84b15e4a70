// Package ahead requests pages of a list ahead of their turn.
//
// A [Queue] holds the exchanges that have begun and whose pages the loop has not read yet, in the
// order of the list. Requests that read no response are computed from the position of the list, as
// the loop will compute them. The loop offers any other request as soon as it knows that the list
// continues. A [Policy] determines which pages are requested ahead.
//
// The decision to request a page ahead depends on facts about the list and the sizes of its pages,
// and not on a clock: a run makes the same requests every time.
//
// # Decisions
//
// By default one page is requested ahead, and only while a large page is scanned and delivered.
// Small pages gain nothing, so most runs send only requests for pages that they need. The goroutine
// that receives a page ahead of its turn also scans it, which needs only the bytes; rules, warnings
// and errors follow in the order of the list. A failed exchange stops further requests until its
// turn.
package ahead
