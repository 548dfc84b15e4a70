package runtime

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/rules/wording"
	"github.com/stopwhen/stopwhen/runtime/failure"
)

// A Partition is a job with a value for each of its variables. A job without variables
// has no Binding.
type Partition struct {
	Job     *compile.Job
	Binding map[string]any // values of the variables by name, including the variables of the parents
}

type partitionKey struct{}

// PartitionOf returns the partition that a request is for, given the context of the request as a
// transport sees it. It reports false for a request that serves no partition, such as a request for
// a token.
func PartitionOf(ctx context.Context) (Partition, bool) {
	p, ok := ctx.Value(partitionKey{}).(Partition)
	return p, ok
}

// Blame returns the class of an error in the values of the job's own request. In a job with variables, or with a
// parent, the values usually come from a response, so the class is Response. Otherwise it is Config.
func (p Partition) Blame() failure.Class {
	if len(p.Binding) > 0 || p.Job != nil && p.Job.Parent != nil {
		return failure.Response
	}
	return failure.Config
}

// With returns the partition of a job that adds a value for the named variable to the binding of p.
func (p Partition) With(job *compile.Job, name string, v any) Partition {
	binding := maps.Clone(p.Binding)
	if binding == nil {
		binding = map[string]any{}
	}
	binding[name] = v
	return Partition{job, binding}
}

// Label returns a short description of the partition within its job, such as "order.id=1001,
// month=2026-01-01 to 2026-02-01". It is empty for a job without variables.
func (p Partition) Label() string { return Label(p.Job.Ruleset.ForNames, p.Binding) }

// Label describes a partition by the values of its variables, in the order of names. It leaves out
// variables without a value.
func Label(names []string, binding map[string]any) string {
	var parts []string
	for _, name := range names {
		if v, ok := binding[name]; ok {
			parts = append(parts, labels(name, v)...)
		}
	}
	const most = 6
	if len(parts) > most {
		parts = append(parts[:most], "…")
	}
	return strings.Join(parts, ", ")
}

// labels returns the scalars within the value of a variable, each with its name.
func labels(name string, v any) []string {
	if v == nil {
		return []string{name + "=nil"}
	}
	if text, ok := ShortText(v); ok {
		return []string{name + "=" + text}
	}
	members, ok := value.Members(v)
	if !ok || len(members) == 0 {
		return []string{name + "=" + value.KindOf(v)}
	}
	from, hasFrom := ShortText(get(members, "from"))
	to, hasTo := ShortText(get(members, "to"))
	if hasFrom && hasTo && len(members) == 2 {
		return []string{name + "=" + from + " to " + to}
	}
	var parts []string
	for _, m := range members {
		parts = append(parts, labels(name+"."+m.Name, m.Value)...)
	}
	return parts
}

// get returns the member with a name, or nil.
func get(members rules.Object, name string) any {
	v, _ := members.Get(name)
	return v
}

// ShortText returns a scalar as short text for people. It reports false for any other value.
func ShortText(v any) (string, bool) {
	if t, ok := v.(time.Time); ok {
		return shortTime(t), true
	}
	text, ok := value.Text(v)
	return wording.Clip(text, 40), ok
}

// shortTime formats a time, without the time of day at midnight.
func shortTime(t time.Time) string {
	if t.Equal(time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, t.Location())) {
		return t.Format(time.DateOnly)
	}
	return t.Format(time.RFC3339)
}

// Name returns the id of the job and, in parentheses, the label of the partition.
func (p Partition) Name() string {
	if label := p.Label(); label != "" {
		return fmt.Sprintf("%s (%s)", p.Job.ID(), label)
	}
	return p.Job.ID()
}

// LeftOut returns the result of a partition that does not run, because of the limit on the partitions of a run.
func (p Partition) LeftOut() Result {
	result := Result{Job: p.Job.ID()}
	result.endAtPartitionLimit()
	return result
}

// A List is the list of one partition, with its place among the others. Package partition finds the
// partitions.
type List struct {
	Partition Partition
	From      json.RawMessage // position to continue from; nil means the beginning
	Enough    func() bool     // reports whether the rest of the list can be skipped; nil means never

	Siblings bool // whether the job may have other partitions, whose pages can refute findings of this list

	MaySplit     bool // whether rules may split its window, with the outcome [rules.Split]
	SplitTooLate bool // whether its window cannot be split any more, since pages of it were delivered

	// Omits reports whether a page on which the list fails is not delivered, because it will be
	// requested again. It is then [Result.FailedPage]. Nil means that all pages are delivered.
	Omits func(*Page) bool
}
