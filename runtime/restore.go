package runtime

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/rules"
)

// A checkpoint comes from a file that somebody may have damaged or written by hand, so all
// of a tree is checked before its first request: behind it, the types and the jobs of a
// checkpoint are those that a run saves.

// maxCount is the largest number of anything in a checkpoint. Sums of such numbers do not
// overflow.
const maxCount = 1 << 53

// checkSaved reports a checkpoint that no run of the tree has saved.
func (t *tree) checkSaved(ctx context.Context, saved *treeState) error {
	if err := t.Tally.check(saved.tallyState); err != nil {
		return err
	}
	at := place{t, t.concealer(ctx)}
	branch, m := saved.Tree.Branch, saved.Tree.Member
	switch variables := len(t.root.Sources) > 0; {
	case variables && branch != nil && m == nil:
		return at.branch(t.root, 0, branch)
	case !variables && m != nil && branch == nil:
		return at.partition(t.root, m)
	}
	return fmt.Errorf("it has no position of job %q, or one of another kind", t.root.Set.Job.ID)
}

// check reports the result of a job that has ended which no job has.
func (r *Result) check() error {
	if !slices.Contains(severity, r.Outcome) {
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
	if s.Done && !slices.Contains(severity, s.Result.Outcome) {
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
func readState(c *concealer, job string, token position) (saved state, err error) {
	if err := checkVersion(token); err != nil {
		return saved, err
	}
	revealed, err := c.reveal(token)
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

// A place checks the parts of a checkpoint of a tree.
type place struct {
	tree      *tree
	concealer *concealer
}

// branch checks a branch over the values of a variable of a job.
func (p place) branch(job *compile.Job, level int, b *branchState) error {
	id := job.Set.Job.ID
	if b == nil || b.Job != id || b.Level != level {
		return fmt.Errorf("it has no values of variable %d of job %q, or those of another one", level+1, id)
	}
	source := &job.Sources[level]
	if (b.Windows == nil) != (source.Window == nil) {
		return fmt.Errorf("it has windows of %s and needs none, or has none and needs them", source.Name)
	}
	if w := b.Windows; w != nil {
		if err := w.check(*source.Window); err != nil {
			return fmt.Errorf("the windows of %s: %w", source.Name, err)
		}
	}
	for _, v := range b.Rest {
		if err := checkValue(source, v.Value); err != nil {
			return err
		}
	}
	if b.Active == nil {
		return nil
	}
	if err := checkValue(source, b.Active.Value.Value); err != nil {
		return err
	}
	if level+1 == len(job.Sources) {
		return p.partition(job, b.Active)
	}
	if b.Active.Position != nil || b.Active.Children != nil {
		return fmt.Errorf("it has a position of job %q, but not the values of all its variables", id)
	}
	return p.branch(job, level+1, b.Active.Branch)
}

// partition checks a partition in which an earlier run was, and counts it: the limit on
// partitions may be lower now, but what has begun comes to its end.
func (p place) partition(job *compile.Job, m *memberState) error {
	id := job.Set.Job.ID
	if m.Branch != nil {
		return fmt.Errorf("it has values of a variable that job %q does not have", id)
	}
	if _, err := readState(p.concealer, id, m.Position); err != nil {
		return fmt.Errorf("the position of job %q: %w", id, err)
	}
	if len(job.Sources) > 0 {
		p.tree.left.spend(1)
	}
	children := p.tree.children(job)
	for _, b := range m.Children {
		i := slices.IndexFunc(children, func(child *compile.Job) bool { return b != nil && child.Set.Job.ID == b.Job })
		if i < 0 {
			return fmt.Errorf("it has jobs for the items of %q that the configuration does not have there", id)
		}
		if err := p.branch(children[i], 0, b); err != nil {
			return err
		}
		children = slices.Delete(children, i, i+1) // each once
	}
	return nil
}

// checkValue checks the value of a variable. That of a window must be one: it may have to
// be divided.
func checkValue(source *compile.Source, v any) error {
	if source.Window == nil {
		return nil
	}
	both, _ := v.(map[string]any)
	_, err := newWindows(rules.Window{Smallest: source.Window.Smallest}, both["from"], both["to"])
	if err != nil || len(both) != 2 {
		return fmt.Errorf("a value of %s is no window of it", source.Name)
	}
	return nil
}

// check checks windows that were saved, and completes them.
func (w *windows) check(source rules.Window) error {
	from, to := w.From.Value, w.To.Value
	for _, v := range []any{from, to} {
		switch v.(type) {
		case time.Time, int, float64:
		default:
			return fmt.Errorf("a bound is neither a time nor a number")
		}
	}
	valid, err := newWindows(source, from, to)
	if err != nil {
		return err
	}
	valid.Next = w.Next
	if err := checkCounts(count{"windows", w.Next}); err != nil {
		return err
	}
	if last := valid.at(w.Next - 1); w.Next > 0 && (last == nil || before(last, from) || !before(last, to)) {
		return fmt.Errorf("the number of windows is %d, and there are fewer", w.Next)
	}
	*w = *valid
	return nil
}
