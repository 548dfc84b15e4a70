package runtime

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime/failure"
)

// A Partition is a job under a binding. The zero Binding is that of a job without
// variables.
type Partition struct {
	Job     *compile.Job
	Binding map[string]any // the values of the variables by their names, those of the parents too
}

type partitionKey struct{}

// PartitionOf returns the partition that a request is for, given the context of the request
// as a transport sees it. It reports false for requests that are for no partition, such as
// those for tokens.
func PartitionOf(ctx context.Context) (Partition, bool) {
	p, ok := ctx.Value(partitionKey{}).(Partition)
	return p, ok
}

// blame returns the class of an error in what is computed before the first request. With
// variables it is the values of these, most of them from responses, that are unacceptable;
// otherwise it is the configuration.
func (p Partition) blame() failure.Class {
	if len(p.Binding) > 0 {
		return failure.Response
	}
	return failure.Config
}

// with returns a partition of a job whose variable has a value.
func (p Partition) with(job *compile.Job, name string, v any) Partition {
	binding := maps.Clone(p.Binding)
	if binding == nil {
		binding = map[string]any{}
	}
	binding[name] = v
	return Partition{job, binding}
}

// Label names the partition among those of its job: "order.id=1001, month=2026-01-01 to
// 2026-02-01". It is empty for a job without variables.
func (p Partition) Label() string { return Label(p.Job.Set.Bound, p.Binding) }

// Label names a partition by the values of its variables, in the order of their names. A
// variable without a value is left out.
func Label(names []string, binding map[string]any) string {
	var parts []string
	for _, name := range names {
		if v, bound := binding[name]; bound {
			parts = append(parts, labels(name, v)...)
		}
	}
	const most = 6
	if len(parts) > most {
		parts = append(parts[:most], "…")
	}
	return strings.Join(parts, ", ")
}

// labels returns the scalars in the value of a variable, each with its name.
func labels(name string, v any) []string {
	if v == nil {
		return []string{name + "=nil"}
	}
	if text, ok := shortScalar(v); ok {
		return []string{name + "=" + text}
	}
	members, ok := value.Members(v)
	if !ok || len(members) == 0 {
		return []string{name + "=" + value.KindOf(v)}
	}
	from, hasFrom := shortScalar(get(members, "from"))
	to, hasTo := shortScalar(get(members, "to"))
	if hasFrom && hasTo && len(members) == 2 {
		return []string{name + "=" + from + " to " + to}
	}
	var parts []string
	for _, m := range members {
		parts = append(parts, labels(name+"."+m.Name, m.Value)...)
	}
	return parts
}

func get(members rules.Object, name string) any {
	v, _ := members.Get(name)
	return v
}

func shortScalar(v any) (string, bool) {
	if t, ok := v.(time.Time); ok {
		return shortTime(t), true
	}
	text, ok := value.Text(v)
	return value.Clip(text, 40), ok
}

// shortTime writes a time without what is zero.
func shortTime(t time.Time) string {
	if t.Equal(time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, t.Location())) {
		return t.Format(time.DateOnly)
	}
	return t.Format(time.RFC3339)
}

// name names the partition in messages: the id of the job and, in parentheses, the label.
func (p Partition) name() string {
	if label := p.Label(); label != "" {
		return fmt.Sprintf("%s (%s)", p.Job.Set.Job.ID, label)
	}
	return p.Job.Set.Job.ID
}

// Partitions are those of a job of which a [Result] tells.
type Partitions struct {
	Count    int               `json:"count"`              // that were run, failed ones included
	Complete int               `json:"complete"`           // that ended by rule
	Suspect  int               `json:"suspect,omitempty"`  // that have findings, whatever their ends are
	Failed   int               `json:"failed,omitempty"`   // that failed and ended the run
	Skipped  int               `json:"skipped,omitempty"`  // that failed, with onPartitionError skip
	Failures []PartitionResult `json:"failures,omitempty"` // the first hundred of those that failed or were skipped
	Limited  int               `json:"limited,omitempty"`  // that a limit or a guard ended, or that limits.partitions left out
}

// A PartitionResult says how a partition ended that was not complete.
type PartitionResult struct {
	Partition string `json:"partition"`
	Error     *Fault `json:"error,omitempty"`
}

// maxListed is how many partitions and findings a [Result] lists.
const maxListed = 100

// reasonPartitions is the reason of a result that is about all partitions of a job.
const reasonPartitions = "partitions"

// severity orders outcomes: that of a job is the worst of its partitions.
var severity = []rules.Outcome{rules.Complete, rules.Limited, rules.Guarded, rules.Partial, rules.Failed}

// add adds the result of a partition to that of its job. The label and the name of the
// partition, which names returns, have no secrets. Most partitions need neither.
func (r *Result) add(names func() (label, name string), one Result) {
	n := r.Partitions
	n.count(one)
	r.Pages, r.Items, r.Bytes, r.Seconds = r.Pages+one.Pages, r.Items+one.Items, r.Bytes+one.Bytes, r.Seconds+one.Seconds
	r.Filtered += one.Filtered
	for _, f := range one.Findings {
		if len(r.Findings) < maxListed {
			f.Partition, _ = names()
			r.Findings = append(r.Findings, f)
		}
	}
	r.keep(one)
	if (one.skipped || one.Outcome == rules.Failed) && len(n.Failures) < maxListed {
		label, _ := names()
		n.Failures = append(n.Failures, PartitionResult{label, one.Error})
	}
	if one.skipped {
		one.Outcome, one.Reason, one.StoppedBy = rules.Partial, reasonPartitions, []string{}
	}
	if r.Outcome == "" || slices.Index(severity, one.Outcome) > slices.Index(severity, r.Outcome) {
		_, name := names()
		r.Outcome, r.Reason, r.StoppedBy, r.first = one.Outcome, one.Reason, one.StoppedBy, name+": "+one.Message
		if one.Error != nil { // it names its place
			r.first = one.Error.Message
		}
		if one.Outcome == rules.Failed {
			r.Error, r.failed = one.Error, one.failed
		}
	}
	r.Message = r.ofPartitions()
}

// count counts the result of a partition.
func (n *Partitions) count(one Result) {
	if one.leftOut {
		return
	}
	n.Count++
	if len(one.Findings) > 0 {
		n.Suspect++
	}
	switch {
	case one.skipped:
		n.Skipped++
	case one.Outcome == rules.Complete:
		n.Complete++
	case one.Outcome == rules.Failed:
		n.Failed++
	default:
		n.Limited++
	}
}

// ofPartitions says how the partitions ended.
func (r *Result) ofPartitions() string {
	n := r.Partitions
	switch {
	case n.Count == 0 && r.Reason != LimitPartitions && r.Outcome != rules.Failed:
		return "there is no partition"
	case r.Outcome == rules.Complete:
		r.Reason, r.StoppedBy = reasonPartitions, []string{}
		return fmt.Sprintf("complete: %s", value.Counted(n.Count, "partition"))
	case r.Outcome == rules.Partial:
		also := ""
		if n.Limited > 0 {
			also = fmt.Sprintf(", %d limited or guarded", n.Limited)
		}
		return fmt.Sprintf("%d of %s failed and were skipped%s, the first: %s", n.Skipped, value.Counted(n.Count, "partition"), also, r.first)
	case r.Outcome == rules.Failed:
		return r.first
	case r.Reason == LimitPartitions:
		return fmt.Sprintf("the limit on the partitions of the run is reached, after %d of this job", n.Count)
	}
	return fmt.Sprintf("%d of %s are %s, the first: %s", n.Limited, value.Counted(n.Count, "partition"), r.Outcome, r.first)
}

// keep keeps the greatest of the values that the partitions save for the next run. A nil, as
// a partition without items has it, is less than any other value.
func (r *Result) keep(one Result) {
	for name, v := range one.Kept {
		if had := r.Kept[name]; had != nil && (v == nil || !compile.Less(had, v)) {
			continue
		}
		if r.Kept == nil {
			r.Kept = map[string]any{}
		}
		r.Kept[name] = v
	}
}
