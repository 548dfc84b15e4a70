package rules

// Policy is the effect of a guard that is met.
type Policy string

// The policies.
const (
	PolicyStop   Policy = "stop"   // the job ends with the guard's outcome
	PolicyFail   Policy = "fail"   // the run fails
	PolicyIgnore Policy = "ignore" // nothing: the guard is not in force
)

var policies = []string{string(PolicyStop), string(PolicyFail), string(PolicyIgnore)}

// Guard is a stopping rule for an API that makes no progress. Its ID is also its key under `guards` in
// the configuration, whose value is the policy. The key of a guard with a Threshold has a number
// instead, which the source names as ${guards.<ID>}; such a guard always has its default policy.
type Guard struct {
	StopRule
	Hint          string // the hint of the error if it fails the run
	Doc           string // documentation of its key
	Policy        Policy // the default
	KeboolaPolicy Policy // the default in dialect keboola, where it differs
	Threshold     *Field // kind and defaults of the number; nil for a guard without a number
}

// builtinGuards is the table of guards, in the order in which they are evaluated: if several are
// met on a page, the first is the reason. Guards come before all other stopping rules but
// splitWhen, which [lowerer.addForRules] puts before all but samePage.
//
// The specification calls a repeated page an end (3.1). A loop is an error of the
// API: if it ended the list quietly, the list would seem to be complete. The
// reference has only the first guard.
var builtinGuards = []Guard{
	{StopRule: StopRule{ID: "samePage", Outcome: Complete, Stopping: Stopping{Drop: true, ExceptPolled: true},
		When:    `samePage and not emptyWindow`,
		Clause:  "a response has the same body as the previous one${ignoring}",
		Message: "Job '{job.id}' finished when last response matched the previous!", NamesJob: true},
		Policy: PolicyStop,
		Doc:    "a response has the same body as the previous one",
		Hint:   `if this is how the API ends a list, set "guards": {"samePage": "stop"}`},
	{StopRule: StopRule{ID: "repeatedExchange", Outcome: Guarded, Stopping: Stopping{ExceptPolled: true, CauseBefore: true},
		When:    `repeatedExchange`,
		Clause:  "a repeated request gets the same body again (a loop)",
		Message: "page {page} repeats an earlier request and gets the same response: the API is in a loop"},
		Policy: PolicyFail, KeboolaPolicy: PolicyIgnore,
		Doc:  "a repeated request gets the same body again (a loop)",
		Hint: `if this is how the API ends a list, set "guards": {"repeatedExchange": "stop"}`},
	{StopRule: StopRule{ID: "sameItems", Outcome: Guarded, Stopping: Stopping{ExceptPolled: true, CauseBefore: true},
		When:    `sameItems >= 3`,
		Clause:  "three pages in a row have the same items",
		Message: "page {page} is the third in a row with the same items: the API makes no progress"},
		Policy: PolicyFail, KeboolaPolicy: PolicyIgnore,
		Doc: "three pages in a row have the same items, by their identifiers, in different wrappers",
		Hint: `if this is how the API ends a list, set "guards": {"sameItems": "stop"}; if each page has the same items at another ` +
			`time, set "key" to their identifier and the time; if they have no time, set "sameItems" to "ignore"`},
	{StopRule: StopRule{ID: "repeatedItems", Outcome: Guarded, Stopping: Stopping{ExceptPolled: true, CauseBefore: true},
		When:    `repeatedItems >= 10`,
		Clause:  "ten pages in a row have nothing but items of earlier pages",
		Message: "page {page} is the tenth in a row that has nothing but items of earlier pages: the API is in a loop"},
		Policy: PolicyFail, KeboolaPolicy: PolicyIgnore,
		Doc: "ten pages in a row have nothing but items of earlier pages, with identifiers, " +
			"and unchanged unless whole pages come again (a loop)",
		Hint: `if this is how the API ends a list, set "guards": {"repeatedItems": "stop"}; if items repeat, set it to "ignore"`},
	{StopRule: StopRule{ID: "repeatedRequest", Outcome: Guarded, Stopping: Stopping{ExceptPolled: true, CauseBefore: true},
		When:    `repeatedRequest`,
		Clause:  "an earlier request is repeated, and brings the same items, with nothing changed that rules read",
		Message: "page {page} repeats an earlier request, and nothing that the rules read has changed: the API is in a loop"},
		Policy: PolicyIgnore,
		Doc: "an earlier request is repeated, and brings the same items, with nothing changed that rules read; do not use it for " +
			"lists with a constant scroll token",
		Hint: `if the API expects the same request again, set "guards": {"repeatedRequest": "ignore"}`},
	{StopRule: StopRule{ID: "emptyPages", Outcome: Guarded, Stopping: Stopping{ExceptPolled: true, CauseBefore: true},
		When:   `emptyPages >= ${guards.emptyPages}`,
		Clause: "${guards.emptyPages pages} in a row have no item (guards.emptyPages)",
		Message: "page {page} is the last of ${guards.emptyPages pages} in a row without an item: " +
			"the API makes no progress (guards.emptyPages)"},
		Policy:    PolicyFail,
		Threshold: &Field{Kind: KindCount, Default: 20, KeboolaDefault: Off},
		Doc: "number of pages in a row without an item at which the run fails, " +
			"unless a rule of `stopRules` ends the list by `state` or `sent` alone",
		Hint: `if the list has such gaps, raise "guards": {"emptyPages": …}; ` +
			`if an empty page is its end, add "stopRules": ["count == 0"]`},
	{StopRule: StopRule{ID: "maxPages", Outcome: Guarded,
		When:    `total.pages >= ${guards.maxPages}`,
		Clause:  "the safety limit of ${guards.maxPages pages} is reached (guards.maxPages)",
		Message: "safety limit reached: {total.pages} of ${guards.maxPages pages} (guards.maxPages)"},
		Policy:    PolicyFail,
		Threshold: &Field{Kind: KindCount, Default: 100_000, KeboolaDefault: Off}, // far above any real list
		Doc:       "number of pages at which the run fails",
		Hint:      `if the list is that long, raise "guards": {"maxPages": …}`},
}

// field returns the guard's key under `guards`.
func (g Guard) field() Field {
	f := Field{Kind: KindText, Values: policies, Default: string(g.Policy)}
	if g.KeboolaPolicy != "" {
		f.KeboolaDefault = string(g.KeboolaPolicy)
	}
	if g.Threshold != nil {
		f = *g.Threshold
	}
	f.Name, f.Doc = g.ID, g.Doc
	return f
}

// policy returns the policy of the guard for a setting of its key.
func (g Guard) policy(s setting, dialect Dialect) Policy {
	if g.Threshold == nil {
		return Policy(s.text())
	}
	if dialect.Switches().keboolaColumns && g.KeboolaPolicy != "" {
		return g.KeboolaPolicy
	}
	return g.Policy
}
