package rules

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/value"
)

// A partition is a job under a binding: the same list, requested with other values of the
// variables of for. It begins with a fresh state, and its guards, limits and audit are its
// own.

// A ForVariable is a variable of for, with one of four kinds of values: the items of another job,
// constants, the values of an expression, or windows.
type ForVariable struct {
	Name      string  // the name of the variable
	Items     string  // ID of the job whose items are the values; empty for the other kinds
	Constants []any   // nil for the other kinds
	Window    *Window // consecutive spans of times or numbers; nil for the other kinds

	given settings
	path  string
}

// ID returns the id of the rule of a key of the variable: "for.window.from".
func (v ForVariable) ID(key string) string { return "for." + v.Name + "." + key }

// A Window says how an interval is divided into windows. Its bounds are rules.
type Window struct {
	Step     Span // zero for a single window
	Overlap  Span // how much earlier each window but the first begins
	Smallest Span // a window that is not larger is not split; if it is zero, one second or the number 1
	Splits   bool // a rule may split a window
}

// The policies for a partition that fails.
const (
	PartitionFail = "fail" // the run ends
	PartitionSkip = "skip" // the partition is counted and named, and the run goes on
)

var forFields = []Field{
	{Name: "items", Kind: Text, Doc: "id of another job: the variable is each of its items, one after another"},
	{Name: "when", Kind: Expression, Doc: "with items: only for the items for which this is true"},
	{Name: "values", Kind: Values, Doc: "a list of values, or an expression that gives a list"},
	{Name: "from", Kind: Moment, Doc: "beginning of the first window: a date, a number, or an expression for a time or a number; " +
		"the variable has `from` and `to`"},
	{Name: "to", Kind: Moment, Doc: "end of the last window, which does not belong to it"},
	{Name: "step", Kind: Length, Doc: "length of a window: `24h`, `7d`, `1mo`, or a number; default: one window"},
	{Name: "overlap", Kind: Length, Doc: "how much earlier every window but the first begins"},
	{Name: "splitWhen", Kind: Expression, Doc: "a stopping rule: a window in which it is met is discarded, and its halves are read instead"},
	{Name: "smallest", Kind: Length, Doc: "length of a window that is not split; default: a second, or the number 1"},
}

var limitsFields = []Field{
	{Name: "partitions", Kind: Count, Subject: "limits", Doc: "maximum number of partitions of a run; the outcome is then limited"},
}

// forVariables reads the variables of a job.
func (d *decoder) forVariables(s setting) []ForVariable {
	var all []ForVariable
	for _, one := range s.list() {
		given, ok := one.Value.(settings)
		if !ok {
			continue
		}
		v := ForVariable{Name: one.Name, Items: given.get("items").text(), given: given, path: one.path()}
		d.readForVariable(&v)
		all = append(all, v)
	}
	return all
}

// valueKeys are the keys of each kind of values. A variable is of a kind if it has the first of its keys.
var valueKeys = [][]string{
	{"items", "when"},
	{"values"},
	{"from", "to", "step", "overlap", "splitWhen", "smallest"},
}

// readForVariable checks that a variable has exactly one kind of values, and reads them.
func (d *decoder) readForVariable(v *ForVariable) {
	if !IsIdentifier(v.Name) {
		d.diags.Errorf(diag.Key(v.path), "a variable needs a name that expressions can use, such as order")
	}
	kind := slices.IndexFunc(valueKeys, func(keys []string) bool { return v.given.get(keys[0]).given() })
	if kind < 0 {
		d.diags.Errorf(diag.Value(v.path), "want one of items, values and from").
			WithHint(`for instance {"items": "orders"}, {"values": ["a", "b"]} or {"from": "2026-01-01", "to": "now()", "step": "7d"}`)
		return
	}
	for i, keys := range valueKeys {
		for _, key := range keys {
			if one := v.given.get(key); i != kind && one.given() {
				d.diags.Errorf(diag.Key(one.path()), "%v does not go with %s", key, valueKeys[kind][0])
			}
		}
	}
	switch valueKeys[kind][0] {
	case "values":
		d.constantValues(v)
	case "from":
		d.window(v)
	}
}

// constantValues reads a list of values, unless an expression gives one of them.
func (d *decoder) constantValues(v *ForVariable) {
	one := v.given.get("values")
	values := d.paramValue(one.path(), one.Value)
	if computedIn(values) != nil {
		v.given = v.given.with("values", setting{Value: sourceOfValue(values), at: one.path()})
		return
	}
	v.Constants, _ = values.([]any)
}

// window reads the lengths of windows.
func (d *decoder) window(v *ForVariable) {
	if to := v.given.get("to"); !to.given() {
		d.diags.Errorf(diag.Value(v.path), "to is missing: the end of the last window")
	}
	w := &Window{Splits: v.given.get("splitWhen").given()}
	w.Step, w.Overlap, w.Smallest = d.span(v.given.get("step")), d.span(v.given.get("overlap")), d.span(v.given.get("smallest"))
	if w.Overlap != (Span{}) && w.Step == (Span{}) {
		d.diags.Errorf(diag.Value(v.given.get("overlap").path()), "overlap needs step: there is only one window")
	}
	if w.Smallest != (Span{}) && !w.Splits {
		d.diags.Errorf(diag.Value(v.given.get("smallest").path()), "smallest needs splitWhen")
	}
	v.Window = w
}

func (d *decoder) span(s setting) Span {
	if s.Value == nil {
		return Span{}
	}
	span, _ := ParseSpan(s.Value) // it was checked
	return span
}

// momentSource returns the expression for the beginning or the end of windows. A date may
// be written as it is.
func momentSource(v any) string {
	text, isText := v.(string)
	if !isText {
		return literal(v)
	}
	if _, err := ParseTime(text); err == nil {
		return fmt.Sprintf("date(%q)", text)
	}
	return text
}

// timeLayouts are the forms of times that are read as they are written.
var timeLayouts = []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02"}

// ParseTime reads a date, or a date and a time. Without a time zone it is UTC.
func ParseTime(text string) (time.Time, error) {
	for _, layout := range timeLayouts {
		if t, err := time.Parse(layout, text); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is not a time like 2026-01-31 or 2026-01-31T12:00:00Z", value.Clip(text, 60))
}

// partitions checks how the jobs depend on each other, and says which variables each can
// read.
func (l *lowerer) partitions(sets []*Ruleset) {
	if !slices.ContainsFunc(sets, func(set *Ruleset) bool { return len(set.Job.For) > 0 }) {
		return
	}
	byID := make(map[string]*Ruleset, len(sets))
	for _, set := range sets {
		if set.Job.ID != "" { // it has one unless there are errors
			byID[set.Job.ID] = set
		}
	}
	for _, set := range sets {
		l.parent(set, byID)
	}
	for _, set := range sets {
		l.cycle(set, byID)
	}
	for _, set := range sets {
		l.forNames(set, byID)
	}
	for _, set := range sets {
		l.forRules(set)
	}
}

// parent finds the parent of a job, whose items the job is run for.
func (l *lowerer) parent(set *Ruleset, byID map[string]*Ruleset) {
	for i, s := range set.Job.For {
		if s.Items == "" {
			continue
		}
		at := diag.Value(s.given.get("items").path())
		switch {
		case byID[s.Items] == nil:
			l.diags.Errorf(at, "no job has the id %q", s.Items).WithHint(nearest(s.Items, l.cfg.jobIDs()))
		case set.Parent != "":
			l.diags.Errorf(at, "a job can have one parent, and the parent of this job is %s already", set.Parent).
				WithHint("a variable of that job can be read here too; to combine two lists, request the second for each item of the first")
		case i > 0:
			l.diags.Errorf(at, "the variable with items must be the first: its items arrive page by page").
				WithHint(fmt.Sprintf("write %s before %s", s.Name, set.Job.For[0].Name))
		default:
			set.Parent = s.Items
		}
	}
}

// cycle reports a job that is its own ancestor.
func (l *lowerer) cycle(set *Ruleset, byID map[string]*Ruleset) {
	path := []string{set.Job.ID}
	for up := byID[set.Parent]; up != nil; up = byID[up.Parent] {
		path = append(path, up.Job.ID)
		if up == set {
			slices.Reverse(path)
			l.diags.Errorf(diag.Value(diag.Join(set.Job.path, "for")), "the jobs are parents of each other: %s", strings.Join(path, " → "))
			for _, id := range path {
				byID[id].Parent = ""
			}
			return
		}
		if len(path) > len(byID) { // a cycle above this job
			return
		}
	}
}

// forNames determines the variables that a job can read: its parents', then its own.
func (l *lowerer) forNames(set *Ruleset, byID map[string]*Ruleset) {
	set.ForNames = nil
	var chain []*Ruleset
	for up := set; up != nil; up = byID[up.Parent] {
		chain = append(chain, up)
	}
	for _, up := range slices.Backward(chain) {
		for _, s := range up.Job.For {
			if slices.Contains(set.ForNames, s.Name) && up == set {
				l.diags.Errorf(diag.Key(s.path), "a parent of this job has a variable %s already", s.Name).WithHint("give it another name")
			}
			set.ForNames = append(set.ForNames, s.Name)
		}
	}
}

// forRules adds the rules of the variables of for.
func (l *lowerer) forRules(set *Ruleset) {
	for i, v := range set.Job.For {
		for _, key := range []string{"when", "values", "from", "to"} {
			one := v.given.get(key)
			if one.Value == nil || one.Invalid || key == "values" && v.Constants != nil {
				continue
			}
			source := sourceOf(one.Value)
			if key == "from" || key == "to" {
				source = momentSource(one.Value)
			}
			set.Rules = append(set.Rules, Rule{
				ID: v.ID(key), Role: For, Target: key, Source: source, Clause: "is", Origin: l.origin(Author{}, one.path()), ForIndex: i,
			})
		}
		if one := v.given.get("splitWhen"); one.text() != "" {
			if i < len(set.Job.For)-1 {
				l.diags.Errorf(diag.Key(one.path()), "a variable whose windows are split must be the last").
					WithHint(fmt.Sprintf("write %v after the others", v.Name))
			}
			set.Rules = slices.Insert(set.Rules, 0, Rule{
				ID: v.ID("splitWhen"), Role: Stop, Source: one.text(), Outcome: Split, Clause: one.text(), Ending: Ending{Drop: true},
				Message: "the window is read again in two halves", Origin: l.origin(Author{}, one.path()), ForIndex: i,
			})
		}
	}
}

// splits reports whether windows of the job may be split.
func (j Job) splits() bool {
	return slices.ContainsFunc(j.For, func(v ForVariable) bool { return v.Window != nil && v.Window.Splits })
}
