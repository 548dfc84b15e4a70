package rules

import (
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/requests"
)

// Rule is one expression of a job, with its use and its origin. Lowering turns every configuration
// into a list of rules, and nothing else: the loop knows no method, guard or limit.
//
// Every rule has the fields up to Origin. Each of the fields from Outcome to Audit belongs to one role or to some
// roles, and is zero in all other rules.
type Rule struct {
	ID     string // "forceStop.pages", "state.offset.next", "nextRequest.params.limit"
	Role   Role   // the use of its value
	Target string // the variable, parameter, header, body path or member of an item that it sets; "" merges an object
	Source string // the expression
	Shared bool   // the rule belongs to a pagination with method multiple, and applies to each of its scrollers
	Origin Origin

	Outcome  Outcome // the outcome of a stopping rule, or of an onError rule that ends the list
	Guard    bool    // the stopping rule is a guard: if it fails the run, the class is policy
	ForIndex int     // of a rule of for, or of a stopping rule that splits windows: the position of the variable in for

	Stop    Stopping  // of [RoleStop]
	OnError Handling  // of [RoleOnError]
	Sending Sending   // of the parts of requests: see [Role.Builds]
	Audit   *Auditing // of [RoleAudit]; shared by all jobs, and never changed

	// The other fields are for people. They have no effect on the requests and the end of a list.

	Clause        string // completes "stops when …" or "starts at …"
	ValueInWords  string // Source in words, if it reads the response: "the link at links.next"
	Message       string // text of the log when a stopping rule or an onError rule is met; {…} holds an expression
	CustomMessage bool   // the user wrote Message
	NamesJob      bool   // Message names the job
	Hint          string // hint of the error when a stopping rule fails the run, or for a job whose own value of a part is overridden
	Uses          []Use  // the settings that a rule of a method depends on
}

// BelongsToFor reports whether the rule belongs to a variable of for, or to keepFor.
func (r Rule) BelongsToFor() bool {
	return r.Role == RoleFor || r.Role == RoleKeepFor || r.Outcome == Split
}

// SelectsItems reports whether the rule is a condition on items: the filter, or when of for.
func (r Rule) SelectsItems() bool {
	return r.Role == RoleFilter || r.Role == RoleFor && r.Target == "when"
}

// DefaultMessage returns the message for a rule without a message, or with one that is empty on a page.
// The argument is the reason for which the rule is met; it may be empty.
func (r Rule) DefaultMessage(why string) string {
	if why == "" {
		return r.ID + " is met"
	}
	return r.ID + " is met: " + why
}

// Stopping holds the fields of rules with role [RoleStop]. Their rows have them, too: see [StopRule].
type Stopping struct {
	Drop         bool   // the items of the page on which the rule is met are not emitted; the Clause of a guard does not mention it
	ExceptPolled bool   // the rule is not met by a poll: a request that is repeated after a wait, and expects the same response again
	CauseBefore  bool   // of a guard: its cause is on pages before the last, so that a list that it fails must be read from the start
	ExpectsRead  bool   // responses have the values that it reads: if no response has them, the configuration is probably wrong
	Signal       Signal // what it reads of the response, if a key of the configuration names it
}

// A Signal is what a stopping rule reads of a response, in the tables of stopping rules. The zero value means that it
// is not known.
type Signal string

// The signals.
const (
	SignalTotal   Signal = "total"    // the number of items in the list
	SignalNoTotal Signal = "no total" // that there is no such number
	SignalFlag    Signal = "flag"     // a flag that says whether there are more pages
)

// Handling holds the fields of rules with role [RoleOnError].
type Handling struct {
	Do ErrorAction
	On string // the responses that it judges: [OnError], [OnSuccess] or [OnAny]
}

// Judges reports whether the rule is for a response with a status.
func (h Handling) Judges(status int) bool {
	return h.On == OnAny || (h.On == OnSuccess) == requests.IsPage(status)
}

// Sending holds the fields of rules that are parts of requests: see [Role.Builds].
type Sending struct {
	First      bool // the first request has it
	Subsequent bool // the requests after the first have it
	FirstBy    *Use // the setting that says whether the first request has it; may be nil
	Secret     bool // its value must never be printed

	PerPartition bool // it is evaluated once, before the first request of a partition, and belongs to the job's own request
	Common       bool // with PerPartition: every request has it, even if the job's own parameters are left out

	Since *Cursor // the cursor of the items with which the sent value is compared; nil unless it is the kept value of incremental
}

// A Cursor is the member of the items by which they are ordered, such as the time of their last change.
type Cursor struct {
	Keys   []string // its path
	Format string   // the form of times: a layout, [UnixSeconds] or [UnixMillis]; empty if any form will do
	Kept   string   // the name of the value that is kept of it
	Within []string // the path of the sent value within the value of the rule; empty if that is sent whole
	Lags   bool     // by design, the value that is sent may be earlier than the kept one
	First  any      // the value in the first run, or its expression, as it is configured; nil if there is none
}

// Auditing holds the fields of rules with role [RoleAudit].
type Auditing struct {
	Requires Facts     // facts without which the rule is not met; if it is 0, the rule may be met in any list
	Also     []Outcome // outcomes after which the rule is evaluated, besides Complete
	Proof    Proof     // when the finding is evidence, and not a hint
	Splits   bool      // only jobs whose windows may be split have the rule

	// The other fields explain the rule, and have no effect on a run.

	About   Topics      // a list that lacks one of them cannot have the finding
	OnError ErrorAction // the action of the onError rules that it is about; empty if it is about none
	Adds    bool        // adding the rows to a file makes the finding evidence
}

// Topics is a set of what an audit rule may be about.
type Topics uint32

// The topics, which can be combined.
const (
	AboutKept          Topics = 1 << iota // values that the job keeps for the next run
	AboutUnsent                           // first requests that do not depend on these values
	AboutFirst                            // first requests, stopping rules or filters that depend on them
	AboutUnbounded                        // lists that no kept value bounds after the first request
	AboutSent                             // the kept value that the first request sends
	AboutNumber                           // a number in responses with which a stopping rule compares those of items or pages
	AboutLinks                            // links whose parameters those of the job override
	AboutPosition                         // requests that name positions in the list
	AboutPages                            // several pages of the list, which are compared
	AboutUnpaged                          // a job that is not paged
	AboutOneList                          // the items of one list: several lists may have an item in common
	AboutKey                              // the key of the items
	AboutAhead                            // pages that are requested ahead of their turn
	AboutPartitions                       // several partitions, which are compared
	AboutPlace                            // the place of the list in a response; the lines of CSV and NDJSON have none
	AboutGaps                             // empty pages between others
	AboutFirstPosition                    // the position that the first request names
)

// IsAbout reports whether the rule is about a topic, besides others.
func (a Auditing) IsAbout(topic Topics) bool { return a.About&topic != 0 }

// A Weight says how much a finding means.
type Weight string

// The weights.
const (
	WeightEvidence Weight = "evidence" // a response itself states that the list is incomplete, or is not a page of the list
	WeightHint     Weight = "hint"     // every other finding
)

// Role is the purpose of the value of a rule.
type Role string

// The roles.
const (
	RoleInit          Role = "init"           // a variable's value before the first request
	RoleStop          Role = "stop"           // true ends the job after this page
	RoleNext          Role = "next"           // a variable's value after a page
	RoleURL           Role = "url"            // the next request's address
	RoleEndpoint      Role = "endpoint"       // the next request's endpoint
	RoleBaseURL       Role = "baseUrl"        // the address that endpoints are resolved against, for each partition
	RoleAllowedOrigin Role = "allowedOrigins" // another origin that links and redirects may point to, for each partition
	RoleVerb          Role = "method"         // the next request's method
	RoleParam         Role = "params"         // a parameter of the next request
	RoleHeader        Role = "headers"        // a header of the next request
	RoleBody          Role = "body"           // a value in the JSON body of the next request
	RoleAfter         Role = "after"          // how long to wait before the next request
	RoleOnError       Role = "onError"        // true decides the action after an error response
	RoleKeep          Role = "keep"           // a value for the next run
	RoleFilter        Role = "filter"         // true lets an item pass
	RoleSet           Role = "set"            // the value of a member of an item
	RoleRemove        Role = "remove"         // removes a member of an item; it has no value
	RoleFor           Role = "for"            // the values of a variable of for, or a condition on them
	RoleKeepFor       Role = "keepFor"        // tells apart the partitions whose kept values are their own
	RoleAudit         Role = "audit"          // true after the last page is a sign that the list is incomplete
	RoleProbe         Role = "probe"          // a value that is shown to the user: see engine.Engine.Evaluate
)

// Scope returns the scope of rules with the role: the names that they may read besides the names of all
// rules.
func (r Role) Scope() Scope {
	switch r {
	case RoleAudit:
		return ScopeAudit
	case RoleFilter, RoleSet, RoleRemove, RoleProbe:
		return ScopeItem
	}
	return ScopePage
}

// Addresses reports whether the value is the address of the next request. A missing or empty address
// ends the list.
func (r Role) Addresses() bool { return r == RoleURL || r == RoleEndpoint }

// Builds reports whether the rule is part of the next request.
func (r Role) Builds() bool {
	switch r {
	case RoleURL, RoleEndpoint, RoleBaseURL, RoleAllowedOrigin, RoleVerb, RoleParam, RoleHeader, RoleBody, RoleAfter:
		return true
	}
	return false
}

// IsCondition reports whether the value is true or false.
func (r Role) IsCondition() bool { return r == RoleStop || r == RoleOnError || r == RoleFilter }

// ErrorAction is the action of an onError rule on an error response. The zero value is no
// decision.
type ErrorAction string

// The actions.
const (
	ErrorStop     ErrorAction = "stop"     // ends the list
	ErrorRetry    ErrorAction = "retry"    // makes the request again
	ErrorRestart  ErrorAction = "restart"  // starts again from the first request
	ErrorFail     ErrorAction = "fail"     // fails the run
	ErrorContinue ErrorAction = "continue" // takes the body of the error as a page
)

// Origin says who wrote a rule, and where.
type Origin struct {
	By   Author        `json:"by" doc:"config, default, or the method"`
	Path string        `json:"path,omitempty" doc:"config path of the setting that it comes from"`
	File string        `json:"file,omitempty" doc:"file name"`
	At   diag.Position `json:"at,omitzero" doc:"position in the file; absent: built in, or written in Go"`
}

// IsConfig reports whether the configuration is the author, rather than a table or an option of the run.
func (o Origin) IsConfig() bool { return o.By.Kind == AuthorConfig }

// Author is who wrote a rule.
type Author struct {
	Kind   AuthorKind
	Method string // the name of the method, if Kind is AuthorMethod
}

// AuthorKind is a kind of author.
type AuthorKind int

// The kinds of authors.
const (
	AuthorConfig  AuthorKind = iota // the configuration has the rule
	AuthorDefault                   // the rule is in force unless the configuration says otherwise
	AuthorMethod                    // the rule is part of the method
	AuthorOption                    // an option of the run has added the rule
)

// String returns "config", "default", "option" or, for example, "method offset".
func (a Author) String() string {
	switch a.Kind {
	case AuthorDefault:
		return "default"
	case AuthorMethod:
		return "method " + a.Method
	case AuthorOption:
		return "option"
	}
	return "config"
}

// MarshalText returns [Author.String].
func (a Author) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// String names the origin for people: "method offset", or the path in the pagination
// and the location.
func (o Origin) String() string {
	if o.By.Kind == AuthorMethod || o.Path == "" {
		return o.By.String()
	}
	path := strings.TrimPrefix(o.Path, "parameters.")
	path = strings.TrimPrefix(path, "api.pagination.")
	if place := o.At.In(o.File); place != "" {
		path += ", " + place
	}
	return path
}

// Outcome says whether a list that has ended is complete, and why not.
type Outcome string

// The outcomes.
const (
	Complete Outcome = "complete" // the API said or showed that there is no more
	Limited  Outcome = "limited"  // a limit of the user was reached; there may be more
	Guarded  Outcome = "guarded"  // a guard ended a job that made no progress; there may be more
	Failed   Outcome = "failed"   // the run failed; the pages before are valid
	Partial  Outcome = "partial"  // partitions that failed were skipped; the pages of the others are valid
	Split    Outcome = "split"    // the window of a partition is read again in two halves
)

// byRank holds the outcomes of lists and of jobs, from best to worst.
var byRank = []Outcome{Complete, Limited, Guarded, Partial, Failed}

// Worse reports whether o is a worse outcome than other. The outcome of a job is the worst of its
// partitions. Every outcome of a list is worse than "".
func (o Outcome) Worse(other Outcome) bool {
	return slices.Index(byRank, o) > slices.Index(byRank, other)
}

// IsFinal reports whether o is the outcome of a list or of a job: any outcome but [Split] and "".
func (o Outcome) IsFinal() bool { return slices.Contains(byRank, o) }

func outcomeNames() []string {
	return []string{string(Complete), string(Limited), string(Guarded), string(Failed)}
}

// Ruleset holds the rules of one job, with the settings of the job that no rule expresses.
type Ruleset struct {
	Job        Job
	Path       string // config path of the pagination object
	Method     string // "" if the job is not paged
	Scroller   string // the job's scroller, if the method is multiple
	Parent     string // id of the parent of the job; may be empty
	Dialect    Dialect
	Limit      any    // page size in force: an int, or nil
	LimitFrom  Origin // origin of the page size, or of a parameter of the job that overrides it and is not a number
	LimitParam string // the parameter of the job that sets it, if the parameter is computed; Limit is nil then
	ItemsFrom  Origin // origin of the path of the items; zero if the path is found automatically
	Rules      []Rule // in the order of evaluation, for each role

	// The names that expressions may select from state, kept, input and partition. ForNames
	// has the names of the job's ancestors first.
	StateNames, KeptNames, InputNames, ForNames []string

	IncludeParams    bool // the job's params are sent with every request, and not only with the first
	OmissionIntended bool // the configuration, and not a default, says that they are not

	Ignore          [][]string // paths that the same-page check ignores
	Unused          []Unused   // rules of the tables that are not in force
	IgnoredFindings []string   // ids of the audit rules that are left out
}
