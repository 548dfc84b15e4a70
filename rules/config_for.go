package rules

import (
	"fmt"
	"slices"

	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/keypath"
	"github.com/stopwhen/stopwhen/rules/times"
)

// A partition is the list of a job, requested with one binding: a value for each variable of for. The
// partitions of a job differ only in their bindings. Each begins with a fresh state, and has guards,
// limits and an audit of its own.

// A ForVariable is a variable of for, with one of four kinds of values: the items of another job,
// constants, the values of an expression, or windows.
type ForVariable struct {
	Name      string  // the name of the variable
	Items     string  // ID of the job whose items are the values; empty for the other kinds
	Constants []any   // nil for the other kinds
	Window    *Window // consecutive spans of times or numbers; nil for the other kinds

	Placeholder string // the value of an item above that a placeholder of dialect keboola has unchanged; empty for other variables

	settings settings
	path     string
}

// ID returns the id of the rule of a key of the variable: "for.window.from".
func (v ForVariable) ID(key string) string { return "for." + v.Name + "." + key }

// A Window says how an interval is divided into windows. Its bounds are rules.
type Window struct {
	Step     times.Span // zero for a single window or a computed step
	Computed bool       // the step is computed
	Overlap  times.Span // how much earlier each window but the first begins
	Smallest times.Span // windows up to this length are not split; zero means one second or the number 1
	// Granularity is the distance between the end of a window, which belongs to the window, and the
	// beginning of the next window. If it is zero, the windows are half open: each ends where the next
	// one begins.
	Granularity times.Span
	Splits      bool // a rule may split a window
}

// Stepped reports whether there may be more than one window.
func (w Window) Stepped() bool { return w.Step != (times.Span{}) || w.Computed }

// OfDays returns the window with all lengths of whole times 24 hours as days of the calendar, if its granularity is one. The
// bounds are dates then, and a day on which the clocks change has 23 or 25 hours.
func (w Window) OfDays() Window {
	if unit := w.Granularity.InDays(); unit.Days > 0 {
		w.Granularity, w.Step, w.Overlap, w.Smallest = unit, w.Step.InDays(), w.Overlap.InDays(), w.Smallest.InDays()
	}
	return w
}

// CheckUnits returns an error if a window would end within a unit of the granularity: no window would have the rest of it.
func (w Window) CheckUnits() error {
	if w.Granularity == (times.Span{}) {
		return nil
	}
	for _, length := range []struct {
		name string
		span times.Span
	}{{"step", w.Step}, {"smallest", w.Smallest}} {
		if length.span != (times.Span{}) && w.Granularity.IsTime() == length.span.IsTime() && !w.Granularity.Divides(length.span) {
			return fmt.Errorf("%s must be a whole number of times granularity: %s is no multiple of %s", length.name, length.span, w.Granularity)
		}
	}
	return nil
}

// PartitionPolicy is the effect of a partition that fails.
type PartitionPolicy string

// The policies for partitions that fail.
const (
	PartitionFail PartitionPolicy = "fail" // the run ends
	PartitionSkip PartitionPolicy = "skip" // the partition is counted and named, and the run goes on
)

var forFields = []Field{
	{Name: "items", Kind: KindText, Doc: "id of another job: the variable is each of its items, one after another"},
	{Name: "when", Kind: KindExpression, Doc: "with items: only for the items for which this is true"},
	{Name: "values", Kind: KindValues, Doc: "a list of values, or an expression that gives a list"},
	{Name: "from", Kind: KindMomentOrSource,
		Doc: "beginning of the first window: a date, a number, or an expression for a time or a number; " +
			"the variable has `from` and `to`"},
	{Name: "to", Kind: KindMomentOrSource, Doc: "end of the last window, which belongs to it only with `granularity`"},
	{Name: "step", Kind: KindLengthOrSource, Doc: "length of a window: `24h`, `7d`, `1mo`, a number, or an expression for one, such as " +
		"`input.step`; default, and if the expression is nil or empty: one window"},
	{Name: "overlap", Kind: KindLength, Doc: "how much earlier every window but the first begins"},
	{Name: "granularity", Kind: KindLength, Doc: "for an API that includes the end of an interval: how much earlier than the next window " +
		"each window ends, such as `1s`, `1d` or 1"},
	{Name: "splitWhen", Kind: KindExpression,
		Doc: "a stopping rule: a window in which it is met is discarded, and its halves are read instead"},
	{Name: "smallest", Kind: KindLength, Doc: "length of a window that is not split; default: a second, or the number 1"},
}

var limitsFields = []Field{
	{Name: "partitions", Kind: KindCount, Heading: "limits", Doc: "maximum number of partitions of a run; the outcome is then limited"},
}

// forVariables reads the variables of a job.
func (d *decoder) forVariables(s setting) []ForVariable {
	var variables []ForVariable
	for _, element := range s.list() {
		given, ok := element.settings()
		if !ok {
			continue
		}
		v := ForVariable{Name: element.Name, Items: given.get("items").text(), settings: given, path: element.path()}
		d.readForVariable(&v)
		variables = append(variables, v)
	}
	return variables
}

// valueKeys lists the keys of each kind of variable. The first key of a row decides the kind.
var valueKeys = [][]string{
	{"items", "when"},
	{"values"},
	{"from", "to", "step", "overlap", "granularity", "splitWhen", "smallest"},
}

// readForVariable checks that a variable has exactly one kind of values, and reads them.
func (d *decoder) readForVariable(v *ForVariable) {
	if !keypath.IsExpressionName(v.Name) {
		d.diags.Errorf(diag.Key(v.path), "a variable needs a name that expressions can use, such as order")
	}
	kind := slices.IndexFunc(valueKeys, func(keys []string) bool { return v.settings.get(keys[0]).given() })
	if kind < 0 {
		d.diags.Errorf(diag.Value(v.path), "want one of items, values and from").
			WithHint(`for instance {"items": "orders"}, {"values": ["a", "b"]} or {"from": "2026-01-01", "to": "now()", "step": "7d"}`)
		return
	}
	for i, keys := range valueKeys {
		for _, key := range keys {
			if entry := v.settings.get(key); i != kind && entry.given() {
				d.diags.Errorf(diag.Key(entry.path()), "%v does not go with %s", key, valueKeys[kind][0])
			}
		}
	}
	switch valueKeys[kind][0] {
	case "values":
		d.readConstants(v)
	case "from":
		d.readWindow(v)
	}
}

// readConstants reads a list of constants. If an expression computes one of the values, the complete
// list becomes an expression.
func (d *decoder) readConstants(v *ForVariable) {
	list := v.settings.get("values")
	values := d.paramValue(list.path(), list.Value)
	if computedIn(values) != nil {
		v.settings = v.settings.with("values", setting{Value: sourceOfValue(values), base: list.path()})
		return
	}
	v.Constants, _ = values.([]any)
}

// readWindow reads the lengths of windows.
func (d *decoder) readWindow(v *ForVariable) {
	if to := v.settings.get("to"); !to.given() {
		d.diags.Errorf(diag.Value(v.path), "to is missing: the end of the last window")
	}
	w := &Window{
		Step: spanOf(v.settings.get("step").Value), Overlap: spanOf(v.settings.get("overlap").Value),
		Smallest: spanOf(v.settings.get("smallest").Value), Splits: v.settings.get("splitWhen").given(),
	}
	if step, isText := v.settings.get("step").Value.(string); isText {
		_, err := times.ParseSpan(step)
		w.Computed = err != nil
	}
	if w.Overlap != (times.Span{}) && !w.Stepped() {
		d.diags.Errorf(diag.Value(v.settings.get("overlap").path()), "overlap needs step: there is only one window")
	}
	if w.Granularity = spanOf(v.settings.get("granularity").Value); w.Granularity != (times.Span{}) && w.Smallest == (times.Span{}) {
		w.Smallest = w.Granularity
	}
	*w = w.OfDays()
	if w.Step != (times.Span{}) && w.Step.Less(w.Granularity) {
		d.diags.Errorf(diag.Value(v.settings.get("granularity").path()), "granularity must not be greater than step")
	} else if err := w.CheckUnits(); err != nil && !w.Smallest.Less(w.Granularity) {
		d.diags.Errorf(diag.Value(v.settings.get("granularity").path()), "%v", err)
	}
	if w.Smallest.Less(w.Granularity) {
		d.diags.Errorf(diag.Value(v.settings.get("smallest").path()), "smallest must not be less than granularity")
	}
	if v.settings.get("smallest").given() && !w.Splits {
		d.diags.Errorf(diag.Value(v.settings.get("smallest").path()), "smallest needs splitWhen")
	}
	v.Window = w
}

// splits reports whether windows of the job may be split.
func (j Job) splits() bool {
	return slices.ContainsFunc(j.For, func(v ForVariable) bool { return v.Window != nil && v.Window.Splits })
}

func spanOf(v any) times.Span {
	span, _ := times.ParseSpan(v) // it was checked
	return span
}
