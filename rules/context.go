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
	Page  int   `expr:"page" doc:"number of this page, from 1"`
	Body  any   `expr:"body" doc:"the decoded response"`
	Items []any `expr:"items" doc:"the page's items as the API sent them"`
	Count int   `expr:"count" doc:"how many items the page has"`
	Bytes int   `expr:"bytes" doc:"size of this response as minified JSON"`

	Status int                                   `expr:"status" doc:"HTTP status"`
	Header func(name string) any                 `expr:"header" doc:"value of a response header, nil when absent: header(\"X-Total\")"`
	Link   func(rel string, param ...string) any `expr:"link" doc:"target of the Link header (RFC 8288) of that relation, made absolute, or the value of one of its parameters; nil when absent: link(\"next\"), link(\"next\", \"results\")"`

	Total Total          `expr:"total" doc:"what this scroller has obtained so far, this page included"`
	Limit any            `expr:"limit" doc:"page size in force; nil when there is none"`
	Sent  Sent           `expr:"sent" doc:"the request that brought this page"`
	Prev  *Past          `expr:"prev" doc:"the previous page; nil on the first"`
	First *Past          `expr:"first" doc:"the first page; on the first page itself that page"`
	State map[string]any `expr:"state" doc:"the scroller's variables"`
	Job   JobFacts       `expr:"job" doc:"the job"`

	SamePage         bool `expr:"samePage" doc:"this response equals the previous one, insignificant whitespace and guards.ignore aside"`
	RepeatedExchange bool `expr:"repeatedExchange" doc:"the same request was made before in this scroller, and brought the same response"`
	SameItems        int  `expr:"sameItems" doc:"how many pages in a row, this one included, have the same items; 0 for an empty page"`

	Now func() time.Time `expr:"now" doc:"the time at which this page's request was made; the same for the whole page"`
}

// Total is what a scroller has obtained so far, the current page included.
type Total struct {
	Pages   int     `expr:"pages" doc:"pages"`
	Items   int     `expr:"items" doc:"items"`
	Bytes   int     `expr:"bytes" doc:"bytes of minified JSON"`
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

// Function is a function that an expression may call, beside those of the
// expression language. The package compile holds what it does.
type Function struct {
	Name      string
	Signature string
	Doc       string
	Example   string // an expression
	Result    string // what it gives, as JSON; the body is {"meta":{"next":"p2","total":25},"done":"no","flags":[]}
}

// Functions is the table of functions.
var Functions = []Function{
	{"at", `at("a.b")`, "the value at a path of the body, nil when absent; `\\.` is a dot in a key, a number indexes a list", `at("meta.next")`, `"p2"`},
	{"has", `has("a.b")`, "whether the body has the path, be it null", `has("meta.prev")`, `false`},
	{"truthy", `truthy(v)`, "the specification's boolean (2.2): false, 0, null, \"0\" and [] are false, all else is true", `truthy(body.done)`, `true`},
	{"empty", `empty(v)`, "the specification's empty value (3.1): absent, null, \"\" or false", `empty(body.meta.prev)`, `true`},
	{"number", `number(v)`, "a number as it is, a string that holds one as that number, nil as nil; anything else ends the run", `number("25") + 1`, `26`},
	{"text", `text(v)`, "a scalar as the text that is sent: numbers with all their digits; nil as nil; a list or object ends the run", `text(body.meta.total)`, `"25"`},
	{"query", `query(url[, name])`, "the value of a parameter in a URL or query string, nil when absent; without name all of them, as an object", `query("/x?page=2&q=a", "page")`, `"2"`},
	{"greatest", `greatest(items, "id"[, v])`, "the greatest of v and the values at a path in the items: numbers as numbers, strings as strings when none holds a number; an item that lacks it ends the run", `greatest([{"id": 3}, {"id": 7}], "id", 5)`, `7`},
	{"least", `least(items, "id"[, v])`, "the least, likewise", `least([{"id": 3}, {"id": 7}], "id", 5)`, `3`},
	{"jsonpath", `jsonpath("$..x")`, "the values that a JSONPath finds in the body, as a list", `jsonpath("$.meta.*")`, `["p2",25]`},
	{"phpTruthy", `phpTruthy(v)`, "dialect keboola: the reference's boolean; \"\" is false too", `phpTruthy("")`, `false`},
	{"phpEmpty", `phpEmpty(v)`, "dialect keboola: the reference's empty value; 0, \"0\" and [] are empty too", `phpEmpty(body.flags)`, `true`},
	{"phpInt", `phpInt(v)`, "dialect keboola: the reference's whole number of any value", `phpInt("7 items")`, `7`},
	{"phpNumeric", `phpNumeric(v)`, "dialect keboola: whether the reference takes it for a number", `phpNumeric("1e2")`, `true`},
	{"phpTotal", `phpTotal(v)`, "dialect keboola: how the reference compares a total with a count", `phpTotal("3 items")`, `3`},
	{"phpQuery", `phpQuery(v)`, "dialect keboola: a query string as the reference takes it apart", `phpQuery("?a=1").a`, `"1"`},
	{"phpGreatest", `phpGreatest(items, "id"[, v])`, "dialect keboola: the greatest identifier, as whole numbers", `phpGreatest([{"id": "3"}, {"id": 7.9}], "id")`, `7`},
	{"phpLeast", `phpLeast(items, "id"[, v])`, "dialect keboola: the least, likewise", `phpLeast([{"id": "3"}, {"id": 7.9}], "id")`, `3`},
}
