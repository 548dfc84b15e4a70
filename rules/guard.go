package rules

// Policy says what a guard does when it matches.
type Policy string

// The policies.
const (
	PolicyStop   Policy = "stop"   // the job ends with the guard's outcome
	PolicyFail   Policy = "fail"   // the run fails
	PolicyIgnore Policy = "ignore" // nothing: the guard is not in force
)

var policies = []string{string(PolicyStop), string(PolicyFail), string(PolicyIgnore)}

// Guard is a stopping rule for an API that makes no progress. Its ID is also its
// key under `guards` in the configuration, which holds its policy. A guard with a
// Threshold always has its default policy, and its key holds a number instead, which
// the source names as ${guards.<ID>}.
type Guard struct {
	ID      string
	When    string // expression, boolean
	Keboola string // the reference's reading, where it differs
	Drop    bool   // the items of the page that matches are not emitted
	Outcome Outcome
	Clause  string // completes "stops when …"
	Message string // for the log; {…} holds an expression
	Hint    string // for the error if it fails the run
	Doc     string // documentation of its key

	Policy        Policy // unless the configuration says otherwise
	KeboolaPolicy Policy // in dialect keboola, where it differs
	Threshold     *Field // kind and defaults of the number, if it has one
}

// builtinGuards is the table of guards, in the order in which they give the
// reason. Guards come before all other stopping rules.
//
// The specification calls a repeated page an end (3.1), while a loop is a fault of
// the API, and ending it quietly would pass for a complete list. The reference has
// only the first guard.
var builtinGuards = []Guard{
	{ID: "samePage", When: `samePage`, Outcome: Complete, Drop: true, Policy: PolicyStop,
		Doc:     "a page equals the one before it",
		Clause:  "a page equals the one before it (its items are not emitted again)",
		Message: "Job '{job.id}' finished when last response matched the previous!",
		Hint:    `if this is how the API ends a list, set "guards": {"samePage": "stop"}`},
	{ID: "repeatedExchange", When: `repeatedExchange`, Outcome: Guarded, Policy: PolicyFail, KeboolaPolicy: PolicyIgnore,
		Doc:     "a request that was made before brings the response that it brought before",
		Clause:  "a request that was made before brings the response that it brought before: the API goes in circles",
		Message: "page {page} repeats an earlier request and its response: the API goes in circles",
		Hint:    `if this is how the API ends a list, set "guards": {"repeatedExchange": "stop"}`},
	{ID: "sameItems", When: `sameItems >= 3`, Outcome: Guarded, Policy: PolicyFail, KeboolaPolicy: PolicyIgnore,
		Doc:     "three pages in a row have the same items in a different wrapper",
		Clause:  "three pages in a row have the same items",
		Message: "page {page} is the third in a row with the same items: the API does not get on",
		Hint:    `if this is how the API ends a list, set "guards": {"sameItems": "stop"}`},
	{ID: "maxPages", When: `total.pages >= ${guards.maxPages}`, Outcome: Guarded, Policy: PolicyFail,
		Threshold: &Field{Kind: Count, Default: 100_000, KeboolaDefault: Off}, // far above any real list
		Doc:       "pages beyond which a scroll has failed",
		Clause:    "there are ${guards.maxPages} pages, which no list of this API should have",
		Message:   "{total.pages} pages: the guard against endless scrolling (guards.maxPages)",
		Hint:      `if the list is that long, raise "guards": {"maxPages": …}`},
}

// field is the guard's key under `guards`.
func (g Guard) field() Field {
	f := Field{Kind: Text, Values: policies, Default: string(g.Policy)}
	if g.KeboolaPolicy != "" {
		f.KeboolaDefault = string(g.KeboolaPolicy)
	}
	if g.Threshold != nil {
		f = *g.Threshold
	}
	f.Name, f.Doc = g.ID, g.Doc
	return f
}

// template is the guard as a stopping rule.
func (g Guard) template() Template {
	t := Template{ID: g.ID, When: g.When, Keboola: g.Keboola, Drop: g.Drop, Outcome: g.Outcome, Clause: g.Clause, Message: g.Message}
	if g.Threshold != nil {
		t.Only = "guards." + g.ID
	}
	return t
}

// policy is what the guard does under a setting of its key in a dialect.
func (g Guard) policy(s setting, dialect string) Policy {
	if g.Threshold == nil {
		return Policy(s.text())
	}
	if dialect == Keboola && g.KeboolaPolicy != "" {
		return g.KeboolaPolicy
	}
	return g.Policy
}
