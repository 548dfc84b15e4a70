package explain

import (
	"maps"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/compile/language"
	"github.com/stopwhen/stopwhen/rules"
)

// A TermExplanation explains a name or a function in the expressions.
type TermExplanation struct {
	Name string `json:"name" doc:"the name, or the function as it is called"`
	Says string `json:"says" doc:"what it means"`
}

// explainedNames are the fields of the page context that are explained if a rule reads them.
var explainedNames = []string{"page", "first", "sent", "prev", "samePage", "emptyWindow", "polled", "key", "request", "uuid"}

// lacking are the names whose members a response, an item or the previous run may lack.
var lacking = []string{"body", "header", "link", "item", "items", "kept", "first", "prev"}

// isCompared reports whether an expression may compare a value that is missing with < or >: one of a response or an item, or, in
// a predicate, a member of an element.
func (r RuleExplanation) isCompared() bool {
	return strings.ContainsAny(r.Source, "<>") && (r.rule.Role == rules.RoleFor || strings.Contains(r.Source, " .") ||
		slices.ContainsFunc(r.Reads, func(name string) bool {
			return strings.ContainsAny(name, ".[(") && slices.Contains(lacking, name[:strings.IndexAny(name, ".[(")])
		}))
}

// usedNames are the functions and names that expressions use.
type usedNames struct {
	calls, reads map[string]bool
	compares     bool // whether an expression compares such a value as it is with < or >
	replaces     bool // whether an expression has the operator ??
	filters      bool // whether such an expression is a filter
	joins        bool // whether an expression adds such a value with +
	totals       bool // whether an expression reads total as a whole
	lacks        bool // whether an expression compares, or one of the configuration reads, a value that a response or an item may lack
}

// add adds the names that the expressions of rules use.
func (u *usedNames) add(list []RuleExplanation) {
	if u.calls == nil {
		u.calls, u.reads = map[string]bool{}, map[string]bool{}
	}
	for _, r := range list {
		u.replaces = u.replaces || strings.Contains(r.Source, "??")
		if r.isCompared() {
			u.lacks, u.compares = true, u.compares || !strings.Contains(r.Source, "number(")
			u.filters = u.filters || r.rule.Role == rules.RoleFilter
		}
		for _, name := range r.calls {
			u.calls[name] = true
		}
		for _, name := range r.Reads {
			u.reads[name] = true
			root := name[:max(0, strings.IndexAny(name, ".[("))]
			u.reads[root] = true
			u.totals = u.totals || name == "total" || root == "total" && name != "total.seconds" && r.Origin.IsConfig()
			u.joins = u.joins || strings.Contains(r.Source, " + ") && slices.Contains(lacking, root)
			if r.Origin.IsConfig() && slices.Contains(lacking, root) {
				u.lacks = true
			}
		}
	}
}

// join adds the names of other.
func (u *usedNames) join(other usedNames) {
	u.add(nil)
	u.compares, u.replaces, u.lacks = u.compares || other.compares, u.replaces || other.replaces, u.lacks || other.lacks
	u.joins, u.totals, u.filters = u.joins || other.joins, u.totals || other.totals, u.filters || other.filters
	maps.Copy(u.calls, other.calls)
	maps.Copy(u.reads, other.reads)
}

// terms returns the functions and the less obvious names, in the order of their tables.
func (u usedNames) terms() (terms []TermExplanation) {
	predicates := false
	for _, f := range slices.Concat(language.Builtin().Functions(), language.Library()) {
		if u.calls[f.Name] {
			terms = append(terms, TermExplanation{Name: f.Signature, Says: f.Doc})
			predicates = predicates || strings.Contains(f.Signature, "predicate")
		}
	}
	if predicates {
		terms = append(terms, TermExplanation{Name: "#, .name", Says: "in a predicate, the element of the list, and its " +
			"member name; a list that is nil is empty"})
	}
	if u.calls[".Format"] {
		terms = append(terms, TermExplanation{Name: ".Format(layout)", Says: "a time as text; the layout is how 2 January " +
			"2006 at 15:04:05 is written in that form"})
	}
	for _, f := range rules.ContextFields() {
		if u.reads[f.Name] && slices.Contains(explainedNames, f.Name) {
			terms = append(terms, TermExplanation{Name: f.Name, Says: f.Doc})
		}
	}
	if u.reads["now"] {
		terms = append(terms, TermExplanation{Name: "now()", Says: "in for, the start of the run, or of the one that it continues; in what is " +
			"computed before the first request, the start of the list, also for a run that continues it; " +
			"otherwise the time at which the request of the page was made; " +
			"in the time zone of the machine"})
	}
	if u.reads["total.seconds"] {
		terms = append(terms, TermExplanation{Name: "total.seconds", Says: "the time since the list began, waits included, to which a run " +
			"that continues adds its own"})
	}
	if u.totals {
		terms = append(terms, TermExplanation{Name: "total", Says: "what the list has had so far: total.pages, total.items and total.bytes; " +
			"it is not a total of a response"})
	}
	if u.joins {
		terms = append(terms, TermExplanation{Name: "a + b", Says: "two texts are joined, and two numbers added; a text and a number " +
			"fail the rule"})
	}
	if u.compares {
		filter := ""
		if u.filters {
			filter = ", or a filter leaves the item out"
		}
		terms = append(terms, TermExplanation{Name: "a < b", Says: "numbers are compared by their value, and so are a number and a text that " +
			"is one; a number and another text fail the rule" + filter + "; two texts are compared as texts, " +
			"unless both are times in a form that date(…) reads: " +
			"\"9\" comes after \"10\", and the log warns"})
	}
	if u.replaces {
		terms = append(terms, TermExplanation{Name: "a ?? b", Says: "a, or b if a is nil"})
	}
	if u.lacks {
		terms = append(terms, TermExplanation{Name: "nil", Says: "a value that is missing or null, such as items[-1] of an empty page, or " +
			"a member of a text: a comparison with it is false, unless it is == or !=, and it is in no list; arithmetic with it " +
			"gives nil, and so does a function, unless its text says otherwise; a condition that is nil is false, and one that is " +
			"neither true nor false fails the rule; " +
			"a part of a request that is nil is left out (" + nilInJSON + "); the log names a path that " +
			"page 1 lacks, unless it is a link or the rule tests whether it is there"})
	}
	return terms
}

// terms returns the functions and the less obvious names in all rules.
func (e *Explanation) terms() []TermExplanation {
	var used usedNames
	used.add(e.Auth.rules())
	for i := range e.Jobs {
		x := &e.Jobs[i]
		used.add(slices.Concat(x.variables(), x.Computed, x.State, x.Next, x.Shape, x.Stops, x.OnError, x.Keep))
	}
	return used.terms()
}
