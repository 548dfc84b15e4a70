package partition

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/stopwhen/stopwhen/compile/language"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/wording"
	"github.com/stopwhen/stopwhen/runtime"
	"github.com/stopwhen/stopwhen/runtime/evidence"
	"github.com/stopwhen/stopwhen/runtime/trace"
)

// maxListed is the largest number of partitions and findings in a [runtime.Result].
const maxListed = 100

// An EndedResult describes how a partition or a whole job ended, with the details for summing up.
type EndedResult struct {
	runtime.Result

	First   string         `json:"first,omitempty"`   // for a job: how the first partition with the worst outcome ended
	Name    string         `json:"name,omitempty"`    // for a stored partition: its name in messages
	Skipped bool           `json:"skipped,omitempty"` // the partition failed, and the run goes on
	NoList  bool           `json:"noList,omitempty"`  // there was no partition, because its values could not be found or a limit left it out
	Seen    *evidence.Seen `json:"lists,omitempty"`   // paths that the list of the partition had and lacked
}

// endOf returns the EndedResult of a partition with a result.
func endOf(result runtime.ListResult) EndedResult {
	end := EndedResult{Result: result.Result}
	if !result.Seen.Empty() {
		end.Seen = new(result.Seen)
	}
	return end
}

// addPartition adds a partition to the result of its job. names returns the label and the name of
// the partition, without secrets. It is called only if they are needed.
func (r *EndedResult) addPartition(names func() (label, name string), result EndedResult) {
	n := r.Partitions
	countPartition(n, result)
	r.Pages += result.Pages
	r.Items += result.Items
	r.Filtered += result.Filtered
	r.Known += result.Known
	r.Bytes += result.Bytes
	r.Seconds += result.Seconds
	for _, f := range result.Findings {
		if len(r.Findings) == maxListed && f.Weight == rules.WeightEvidence {
			r.Findings = r.Findings[:maxListed-1] // evidence decides, so it is never left out for hints
		}
		if len(r.Findings) < maxListed {
			f.Partition, _ = names()
			r.Findings = append(r.Findings, f)
		}
	}
	if (result.Skipped || result.Outcome == rules.Failed) && len(n.Failures) < maxListed {
		label, _ := names()
		n.Failures = append(n.Failures, runtime.PartitionFailure{Partition: label, Error: result.Error})
	}
	if result.Skipped {
		result.Outcome, result.Reason, result.StoppedBy = rules.Partial, runtime.ReasonPartitions, []string{}
	}
	if result.Outcome.Worse(r.Outcome) {
		_, name := names()
		r.Outcome, r.Reason, r.StoppedBy, r.First = result.Outcome, result.Reason, result.StoppedBy, name+": "+result.Message
		if result.Error != nil { // the message already names its place
			r.First = result.Error.Message
		}
		if result.Outcome == rules.Failed {
			r.Error = result.Error
			r.FailedPage = result.FailedPage
		}
	}
	if r.Outcome == rules.Complete && n.Count > 0 {
		r.Reason, r.StoppedBy = runtime.ReasonPartitions, []string{}
	}
	r.Message = r.describePartitions()
}

// countPartition counts a partition by its result.
func countPartition(n *runtime.PartitionCounts, result EndedResult) {
	if result.NoList {
		return
	}
	n.Count++
	if len(result.Findings) > 0 {
		n.Suspect++
	}
	switch {
	case result.Skipped:
		n.Skipped++
	case result.Outcome == rules.Complete:
		n.Complete++
	case result.Outcome == rules.Failed:
		n.Failed++
	default:
		n.Limited++
	}
}

// describePartitions returns a sentence about how the partitions ended.
func (r *EndedResult) describePartitions() string {
	n := r.Partitions
	switch {
	case n.Count == 0 && r.Reason != runtime.ReasonPartitionLimit && r.Outcome != rules.Failed:
		return "there is no partition"
	case r.Outcome == rules.Complete:
		return "complete: " + wording.Counted(n.Count, "partition")
	case r.Outcome == rules.Partial:
		limited := ""
		if n.Limited > 0 {
			limited = fmt.Sprintf(", %d limited or guarded", n.Limited)
		}
		return fmt.Sprintf("%d of %s failed and were skipped%s, the first: %s",
			n.Skipped, wording.Counted(n.Count, "partition"), limited, r.First)
	case r.Outcome == rules.Failed:
		return r.First
	case r.Reason == runtime.ReasonPartitionLimit:
		return fmt.Sprintf("the limit on the partitions of the run is reached, after %d of this job", n.Count)
	}
	return fmt.Sprintf("%d of %s are %s, the first: %s", n.Limited, wording.Counted(n.Count, "partition"), r.Outcome, r.First)
}

// maxKeys is the largest number of keys of keepFor that a job keeps values for.
const maxKeys = 10_000

// keep merges the values that a partition saves for the next run: of each value, the greatest of all
// partitions is kept. A nil, from a partition without items, is less than any other value.
func (r *EndedResult) keep(kept map[string]any) {
	for name, v := range kept {
		if known := r.Kept[name]; known != nil && (v == nil || !language.Newer(v, known)) {
			continue
		}
		if r.Kept == nil {
			r.Kept = map[string]any{}
		}
		r.Kept[name] = v
	}
}

// keepByKey is keep for a job with keepFor, whose values are objects with a value for each key. It reports
// whether there was room for the values.
func (r *EndedResult) keepByKey(kept map[string]any) bool {
	room := true
	for name, v := range kept {
		byKey, _ := v.(map[string]any)
		greatest, _ := r.Kept[name].(map[string]any)
		for _, key := range slices.Sorted(maps.Keys(byKey)) {
			offered := byKey[key]
			earlier, known := greatest[key]
			switch {
			case earlier != nil && (offered == nil || !language.Newer(offered, earlier)):
				continue
			case !known && len(greatest) >= maxKeys:
				room = false
				continue
			case greatest == nil:
				greatest = map[string]any{}
				if r.Kept == nil {
					r.Kept = map[string]any{}
				}
				r.Kept[name] = greatest
			}
			greatest[key] = offered
		}
	}
	return room
}

// keepEarlier adds the values of the previous run for the keys that no partition of this run had, as long as
// there is room.
func (r *EndedResult) keepEarlier(kept map[string]any) {
	for name, v := range kept {
		byKey, _ := v.(map[string]any)
		all, _ := r.Kept[name].(map[string]any)
		earlier := maps.Clone(byKey)
		maps.DeleteFunc(earlier, func(key string, _ any) bool { _, known := all[key]; return known })
		_ = r.keepByKey(map[string]any{name: earlier})
	}
}

// failed returns r as the result of a partition that failed with err.
func (w *Walk) failed(r runtime.Result, err error) runtime.Result {
	r.Outcome, r.Reason, r.StoppedBy = rules.Failed, runtime.ReasonError, []string{}
	r.Message, r.Error = w.Redactor.Shown(err.Error()), trace.FaultOf(err, w.Redactor)
	return r
}

// resultAt returns the result of a partition at a valid position, or an empty result if the
// position is nil.
func resultAt(job string, at position) runtime.Result {
	s := struct{ Result runtime.Result }{runtime.Result{Job: job}}
	_ = json.Unmarshal(at, &s)
	return s.Result
}
