package rules

import (
	"cmp"
	"fmt"
	"math"
	"reflect"
	"strings"
	"sync"
	"time"
)

// Context is the page context: everything that an expression may read after a
// page. Expressions are checked against it, so a misspelt name is a compile
// error.
//
// Names inside body, items, state and job.params are not checked before a run: an
// absent value there is nil, a comparison with nil is false, and arithmetic with
// nil is nil. Integers keep all their digits.
//
// The struct is also the table of these fields. [ContextFields] reads its tags,
// and the reference, the compiler's checks and its proofs are derived from them:
//
//	expr      the name in expressions
//	doc       the meaning, as the reference prints it
//	phase     the [Phase] from which the value is known; by default that of the struct
//	range     the interval of its numbers, as "1.." or "200..599"; the value is never nil
//	counts    the unit that it counts: pages, items, bytes or seconds; it never decreases
//	declared  the key of the configuration that declares the names in it
//	saved     "true" if a checkpoint holds the value; other values follow from the
//	          configuration or from the next response
//	scope     the [Scope] whose rules alone may read it
//	response  "true" for a part of the response, but not a total or a comparison of pages
//
// A field whose name is "-" is not part of the table. The fields of an embedded struct are.
type Context struct {
	Page  int   `expr:"page" saved:"true" phase:"plan" range:"1..page" counts:"pages" doc:"number of this page, from 1; 0 before the first"`
	Body  any   `expr:"body" response:"true" doc:"the decoded response"`
	Items []any `expr:"items" response:"true" doc:"the page's items as the API sent them"`
	Count int   `expr:"count" response:"true" saved:"true" range:"0.." doc:"number of items on the page"`
	Bytes int   `expr:"bytes" saved:"true" range:"0.." doc:"size of this response as minified JSON"`

	Status int              `expr:"status" response:"true" saved:"true" range:"200..599" doc:"HTTP status"`
	Header func(string) any `expr:"header" response:"true" doc:"value of a response header, nil when absent: header(\"X-Total\")"`

	Link linkFunc `expr:"link" response:"true" doc:"target, or a parameter, of a Link header (RFC 8288): link(\"next\", \"results\")"`

	Total Total          `expr:"total" saved:"true" doc:"totals of this list, this page included"`
	Limit any            `expr:"limit" phase:"job" doc:"page size in effect; nil if none"`
	Sent  Sent           `expr:"sent" doc:"the request that returned this page"`
	Prev  *Past          `expr:"prev" doc:"the previous page; nil on the first"`
	First *Past          `expr:"first" saved:"true" phase:"first" doc:"the first page, which may be this page"`
	State map[string]any `expr:"state" saved:"true" phase:"plan" declared:"state" doc:"the variables of this list"`
	Kept  map[string]any `expr:"kept" phase:"job" declared:"keep" doc:"values that the previous run saved, by their names in keep"`
	Input map[string]any `expr:"input" phase:"job" declared:"inputs" doc:"values that the run sets, by their names in inputs"`
	Job   JobFacts       `expr:"job" phase:"job" doc:"the job"`

	Partition map[string]any `expr:"partition" phase:"job" declared:"for" doc:"the variables of for, by name; order is partition.order"`

	Comparisons

	Item    any `expr:"item" scope:"item" doc:"the item that filter or fields is about"`
	Key     any `expr:"key" scope:"item" doc:"below a star of dataField over an object: the name of the member with the item; else nil"`
	Login   any `expr:"login" phase:"job" scope:"login" doc:"the response of the login: status, headers and body"`
	Request any `expr:"request" phase:"job" scope:"sign" doc:"the request to sign as it is sent: method, url, path, query, headers, body"`

	UUID func() string `expr:"uuid" phase:"job" scope:"sign" doc:"a random UUID; the same for the whole request"`

	List  *ListFacts `expr:"list" scope:"audit" doc:"what the job noticed of the list as a whole"`
	Signs *Signs     `expr:"signs" scope:"audit" doc:"what the last response says about its list"`

	Partitions *PartitionFacts `expr:"partitions" scope:"audit" doc:"what the job noticed of its partitions, when all have ended"`

	Now func() time.Time `expr:"now" doc:"time of this page's request, the same for the whole page; tests begin at 2026-01-01 00:00 UTC"`

	// Values decodes the page's items when rules read them. If it is nil, Items holds them.
	Values ItemReader `expr:"-"`
}

// The names of the fields that Go code refers to: ContextBody is that of the field Body.
const (
	ContextPage   = "page"
	ContextBody   = "body"
	ContextItems  = "items"
	ContextCount  = "count"
	ContextHeader = "header"
	ContextLink   = "link"
	ContextTotal  = "total"
	ContextLimit  = "limit"
	ContextSent   = "sent"
	ContextPrev   = "prev"
	ContextFirst  = "first"
	ContextState  = "state"
	ContextKept   = "kept"
	ContextInput  = "input"
	ContextJob    = "job"
	ContextItem   = "item"
	ContextKey    = "key"
	ContextLogin  = "login"
	ContextUUID   = "uuid"
	ContextNow    = "now"

	ContextPartition = "partition"
)

// Comparisons holds the comparisons of a page, or of its request, with earlier ones.
type Comparisons struct {
	SamePage bool `expr:"samePage" doc:"whether its body equals the one before, less whitespace and guards.ignore; false in onError"`

	RepeatedExchange bool `expr:"repeatedExchange" doc:"whether an earlier request was the same, and so was the body of its response"`
	RepeatedRequest  bool `expr:"repeatedRequest" doc:"whether an earlier request was the same, and so was what rules read in its response"`

	SameItems     int `expr:"sameItems" saved:"true" range:"0..page" doc:"pages in a row to this one with the same items; 0 if empty"`
	RepeatedItems int `expr:"repeatedItems" saved:"true" range:"0..page" doc:"pages in a row with only items of earlier pages"`
	EmptyPages    int `expr:"emptyPages" saved:"true" range:"0..page" doc:"pages in a row without an item; see guards.emptyPages"`

	EmptyWindow bool `expr:"emptyWindow" doc:"whether an empty page equals the last, but requests differ and another rule can end the list"`

	Polled bool `expr:"polled" doc:"whether this request repeats the previous one after a wait (nextRequest.after)"`
}

// A linkFunc returns the target of the Link header with a relation or, if it is given the name of a
// parameter, that parameter.
type linkFunc = func(relation string, parameter ...string) any

// Total holds the totals of a list so far, including the current page.
type Total struct {
	Pages   int     `expr:"pages" phase:"plan" range:"1.." counts:"pages" doc:"number of pages"`
	Items   int     `expr:"items" range:"0.." counts:"items" doc:"number of items"`
	Bytes   int     `expr:"bytes" range:"0.." counts:"bytes" doc:"bytes of minified JSON"`
	Seconds float64 `expr:"seconds" range:"0.." counts:"seconds" doc:"seconds since the list began"`
}

// Sent is the request that returned a page.
type Sent struct {
	Method  string `expr:"method" doc:"HTTP method"`
	URL     string `expr:"url" doc:"full address, without credentials"`
	Params  any    `expr:"params" doc:"parameters by name"`
	Headers any    `expr:"headers" doc:"headers by name, without credentials"`
	Body    any    `expr:"body" doc:"JSON body; nil when there was none"`
}

// Past is an earlier page. Its fields are named like those of [Context].
type Past struct {
	Page   int   `expr:"page" doc:"its number"`
	Body   any   `expr:"body" doc:"its decoded response"`
	Items  []any `expr:"items" doc:"its items"`
	Count  int   `expr:"count" doc:"number of its items"`
	Bytes  int   `expr:"bytes" doc:"its size as minified JSON"`
	Status int   `expr:"status" doc:"its HTTP status"`
	Total  Total `expr:"total" doc:"the totals after it"`
	Sent   Sent  `expr:"sent" doc:"the request that returned it"`
}

// JobFacts is the job as expressions see it.
type JobFacts struct {
	ID       string `expr:"id" doc:"its id"`
	Endpoint string `expr:"endpoint" doc:"its endpoint"`
	Params   any    `expr:"params" doc:"its parameters by name"`
}

// ContextField is one row of the table of fields of [Context].
type ContextField struct {
	Name     string // its name in an expression: "pages" for total.pages
	Doc      string
	Type     reflect.Type
	Index    []int  // position in its struct, as [reflect.Value.FieldByIndex] takes it
	Phase    Phase  // when its value is known
	Range    *Range // range of its values; nil if it is not a number, or may be nil
	UpToPage bool   // it is never greater than the number of the page
	Counts   string // "pages", "items", "bytes" or "seconds"; empty for a field that counts nothing
	Declared string // configuration key that declares its names; may be empty
	Saved    bool   // a checkpoint holds it
	Scope    Scope  // only rules of this scope may read it; if it is empty, all rules may
	Response bool   // it is a part of the response, and not a total or a comparison of pages
	Compares bool   // it compares the page, or its request, with earlier ones

	Fields []ContextField // the fields of an object with fixed names
}

// Scope says which rules may read a field of the context.
type Scope string

// The scopes.
const (
	ScopePage  Scope = ""      // the rules of a page, which read only the fields of all rules
	ScopeAudit Scope = "audit" // the rules of the audit
	ScopeItem  Scope = "item"  // filter and fields, which are evaluated for each item
	ScopeLogin Scope = "login" // the parts of requests that the response of a login gives
	ScopeSign  Scope = "sign"  // the parts of requests that sign them
)

// A scopeRow describes the fields that only the rules of a scope may read.
type scopeRow struct {
	hint    string   // says where the fields may be read
	object  string   // the field that is an object; empty if there is no such field
	members []string // the members of the object
}

// scopes is the table of the scopes whose fields users meet.
var scopes = map[Scope]scopeRow{
	ScopeItem: {hint: "only filter and fields read single items; items has the items of the page"},
	ScopeLogin: {
		hint:   "only the credentials of a login read its response",
		object: "login", members: []string{"status", "headers", "body"},
	},
	ScopeSign: {
		hint:   "only the credentials of type sign read the request; sent has the request of the page",
		object: "request", members: []string{"method", "url", "path", "query", "headers", "body"},
	},
}

// Hint says where the fields of the scope may be read. It is empty for the scopes of a page and the audit.
func (s Scope) Hint() string { return scopes[s].hint }

// Object returns the object that only the rules of the scope may read, and the names of its members.
// The name is empty if there is no such object.
func (s Scope) Object() (name string, members []string) { return scopes[s].object, scopes[s].members }

// A Phase is the point of a run from which the value of a context field is available. An expression may read
// only fields that are available when it is evaluated.
type Phase string

// The phases.
const (
	PhaseJob      Phase = "job"      // before the first request; it is the same on every page
	PhasePlan     Phase = "plan"     // before the page's request, without any response
	PhaseFirst    Phase = "first"    // with the first response; it is the same on every page
	PhaseResponse Phase = "response" // with the page's response
)

// Range is an interval of numbers, ends included.
type Range struct{ Low, High float64 }

// ContextFields returns the fields of [Context] in their order. Callers must not change them.
func ContextFields() []ContextField { return contextFields() }

var contextFields = sync.OnceValue(func() []ContextField {
	return fieldsOfContext(reflect.TypeFor[Context](), PhaseResponse, false)
})

// fieldsOfContext returns the rows for the fields of a struct whose value is known from a phase. If the
// struct is optional, a pointer to it may be nil, and so may its fields.
func fieldsOfContext(t reflect.Type, phase Phase, optional bool) []ContextField {
	var fields []ContextField
	for _, f := range reflect.VisibleFields(t) {
		if f.Anonymous || f.Tag.Get("expr") == "-" {
			continue
		}
		row := ContextField{
			Name: f.Tag.Get("expr"), Doc: f.Tag.Get("doc"), Type: f.Type, Index: f.Index, Phase: phase,
			Declared: f.Tag.Get("declared"), Saved: f.Tag.Get("saved") == "true", Scope: Scope(f.Tag.Get("scope")),
			Response: f.Tag.Get("response") == "true", Compares: t.Field(f.Index[0]).Type == reflect.TypeFor[Comparisons](),
		}
		if !optional {
			row.Counts = f.Tag.Get("counts")
			row.Range, row.UpToPage = parseRange(f.Tag.Get("range"))
			row.Phase = cmp.Or(Phase(f.Tag.Get("phase")), row.Phase)
		}
		object, pointer := f.Type, f.Type.Kind() == reflect.Pointer
		if pointer {
			object = f.Type.Elem()
		}
		if object.Kind() == reflect.Struct {
			row.Fields = fieldsOfContext(object, row.Phase, optional || pointer)
		}
		fields = append(fields, row)
	}
	return fields
}

// parseRange reads the range tag: "1..", "200..599", "0..page". It reports whether the range ends at the number of the page.
func parseRange(text string) (r *Range, upToPage bool) {
	if text == "" {
		return nil, false
	}
	text, upToPage = strings.CutSuffix(text, "page")
	low, high, _ := strings.Cut(text, "..")
	r = &Range{High: math.Inf(1)}
	_, err := fmt.Sscan(low, &r.Low)
	if high != "" && err == nil {
		_, err = fmt.Sscan(high, &r.High)
	}
	if err != nil {
		panic(fmt.Sprintf("rules: tag of Context: %v", err))
	}
	return r, upToPage
}

// ItemReader holds the items of a page, and decodes their values when rules read them. It is
// valid until the next page is read, and serves one goroutine.
type ItemReader interface {
	// Len returns the number of items.
	Len() int

	// Items returns the items as a list that must not be changed. An element is the value of the
	// item or, if rules read only some paths of items, an [ItemRow].
	Items() ([]any, error)

	// Item returns the value of item i, which is at least 0 and less than Len. If it cannot be decoded, because of a
	// number that is too large to compute with, Item returns its part at a path.
	Item(i int, path []string) (any, error)

	// Column returns the value at a path of every item, nil where it is absent. It reports
	// false if Items returns no rows.
	Column(path []string) ([]any, bool, error)
}

// ItemRow is an item that has only the paths that rules read.
type ItemRow interface {
	// Field returns the value at a path of the item, and whether the item has it.
	Field(path []string) (v any, present bool, err error)
}
