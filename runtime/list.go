package runtime

import (
	"context"
	"encoding/json"

	"github.com/stopwhen/stopwhen/runtime/evidence"
)

// A List is the list of one of the partitions of a job. Package partition finds them.
type List struct {
	Partition Partition
	From      json.RawMessage // the position to continue from; nil: from its beginning
	Enough    func() bool     // reports whether the rest of the list can be skipped; nil: never

	Splits  bool // its window is split if a rule says so, and the outcome is [rules.Split]
	Unsplit bool // its window could be split, but pages of it have been delivered
}

// RunList is [Loop.Run] for the list of a partition. The audit leaves to the others what they
// may show to be right.
func (l Loop) RunList(ctx context.Context, list List, sink Sink) (Result, error) {
	r := newRun(ctx, l.WithDefaults(), list.Partition, sink)
	r.enough, r.splits, r.unsplit = list.Enough, list.Splits, list.Unsplit
	r.hasSiblings = len(list.Partition.Job.Sources) > 0
	return r.run(ctx, list.From)
}

// SeenBy returns what the list of a partition had and lacked; nil: nothing.
func SeenBy(r *Result) *evidence.Seen {
	if r.seen.Empty() {
		return nil
	}
	seen := r.seen
	return &seen
}
