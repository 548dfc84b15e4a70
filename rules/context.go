package rules

import "time"

// Context is the page context: everything that an expression may look at after
// a page. The reference (docs/reference/context.md) is generated from it, and
// expressions are checked against it, so a misspelt name is a compile error.
//
// Inside body, items, state and job.params nothing is checked beforehand: what
// is absent there is nil, a comparison with nil is false, and arithmetic with
// nil is nil. Integers keep all their digits.
type Context struct {
	Page  int   `expr:"page" saved:"" doc:"number of this page, from 1"`
	Body  any   `expr:"body" doc:"the decoded response"`
	Items []any `expr:"items" doc:"the page's items as the API sent them"`
	Count int   `expr:"count" saved:"" doc:"how many items the page has"`
	Bytes int   `expr:"bytes" saved:"" doc:"size of this response as minified JSON"`

	Status int                                   `expr:"status" saved:"" doc:"HTTP status"`
	Header func(name string) any                 `expr:"header" doc:"value of a response header, nil when absent: header(\"X-Total\")"`
	Link   func(rel string, param ...string) any `expr:"link" doc:"target of the Link header (RFC 8288) of that relation, made absolute, or the value of one of its parameters; nil when absent: link(\"next\"), link(\"next\", \"results\")"`

	Total Total          `expr:"total" saved:"" doc:"what this scroller has obtained so far, this page included"`
	Limit any            `expr:"limit" doc:"page size in force; nil when there is none"`
	Sent  Sent           `expr:"sent" doc:"the request that brought this page"`
	Prev  *Past          `expr:"prev" doc:"the previous page; nil on the first"`
	First *Past          `expr:"first" saved:"" doc:"the first page; on the first page itself that page"`
	State map[string]any `expr:"state" saved:"" doc:"the scroller's variables"`
	Kept  map[string]any `expr:"kept" doc:"what the run before kept (keep in the configuration), by name"`
	Job   JobFacts       `expr:"job" doc:"the job"`

	SamePage         bool `expr:"samePage" doc:"this response equals the previous one, insignificant whitespace and guards.ignore aside"`
	RepeatedExchange bool `expr:"repeatedExchange" doc:"the same request was made before in this scroller, and brought the same response"`
	SameItems        int  `expr:"sameItems" saved:"" doc:"how many pages in a row, this one included, have the same items; 0 for an empty page"`

	Signs *Hints `expr:"signs" doc:"-"` // for the audit alone

	Now func() time.Time `expr:"now" doc:"the time at which this page's request was made; the same for the whole page"`
}

// Total is what a scroller has obtained so far, the current page included.
type Total struct {
	Pages   int     `expr:"pages" doc:"pages"`
	Items   int     `expr:"items" doc:"items"`
	Bytes   int     `expr:"bytes" saved:"" doc:"bytes of minified JSON"`
	Seconds float64 `expr:"seconds" doc:"seconds since the scroller began"`
}

// Sent is the request that brought a page.
type Sent struct {
	Method  string `expr:"method" doc:"HTTP method"`
	URL     string `expr:"url" doc:"the whole address, without credentials"`
	Params  any    `expr:"params" doc:"parameters by name"`
	Headers any    `expr:"headers" doc:"headers by name, without credentials"`
	Body    any    `expr:"body" doc:"the JSON body; nil when there was none"`
}

// Past is an earlier page, under the same names.
type Past struct {
	Page   int   `expr:"page" doc:"its number"`
	Body   any   `expr:"body" doc:"its decoded response"`
	Items  []any `expr:"items" doc:"its items"`
	Count  int   `expr:"count" doc:"how many items it had"`
	Bytes  int   `expr:"bytes" doc:"its size as minified JSON"`
	Status int   `expr:"status" doc:"its HTTP status"`
	Total  Total `expr:"total" doc:"what had been obtained by then"`
	Sent   Sent  `expr:"sent" doc:"the request that brought it"`
}

// JobFacts is the job as expressions see it.
type JobFacts struct {
	ID       string `expr:"id" doc:"its id"`
	Endpoint string `expr:"endpoint" doc:"its endpoint"`
	Params   any    `expr:"params" doc:"its parameters by name"`
}
