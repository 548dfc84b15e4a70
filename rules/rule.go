package rules

import (
	"strings"

	"github.com/stopwhen/stopwhen/rules/diag"
)

// Rule is one expression of a scroll, with everything that is known of it
// before it is compiled. Lowering turns every configuration into a list of
// these, and nothing else: the loop knows no method, guard or limit.
type Rule struct {
	ID      string  // "forceStop.pages", "state.offset.next", "nextRequest.params.limit"
	Role    Role    // what its value is for
	Target  string  // the variable, parameter, header or body path it gives a value; "" merges an object
	Source  string  // the expression
	Outcome Outcome // of a Stop
	Policy  bool    // of a Stop: it is a guard, and Failed is a breach of policy
	Drop    bool    // of a Stop: the page's items are not emitted
	First   bool    // of a part of the request: the first request has it
	Later   bool    // of a part of the request: those after it have it
	Do      string  // of an OnError: stop, retry, restart, fail or continue
	Message string  // for the log when a Stop or OnError is met; {…} holds an expression
	Says    string  // one English clause: "stops when …", "starts at …"
	Origin  Origin
}

// Role says what the value of a rule is for.
type Role string

const (
	Init     Role = "init"     // a variable's value before the first request
	Stop     Role = "stop"     // true ends the scrolling after this page
	Next     Role = "next"     // a variable's value after a page
	URL      Role = "url"      // the next request's address
	Endpoint Role = "endpoint" // the next request's endpoint
	HTTPVerb Role = "method"   // the next request's method
	Param    Role = "params"   // a parameter of the next request
	Header   Role = "headers"  // a header of the next request
	Body     Role = "body"     // a value in the JSON body of the next request
	OnError  Role = "onError"  // true decides what becomes of an error response
	Keep     Role = "keep"     // a value for the next run
	Suspect  Role = "audit"    // true after the last page is a sign that the list is not whole
)

// Builds tells whether the role is part of the next request.
func (r Role) Builds() bool {
	switch r {
	case URL, Endpoint, HTTPVerb, Param, Header, Body:
		return true
	}
	return false
}

// Origin says who wrote a rule, and where.
type Origin struct {
	By   string        `json:"by"`             // "method offset", "default", "config"
	Path string        `json:"path,omitempty"` // config path of the setting that brought it in
	File string        `json:"file,omitempty"`
	At   diag.Position `json:"at,omitzero"` // zero: built in, or built in Go
}

// String names the origin for people: "default of offset", or the path in the
// pagination and the place.
func (o Origin) String() string {
	if method, ok := strings.CutPrefix(o.By, "method "); ok {
		return "default of " + method
	}
	if o.Path == "" {
		return o.By
	}
	path := strings.TrimPrefix(o.Path, "parameters.")
	path = strings.TrimPrefix(path, "api.pagination.")
	if at := o.At.In(o.File); at != "" {
		path += ", " + at
	}
	return path
}

// Ruleset is all that one job does, as rules.
type Ruleset struct {
	Job       Job
	Path      string // config path of the pagination object
	Method    string // "" when the job is not paged
	Scroller  string // with method multiple: the one that was picked
	Dialect   string
	Limit     any    // page size in force: an int, or nil
	LimitFrom Origin // where it was set
	Rules     []Rule // in the order in which they are evaluated

	IncludeParams bool       // the job's params are sent with every request
	Ignore        [][]string // paths that the same-page check passes over
	Variables     []string   // names of the state's variables
	Kept          []string   // names of what is kept for the next run
	Trusted       []string   // ids of the audit rules that are left out

	Source   *diag.Source
	Warnings diag.Diagnostics
}
