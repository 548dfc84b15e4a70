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
	"github.com/stopwhen/stopwhen/runtime/evidence"
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

// Blame returns the class of an error in what is computed before the first request. With
// variables it is the values of these, most of them from responses, that are unacceptable;
// otherwise it is the configuration.
func (p Partition) Blame() failure.Class {
	if len(p.Binding) > 0 {
		return failure.Response
	}
	return failure.Config
}

// With returns a partition of a job whose variable has a value.
func (p Partition) With(job *compile.Job, name string, v any) Partition {
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

func get(members rules.Object, name string) any {
	v, _ := members.Get(name)
	return v
}

// ShortText returns a scalar as text for people. It reports false for any other value.
func ShortText(v any) (string, bool) {
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

// Name names the partition in messages: the id of the job and, in parentheses, the label.
func (p Partition) Name() string {
	if label := p.Label(); label != "" {
		return fmt.Sprintf("%s (%s)", p.Job.Set.Job.ID, label)
	}
	return p.Job.Set.Job.ID
}

// A List is the list of one of the partitions of a job. Package partition finds them.
type List struct {
	Partition Partition
	From      json.RawMessage // the position to continue from; nil: from its beginning
	Enough    func() bool     // reports whether the rest of the list can be skipped; nil: never

	Siblings bool // other partitions of the job run: findings that they can refute are left to the tally of all

	Splits  bool // its window is split if a rule says so, and the outcome is [rules.Split]
	Unsplit bool // its window could be split, but pages of it have been delivered
}

// SeenBy returns the configured paths that the responses of a list had and lacked, or nil if
// none were noted.
func SeenBy(r *Result) *evidence.Seen {
	if r.seen.Empty() {
		return nil
	}
	seen := r.seen
	return &seen
}
