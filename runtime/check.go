package runtime

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/runtime/saved"
)

// Severity orders outcomes: that of a job is the worst of its partitions.
var Severity = []rules.Outcome{rules.Complete, rules.Limited, rules.Guarded, rules.Partial, rules.Failed}

// maxCount is the largest number of anything in a checkpoint. Sums of such numbers do not
// overflow.
const maxCount = 1 << 53

// CheckResult reports a result that no job which has ended has.
func CheckResult(r *Result) error {
	if !slices.Contains(Severity, r.Outcome) {
		return fmt.Errorf("the outcome of job %q is %q", r.Job, r.Outcome)
	}
	if n := r.Partitions; n != nil {
		if err := checkCounts(count{"partitions", n.Count}, count{"skipped", n.Skipped}, count{"limited", n.Limited}); err != nil {
			return err
		}
	}
	return r.checkSums()
}

// checkSums reports sums of pages that no job has.
func (r *Result) checkSums() error {
	if r.Seconds < 0 || r.Seconds > maxCount {
		return fmt.Errorf("the running time is %v seconds", r.Seconds)
	}
	return checkCounts(count{"pages", r.Pages}, count{"items", r.Items}, count{"filtered", r.Filtered}, count{"bytes", r.Bytes})
}

// A count is a number in a checkpoint that is not negative.
type count struct {
	name string
	n    int
}

func checkCounts(counts ...count) error {
	for _, c := range counts {
		if c.n < 0 || c.n > maxCount {
			return fmt.Errorf("the number of %s is %d", c.name, c.n)
		}
	}
	return nil
}

// check reports the state of a job that no run has saved.
func (s *state) check(job string) error {
	if s.Result.Job != job {
		return fmt.Errorf("it belongs to job %q", s.Result.Job)
	}
	if s.Done && !slices.Contains(Severity, s.Result.Outcome) {
		return fmt.Errorf("the outcome of job %q is %q", job, s.Result.Outcome)
	}
	if s.Result.Partitions != nil {
		return fmt.Errorf("the position of job %q has the result of all its partitions", job)
	}
	if err := s.Result.checkSums(); err != nil {
		return err
	}
	if s.Elapsed < 0 {
		return fmt.Errorf("the running time is %v", s.Elapsed)
	}
	c := &s.Context.Value
	return checkCounts(count{"restarts", s.Restarts}, count{"items of a page", s.LargestPage}, count{"pages", c.Page},
		count{"items of a page", c.Count}, count{"bytes of a page", c.Bytes}, count{"equal pages", c.SameItems},
		count{"pages", c.Total.Pages}, count{"items", c.Total.Items}, count{"bytes", c.Total.Bytes})
}

// readState reads and checks the position in a job, with the present values of its secrets.
func readState(c *saved.Concealer, job string, token json.RawMessage) (saved state, err error) {
	if err := checkVersion(token); err != nil {
		return saved, err
	}
	revealed, err := c.Reveal(token)
	if err != nil {
		return saved, err
	}
	dec := json.NewDecoder(bytes.NewReader(revealed))
	dec.UseNumber() // carryover values keep their digits
	if err := dec.Decode(&saved); err != nil {
		return saved, err
	}
	return saved, saved.check(job)
}

// CheckPosition checks the position in the list of a partition of a job. It reports whether the
// list had ended there.
func CheckPosition(c *saved.Concealer, job string, token json.RawMessage) (done bool, err error) {
	s, err := readState(c, job, token)
	return s.Done, err
}
