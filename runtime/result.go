package runtime

import (
	"fmt"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/runtime/evidence"
	"github.com/stopwhen/stopwhen/runtime/trace"
)

// A Result says how one job ended.
type Result struct {
	Job       string        `json:"job"`            // id of the job
	Root      string        `json:"root,omitempty"` // root of the tree of jobs, if the job has a parent or children
	Outcome   rules.Outcome `json:"outcome"`
	Reason    string        `json:"reason"`             // id of the first rule that was met, or a reason such as "end" or "partitions"
	StoppedBy []string      `json:"stoppedBy"`          // ids of all rules that were met
	Message   string        `json:"message"`            // one sentence
	Pages     int           `json:"pages"`              // number of pages fetched
	Items     int           `json:"items"`              // number of items passed to the sink
	Filtered  int           `json:"filtered,omitempty"` // number of items that the filter left out
	Known     int           `json:"known,omitempty"`    // number of items that are not later than the kept value which the requests sent
	Bytes     int           `json:"bytes"`              // size of the fetched pages as minified JSON
	Seconds   float64       `json:"seconds"`            // running time

	// Kept holds the values for the next run. After a complete list they are new; otherwise, or if
	// StartsOver is set, they are the values of the previous run. A value that was nil although the
	// list had items is there, and nil.
	Kept map[string]any `json:"kept,omitzero"`

	// StartsOver reports whether the next run begins where this run began, because the job, its parent
	// or one of its children is not complete or was not selected: then the kept values stay.
	StartsOver bool `json:"-"`

	// Refused reports whether a rule ended the job, but the run does not accept how it ended. By
	// default, a run refuses lists with evidence that they are incomplete.
	Refused bool `json:"refused,omitempty"`

	Findings []trace.Finding `json:"findings,omitempty"` // findings of the audit
	Error    *trace.Fault    `json:"error,omitempty"`    // why the job failed

	Partitions *PartitionCounts `json:"partitions,omitempty"` // set for a job with variables; the other fields cover all partitions

	// FailedPage is the record of the page on which a job failed, if the sink did not receive that
	// page because its request failed or its response is not a page. Otherwise it is nil.
	FailedPage *trace.Record `json:"-"`
}

// A ListResult is the result of one list, with facts for the result of all partitions of its job.
type ListResult struct {
	Result
	Seen evidence.Seen // configured paths that the responses had and lacked
}

// Evidence returns the findings of the list that are evidence.
func (r Result) Evidence() []trace.Finding {
	var findings []trace.Finding
	for _, f := range r.Findings {
		if f.Weight == rules.WeightEvidence {
			findings = append(findings, f)
		}
	}
	return findings
}

// Ended reports whether a rule ended the job.
func (r Result) Ended() bool { return r.Outcome != rules.Failed && r.Outcome != "" }

// The reasons of a [Result] that are not ids of rules.
const (
	ReasonEnd            = "end"               // the job is not paged
	ReasonNextRequest    = "nextRequest"       // the rules yield no address for the next request
	ReasonError          = "error"             // the job failed with an error
	ReasonPartitions     = "partitions"        // the result covers all partitions of the job
	ReasonPartitionLimit = "limits.partitions" // the limit on the partitions of a run kept some of the job's partitions from running
)

// endAtPartitionLimit makes r the result of a job that the limit on the partitions of a run ends.
func (r *Result) endAtPartitionLimit() {
	r.Outcome, r.Reason, r.StoppedBy = rules.Limited, ReasonPartitionLimit, []string{}
	r.Message = "the limit on the partitions of the run is reached"
}

// PartitionCounts counts how the partitions of a job ended.
type PartitionCounts struct {
	Count    int                `json:"count"`              // partitions that ran, including failed ones
	Complete int                `json:"complete"`           // partitions whose lists are complete
	Suspect  int                `json:"suspect,omitempty"`  // partitions with findings, regardless of their outcomes
	Failed   int                `json:"failed,omitempty"`   // partitions that failed and ended the run
	Skipped  int                `json:"skipped,omitempty"`  // partitions that failed, with onPartitionError skip
	Failures []PartitionFailure `json:"failures,omitempty"` // the first hundred partitions that failed or were skipped
	Limited  int                `json:"limited,omitempty"`  // partitions whose lists a limit or a guard ended, without those that never began
}

// A PartitionFailure says why a partition failed.
type PartitionFailure struct {
	Partition string       `json:"partition"`
	Error     *trace.Fault `json:"error,omitempty"`
}

// Check returns an error for a result that no run can have produced, from a checkpoint that someone has changed.
func (r *Result) Check() error {
	if !r.Outcome.IsFinal() {
		return fmt.Errorf("the outcome of job %q is %q", r.Job, r.Outcome)
	}
	if n := r.Partitions; n != nil {
		err := checkCounts(
			count{"partitions", n.Count}, count{"skipped partitions", n.Skipped}, count{"limited partitions", n.Limited})
		if err != nil {
			return err
		}
	}
	return r.checkSums()
}

// checkSums returns an error for sums that no run can have produced.
func (r *Result) checkSums() error {
	if r.Seconds < 0 || r.Seconds > maxCount {
		return fmt.Errorf("the running time is %v seconds", r.Seconds)
	}
	return checkCounts(count{"pages", r.Pages}, count{"items", r.Items}, count{"filtered items", r.Filtered},
		count{"known items", r.Known}, count{"bytes", r.Bytes})
}

// maxCount is the largest number of anything in a checkpoint. Sums of such numbers do not overflow.
const maxCount = 1 << 53

// A count is a number in a checkpoint that is not negative.
type count struct {
	name string
	n    int
}

// checkCounts returns an error if a count is out of range.
func checkCounts(counts ...count) error {
	for _, c := range counts {
		if c.n < 0 || c.n > maxCount {
			return fmt.Errorf("the number of %s is %d", c.name, c.n)
		}
	}
	return nil
}
