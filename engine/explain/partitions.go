package explain

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/compile/language"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/keypath"
	"github.com/stopwhen/stopwhen/rules/lists"
	"github.com/stopwhen/stopwhen/rules/times"
	"github.com/stopwhen/stopwhen/rules/wording"
	"github.com/stopwhen/stopwhen/runtime/trace"
)

// PartitionsExplanation describes the partitions of a job that is run more than once.
type PartitionsExplanation struct {
	Says      string                `json:"says" doc:"in words: once for each item of orders"`
	Parent    string                `json:"parent,omitempty" doc:"id of the job whose items they are for; absent: none"`
	Reads     []string              `json:"reads,omitempty" doc:"what is read of such an item, here and below; nothing else is kept"`
	Bounds    string                `json:"bounds" doc:"what bounds their number; the job's bounds are those of each"`
	Together  string                `json:"together" doc:"which of them may run at the same time, with --jobs"`
	OnError   rules.PartitionPolicy `json:"onError" doc:"what happens when one fails: fail or skip"`
	Facts     []string              `json:"facts" doc:"what else holds of them, in words"`
	Variables []VariableExplanation `json:"variables" doc:"the variables, in the order of their loops"`

	capped  bool // whether their number is limited (limits.partitions)
	mayLack bool // whether there may be none
}

// VariableExplanation describes a variable of for.
type VariableExplanation struct {
	Name  string            `json:"name"`
	Says  string            `json:"says" doc:"its values, in words"`
	Rules []RuleExplanation `json:"rules,omitempty" doc:"expressions that give its values, or decide about them"`
}

// partitions describes the partitions of the job. It returns nil if there is only one.
func (j explainer) partitions(maxPartitions int) *PartitionsExplanation {
	if len(j.For) == 0 {
		return nil
	}
	x := &PartitionsExplanation{OnError: j.Spec().OnFailure, Together: "all of them"}
	var phrases []string
	for i := range j.For {
		v := j.variable(&j.For[i])
		x.Variables = append(x.Variables, v)
		phrases = append(phrases, v.Says)
	}
	x.Says = "once for each " + strings.Join(phrases, ", and for each ")
	if j.Parent != nil {
		x.Parent = j.Parent.ID()
		x.Together = fmt.Sprintf("those for the items of one page of %s", x.Parent)
		for _, path := range j.ItemPaths {
			x.Reads = append(x.Reads, j.redact(keypath.Format(j.For[0].Name, path)))
		}
	}
	if maxPartitions > 0 {
		x.Together, x.capped = "none", true
	}
	x.mayLack = slices.ContainsFunc(j.For, func(v compile.ForVariable) bool { return v.Constants == nil })
	x.Bounds = j.ofPartitions(maxPartitions)
	x.Facts = j.facts(x)
	return x
}

// facts returns sentences about the partitions, which follow the list of their variables.
func (j explainer) facts(x *PartitionsExplanation) []string {
	var sentences []string
	if x.Reads != nil {
		reads := strings.Join(x.Reads, ", ")
		filtered, split := "", ""
		if j.Parent.ItemRules.Filter != nil {
			filtered = ", also if the filter of " + x.Parent + " leaves the item out"
		}
		if j.Parent.Analysis().SplitVariable() != nil {
			split = "; for those of a window that may be read in halves, it runs when the window has ended"
		}
		sentences = append(sentences, fmt.Sprintf("For each item of %s, called %s, the job reads %s, as sent by the API%s. "+
			"It runs for the items of each page, also of the last,%[6]s before the next page of %[1]s%[5]s.",
			x.Parent, j.redact(j.For[0].Name), reads, filtered, split, j.afterChildren()))
	}
	sentences = append(sentences, j.withoutValue()...)
	if slices.ContainsFunc(j.For, func(v compile.ForVariable) bool { return v.When != nil }) {
		sentences = append(sentences, "A condition (when) that fails for an item, such as a comparison of a number with another text, "+
			"fails the run ("+statusResponse+"), also with onPartitionError.")
	}
	for i := range j.For {
		v := &j.For[i]
		if v.Values != nil && len(v.Values.Reads) > 0 {
			sentences = append(sentences, j.valuesInWords(v, i == 0 && j.Parent == nil))
		}
		if v.Window == nil {
			continue
		}
		sentences = append(sentences, windowFacts(v)...)
		sentences = append(sentences, emptyInterval(v, i == 0))
		if slices.ContainsFunc([]*language.Expression{v.From, v.To}, readsNow) {
			sentences = append(sentences, fmt.Sprintf("now() is the start of the run, to the nanosecond; it is sent in the time zone of "+
				"for.%s.from and, unless an expression formats it, like 2026-01-31T00:00:00.123456789Z.", v.Name))
		}
	}
	order, nested, those := "in the order in which the values are listed", "", ""
	switch {
	case x.Parent != "":
		order, those = "in the order of the items of "+x.Parent, ", but only "+x.Together
	case j.For[0].Window != nil && len(j.For) == 1:
		order = "from the first window to the last"
	}
	if len(j.For) > 1 {
		nested = ", and the last variable changes first"
	}
	together := fmt.Sprintf("With --jobs N, up to N of them run at the same time%s, beside other jobs.", those)
	if x.capped {
		together = "Because of limits.partitions, they run one after another, also with --jobs."
	}
	sentences = append(sentences, fmt.Sprintf("They run %s%s. %s", order, nested, together))
	if j.maySeveral() && !j.Ruleset.Dialect.Switches().AcceptEvidence {
		sentences = append(sentences, "Evidence in one partition does not stop the others.")
	}
	if x.OnError == rules.PartitionSkip {
		return append(sentences, fmt.Sprintf("If one fails, it is counted and named, the items of the pages that it has got are written, "+
			"and the run goes on (onPartitionError); "+
			"the outcome of the job is then partial, however the others end (%s). "+
			"So each error that fails the run by another text, also one of the request for credentials, ends a partition only%s.%s",
			failOnStatus(j.Ruleset.Dialect, rules.Partial), j.exceptChildren(), j.ifAllFail()))
	}
	return append(sentences,
		"If one fails, the run fails with its exit status at once, without those that follow (onPartitionError).")
}

// valuesInWords says what happens if the values of a variable are nil or not a list. isFirst reports whether they are found
// before the first request of the job.
func (j explainer) valuesInWords(v *compile.ForVariable, isFirst bool) string {
	status := statusResponse
	if isFirst {
		status = statusConfig
	}
	if j.MayLackValues(v) {
		return fmt.Sprintf("If %s is nil or an empty list, there is no partition; another value that is not a list fails the run (%s).",
			v.ID("values"), status)
	}
	return fmt.Sprintf("If %s is nil or not a list, the run fails (%s); if it is an empty list, there is no partition.",
		v.ID("values"), status)
}

// afterChildren names the other children of its parent that run before the job, if there are any.
func (j explainer) afterChildren() string {
	var names []string
	for _, child := range j.Parent.Children {
		if child == j.Job {
			break
		}
		names = append(names, child.ID())
	}
	if names == nil {
		return ""
	}
	have := "have"
	if len(names) == 1 {
		have = "has"
	}
	return fmt.Sprintf(" after %s %s run for all of them (with --jobs, beside them), and", wording.AndList(names), have)
}

// exceptChildren says that the errors of jobs for the items of the job are other ones, if there are any.
func (j explainer) exceptChildren() string {
	if len(j.Children) == 0 {
		return ""
	}
	return ", but those of jobs for its items do not"
}

// ifAllFail says what happens if all partitions fail, unless there is only one.
func (j explainer) ifAllFail() string {
	if !j.maySeveral() {
		return ""
	}
	return " If all of several partitions fail, that is evidence (audit.missing, " + statusSuspect + ")."
}

// maySeveral reports whether the job may have several partitions.
func (j explainer) maySeveral() bool {
	return slices.ContainsFunc(j.For, func(v compile.ForVariable) bool { return len(v.Constants) != 1 })
}

// nilInJSON says what becomes of a value that is nil within a body of JSON, where it is not left out.
const nilInJSON = "within an object or a list of a JSON body, it is null"

// withoutValue says what happens without the values of items of ancestors that the job reads: requests lack a part, or
// cannot be made, fields are null, no item passes, or none is chosen.
func (j explainer) withoutValue() (sentences []string) {
	var inAddress, sent, inFields, inFilters, inConditions []string
	for _, e := range j.Computed {
		for _, r := range e.Reads {
			switch {
			case j.ExpectsValue(e):
				sent = lists.AppendNew(sent, j.redact(keypath.Format(r.Path[0], r.Path[1:])))
			case e.Rule.Role.Addresses() && slices.ContainsFunc(j.RequiredItemPaths, j.isReadBy(r)):
				inAddress = lists.AppendNew(inAddress, j.redact(keypath.Format(r.Path[0], r.Path[1:])))
			}
		}
	}
	for _, path := range j.RequiredItemPaths {
		switch name := j.redact(keypath.Format(j.For[0].Name, path)); {
		case slices.Contains(sent, name) || slices.Contains(inAddress, name):
		case j.FillsFromItem(path):
			inFields = append(inFields, name)
		case j.FiltersByItem(path, func(*compile.Job) bool { return true }):
			inFilters = append(inFilters, name)
		case !j.CopiesFromItem(path) && j.choosesBy(path):
			inConditions = append(inConditions, name)
		}
	}
	fails := " or, if no item has it, " + auditFails
	ofFields := auditFails + ", or warns if there is at most one partition"
	ofFilters := " or, if no item of several partitions passes, " + auditFails
	if j.Ruleset.Dialect.Switches().AcceptEvidence {
		fails, ofFields, ofFilters = "", "warns", ""
	}
	for _, kind := range []struct {
		paths []string
		says  string
	}{
		{inAddress, "If an item has no %s, or an empty one, its partition fails (" + statusResponse + ")."},
		{sent, "If an item has no %s, that part of the request is left out (" + nilInJSON + "), and audit.missing warns" + fails + "."},
		{inFields, "If an item has no %s, fields read nil; if no item has it, audit.missing " + ofFields + "."},
		{inFilters, "If no item has %s, and the filter that reads it leaves out items, audit.missing warns" + ofFilters + "."},
		{inConditions, "If no item has %s, and there is no partition, audit.missing warns."},
	} {
		if kind.paths != nil {
			sentences = append(sentences, fmt.Sprintf(kind.says, wording.OrList(kind.paths)))
		}
	}
	return sentences
}

// choosesBy reports whether a condition about the items of the parent reads a path of them, or a list of values does. An
// item without the list of a placeholder fails the run.
func (j explainer) choosesBy(path []string) bool {
	reads := func(e *language.Expression) bool {
		return e != nil && e.ReadsFunc(func(r language.Read) bool { return j.isReadBy(r)(path) })
	}
	return slices.ContainsFunc(j.For, func(v compile.ForVariable) bool {
		return reads(v.When) || reads(v.Values) && !j.Ruleset.Dialect.Switches().Placeholders
	})
}

// isReadBy returns a function that reports whether a read is about a path of the item that the job runs for.
func (j explainer) isReadBy(r language.Read) func(path []string) bool {
	return func(path []string) bool {
		return len(r.Path) > 0 && r.Is(rules.ContextPartition) && r.Path[0] == j.For[0].Name && slices.Equal(r.Path[1:], path)
	}
}

// addPartitionSigns adds the signs that are known only when all partitions have ended. Each is added to the sign of the
// list with the same id, or replaces it if the list cannot have it. Signs that may be evidence are explained with the
// partitions.
func (j explainer) addPartitionSigns(signs []RuleExplanation) {
	// An overlap that the configuration asks for is not sought.
	compared := j.maySeveral() && !slices.ContainsFunc(j.For, func(v compile.ForVariable) bool {
		return v.Window != nil && v.Window.Overlap != (times.Span{})
	})
	found := map[string]bool{
		trace.FindingRestart:   j.Parent != nil && explainer{Job: j.Parent}.restarts(),
		trace.FindingErrorBody: j.maySeveral() && j.Spec().Response.Columns != nil,
		trace.FindingRepeated:  compared,
		trace.FindingDuplicate: compared && (j.Spec().Key != nil || slices.ContainsFunc(j.For, hasWindows)),
	}
	for _, of := range rules.PartitionAudits() {
		i := slices.IndexFunc(signs, func(r RuleExplanation) bool { return r.ID == of.ID })
		switch {
		case i < 0 || !found[of.ID]:
		case signs[i].Never == "":
			signs[i].Clause += ", or " + of.Clause
		default:
			signs[i].Clause, signs[i].Never = of.Clause, ""
		}
	}
}

// hasWindows reports whether the values of a variable are windows.
func hasWindows(v compile.ForVariable) bool { return v.Window != nil }

// readsNow reports whether an expression, which may be nil, reads the time of the run.
func readsNow(e *language.Expression) bool {
	return e != nil && e.ReadsAny(rules.ContextNow)
}

// emptyInterval says what happens if windows end before they begin, unless both bounds are constants.
func emptyInterval(v *compile.ForVariable, isFirst bool) string {
	readsValues := func(e *language.Expression) bool { return e != nil && len(e.Reads) > 0 }
	if !slices.ContainsFunc([]*language.Expression{v.From, v.To}, readsValues) {
		return ""
	}
	equal, none := "If for.%[1]s.from equals for.%[1]s.to, there is no window; if it is later or greater, ", "there is none"
	if v.Window.Granularity != (times.Span{}) {
		equal, none = "If for.%[1]s.from is later or greater than for.%[1]s.to, ", "there is no window"
	}
	switch {
	case v.MayRunBackwards():
		equal += none + ", and the log warns (exit status 0)."
	case isFirst:
		equal += "the run fails (" + statusConfig + ")."
	default:
		equal += "it fails (" + statusResponse + ")."
	}
	return fmt.Sprintf(equal, v.Name)
}

// windowFacts returns sentences about the windows of a variable.
func windowFacts(v *compile.ForVariable) []string {
	name, w := v.Name, v.Window
	sentences := []string{fmt.Sprintf("%s.to is not part of the window.", name)}
	switch {
	case w.Granularity != (times.Span{}):
		sentences[0] = fmt.Sprintf("%s.to is part of the window.", name)
		if w.Granularity.Number == nil {
			sentences[0] = fmt.Sprintf("%s.to is part of the window, and so is the whole %s that begins there: the API must read it so.",
				name, w.Granularity)
		}
		if w.Stepped() {
			sentences[0] += fmt.Sprintf(" The next window begins %s after it. If the last window would end after for.%[2]s.to, its %[2]s.to is "+
				"for.%[2]s.to as it is.", w.Granularity, name)
		}
		if w.Overlap != (times.Span{}) {
			sentences[0] += fmt.Sprintf(" Each window but the first begins %s earlier: items of this overlap come twice.", w.Overlap)
		}
	case w.Overlap != (times.Span{}):
		sentences[0] = fmt.Sprintf("%s.to is not part of the window, but of the next one, which begins %s before it: "+
			"items of this overlap come twice. The last window ends at for.%[1]s.to and may be shorter.", name, w.Overlap)
	case w.Stepped():
		sentences[0] = fmt.Sprintf("%[1]s.to is not part of the window: it is where the next one begins. "+
			"The last window ends at for.%[1]s.to and may be shorter.", name)
	}
	switch {
	case w.Step.Number != nil || isNumber(v.From) && isNumber(v.To):
		sentences[0] += " Both are numbers."
	case w.Stepped() && !w.Computed:
		sentences[0] += " In requests, both are" + sentTimes
	default: // from and to may be numbers
		sentences[0] += " In requests, times are" + sentTimes
	}
	if w.Step.Months > 0 {
		sentences[0] += " A step of months from a day that a month lacks ends on its last day."
	}
	if w.Splits {
		first := "there"
		if w.Granularity != (times.Span{}) {
			first = w.Granularity.String() + " before it"
		}
		sentences = append(sentences, "The second half begins at the middle of the window, rounded down to "+beginOfHalf(w)+" after "+
			name+".from, but not to 0; the first half ends "+first+". The pages of a window that is read in halves are not written: its halves "+
			"have the same items. A window is written when it has ended, or when the run fails in it, and not page by page. "+
			"A window of at most "+smallestWindow(w)+" is not split, but written as it is, and the log warns (audit.window); so is, with "+
			"--state, a window that a run continues after pages that were saved.")
	}
	return sentences
}

// isNumber reports whether an expression is a number that the configuration has.
func isNumber(e *language.Expression) bool {
	return e != nil && len(e.Reads) == 0 && json.Valid([]byte(e.Rule.Source))
}

// stepsInTime reports whether the configuration has a length of time as the step of windows.
func stepsInTime(w *rules.Window) bool { return w.Step != (times.Span{}) && w.Step.IsTime() }

// smallestWindow names the length down to which windows are read in halves.
func smallestWindow(w *rules.Window) string {
	switch {
	case w.Smallest != (times.Span{}):
		return w.Smallest.String()
	case stepsInTime(w):
		return "a second"
	}
	return "a second, or the number 1"
}

// beginOfHalf says how long after the begin of its window the second half of it begins.
func beginOfHalf(w *rules.Window) string {
	switch {
	case w.Smallest != (times.Span{}):
		return "a multiple of " + w.Smallest.String()
	case stepsInTime(w):
		return "whole seconds"
	}
	return "whole seconds or a whole number"
}

// sentTimes says in which form the bounds of a window are sent.
const sentTimes = " in the form of RFC 3339, such as 2026-01-31T00:00:00Z, unless an expression formats them."

func (j explainer) variable(v *compile.ForVariable) VariableExplanation {
	x := VariableExplanation{Name: v.Name}
	for _, e := range []*language.Expression{v.When, v.Values, v.From, v.To, v.Step} {
		if e != nil {
			x.Rules = append(x.Rules, j.rule(e))
		}
	}
	switch {
	case v.Items != "":
		x.Says = "item of " + v.Items + j.condition(v)
		if j.Ruleset.Dialect.Switches().Placeholders { // the dialect has named the variable
			x.Says += " (" + v.Name + ")"
		}
	case v.Window != nil:
		x.Says = j.windowInWords(v)
	case v.Values != nil:
		x.Says = "value of " + j.redact(cmp.Or(v.Placeholder, v.Values.Rule.Source))
	default:
		x.Says = j.redact(constantsInWords(v.Name, v.Constants))
	}
	return x
}

// condition says which items of a parent a variable takes; it is empty if it takes all of them.
func (j explainer) condition(v *compile.ForVariable) string {
	if v.When == nil {
		return ""
	}
	return " for which " + j.redact(v.When.Rule.Source)
}

// constantsInWords says what the values of a variable are: `of the 3 values of team: "a", "b", "c"`.
func constantsInWords(name string, values []any) string {
	const most = 5
	shown := lists.Map(values[:min(len(values), most)], plainJSON)
	if len(values) > most {
		shown = append(shown, "…")
	}
	return fmt.Sprintf("of %s of %s: %s", wording.Counted(len(values), "value"), name, strings.Join(shown, ", "))
}

func (j explainer) windowInWords(v *compile.ForVariable) string {
	var b strings.Builder
	switch {
	case v.Step != nil:
		fmt.Fprintf(&b, "window of %s", j.redact(v.Step.Rule.Source))
	case v.Window.Step != (times.Span{}):
		fmt.Fprintf(&b, "window of %s", v.Window.Step)
	default:
		b.WriteString("window (there is one)")
	}
	if v.From != nil && v.To != nil { // they are errors otherwise
		fmt.Fprintf(&b, " from %s to %s", j.redact(v.From.Rule.Source), j.redact(v.To.Rule.Source))
	}
	if v.Window.Splits {
		fmt.Fprintf(&b, ", which is read in halves if %s is met, down to %s", v.ID("splitWhen"), smallestWindow(v.Window))
	}
	if overlap := v.Window.Overlap; overlap != (times.Span{}) {
		fmt.Fprintf(&b, "; each but the first begins %s earlier", overlap)
	}
	return b.String()
}

// ofPartitions describes the bounds of the number of partitions.
func (j explainer) ofPartitions(maxPartitions int) string {
	var times []string
	for i := range j.For {
		switch s := &j.For[i]; {
		case s.Items != "":
			times = append(times, "the items of "+s.Items+j.condition(s))
		case s.Window != nil:
			times = append(times, "the windows of for."+s.Name)
		case s.Values != nil:
			times = append(times, "the values of "+s.Name)
		default:
			times = append(times, fmt.Sprintf("the %s of %s", wording.Counted(len(s.Constants), "value"), s.Name))
		}
	}
	text := "as many as " + strings.Join(times, " times ")
	if maxPartitions > 0 {
		text += fmt.Sprintf(", and at most %d in a run, of all jobs together (limits.partitions): "+
			"those that follow, of this job and of the later ones, are left out, and the outcome of these jobs is limited (%s)",
			maxPartitions, failOnStatus(j.Ruleset.Dialect, rules.Limited))
	}
	if j.Paged() {
		text += "; the bounds in the summary are for each of them"
	}
	return text
}

// TreeExplanation is a job with its children.
type TreeExplanation struct {
	Job      string            `json:"job" doc:"id of the job"`
	Says     string            `json:"says,omitempty" doc:"for what it is run more than once, and whether it is written"`
	Children []TreeExplanation `json:"children,omitempty" doc:"the jobs that are for its items"`
}

// trees returns the jobs as trees, if some depend on others or run more than once.
func trees(jobs []*compile.Job, redact func(string) string) []TreeExplanation {
	if !slices.ContainsFunc(jobs, (*compile.Job).HasPartitions) {
		return nil
	}
	var trees []TreeExplanation
	for _, j := range jobs {
		if j.Parent == nil || !slices.Contains(jobs, j.Parent) {
			trees = append(trees, newExplainer(j, redact).tree())
		}
	}
	return trees
}

func (j explainer) tree() TreeExplanation {
	x := TreeExplanation{Job: j.ID()}
	var phrases []string
	if p := j.partitions(0); p != nil {
		phrases = append(phrases, p.Says)
	}
	if !j.Spec().Emits {
		phrases = append(phrases, "its items are not written")
	}
	x.Says = strings.Join(phrases, "; ")
	for _, child := range j.Children {
		x.Children = append(x.Children, newExplainer(child, j.redact).tree())
	}
	return x
}
