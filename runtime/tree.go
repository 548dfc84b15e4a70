package runtime

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/runtime/document"
	"github.com/stopwhen/stopwhen/runtime/failure"
)

// A tree runs a job with all its partitions and the jobs that are for its items. Pages are
// delivered in one order, with or without concurrency: after each page of a partition come
// the partitions for its items.
type tree struct {
	Loop
	sink    Sink
	slots   chan struct{} // of partitions that run ahead; nil: none does
	started time.Time

	*Tally

	left    *Quota                           // partitions that may still be run
	leftOut bool                             // the limit on partitions has left one out
	limited map[*compile.Job]bool            // jobs of which the limit has left out a partition
	paths   map[*compile.Job]*document.Paths // what each job reads of an item of its parent
	kept    map[*compile.Job]map[string]any  // values of the previous run
}

// position is the checkpoint of one partition. It is saved without being read.
type position = json.RawMessage

// treeState is the checkpoint of a tree.
type treeState struct {
	Version int         `json:"version"`
	Done    bool        `json:"done,omitempty"` // nothing is left to do
	Started time.Time   `json:"started"`        // the time that now() gives the rules of variables
	Tree    treeMembers `json:"tree"`
	tallyState

	Rests [][]snapshot[any] `json:"rests,omitempty"` // of the branches of Tree, see [treeMembers.takeRests]
}

// treeMembers is where a tree is: in a branch of its root, or in its only partition.
type treeMembers struct {
	Branch *branchState `json:"branch,omitempty"`
	Member *memberState `json:"member,omitempty"`
}

// RunTree runs a job with all its partitions, and the jobs that are for its items. It
// passes their pages to the sink in the order of a run without concurrency. The results
// are those of the job and of the jobs below it, parents first; they say how far each
// came, even if the error is not nil.
func (l Loop) RunTree(ctx context.Context, root *compile.Job, sink Sink) ([]Result, error) {
	l = l.withDefaults()
	if len(root.Sources) == 0 && len(l.children(root)) == 0 && !root.Set.Job.Silent {
		result, err := l.Run(ctx, root, func(ctx context.Context, page *Page) error {
			page.Root, page.Final = page.Job, page.Decision == Stop
			return sink(ctx, page)
		})
		result.Repeats = result.Outcome != rules.Complete
		return []Result{result}, err
	}
	t := newTree(l, root, sink)
	err := t.run(ctx)
	return t.Results(err), err
}

// selects reports whether a job is to be written.
func (l Loop) selects(job *compile.Job) bool { return l.Jobs == nil || l.Jobs[job.Set.Job.ID] }

// children returns the jobs for the items of a job that run.
func (l Loop) children(job *compile.Job) []*compile.Job {
	return slices.DeleteFunc(slices.Clone(job.Children), func(child *compile.Job) bool { return len(l.below(child)) == 0 })
}

// below returns a job and the jobs below it that run, parents first.
func (l Loop) below(job *compile.Job) []*compile.Job {
	all := []*compile.Job{job}
	for _, child := range job.Children {
		all = append(all, l.below(child)...)
	}
	if len(all) == 1 && !l.selects(job) {
		return nil
	}
	return all
}

func newTree(l Loop, root *compile.Job, sink Sink) *tree {
	t := &tree{
		Loop: l, Tally: newTally(l, root), sink: sink,
		paths: map[*compile.Job]*document.Paths{}, kept: map[*compile.Job]map[string]any{},
		limited: map[*compile.Job]bool{},
		slots:   l.Slots, left: l.Partitions, started: l.Clock.Now(),
	}
	if t.Tools == nil {
		t.Tools = NewToolbox()
	}
	if cap(t.slots) < 2 || t.left != nil {
		t.slots = nil
	}
	for _, job := range t.all {
		t.paths[job] = document.NewPaths(job.ItemPaths)
	}
	return t
}

// run runs the tree, or what an earlier run has left of it.
func (t *tree) run(ctx context.Context) error {
	saved, err := t.saved(ctx)
	if err == nil {
		err = t.reveal(ctx)
	}
	if err != nil {
		return err
	}
	p := Partition{Job: t.root}
	if len(t.root.Sources) == 0 {
		m := &member{saved: memberOf(saved)}
		return t.partition(ctx, p, m, atRoot[memberState]{t, func(m *memberState) treeMembers { return treeMembers{Member: m} }})
	}
	var state *branchState
	if saved != nil {
		state = saved.Tree.Branch
	}
	b, err := t.branchOf(ctx, p, 0, state)
	if err != nil {
		return err
	}
	return b.run(ctx, atRoot[branchState]{t, func(b *branchState) treeMembers { return treeMembers{Branch: b} }})
}

func memberOf(saved *treeState) *memberState {
	if saved == nil {
		return nil
	}
	return saved.Tree.Member
}

// saved returns the checkpoint of an earlier run, or nil if there is none.
func (t *tree) saved(ctx context.Context) (*treeState, error) {
	token := t.Resume[t.root.Set.Job.ID]
	if token == nil {
		return nil, nil
	}
	if err := CheckVersion(t.root.Set.Job.ID, token); err != nil {
		return nil, err
	}
	revealed, err := t.concealer(ctx).reveal(token)
	if err != nil {
		return nil, t.unusable(err)
	}
	saved := &treeState{}
	dec := json.NewDecoder(bytes.NewReader(revealed))
	dec.UseNumber()
	if err := dec.Decode(saved); err != nil {
		return nil, t.unusable(err)
	}
	if err := saved.Tree.putRests(saved.Rests); err != nil {
		return nil, t.unusable(err)
	}
	if err := t.checkSaved(ctx, saved); err != nil {
		return nil, t.unusable(err)
	}
	if !saved.Started.IsZero() {
		t.started = saved.Started
	}
	t.takeUp(saved.tallyState)
	for _, r := range saved.Results {
		if r.Partitions != nil {
			t.left.spend(r.Partitions.Count)
		}
	}
	return saved, nil
}

// reveal reads the values of the previous run.
func (t *tree) reveal(ctx context.Context) error {
	for _, job := range t.all {
		kept, err := t.revealKept(ctx, job.Set.Job.ID)
		if err != nil {
			return err
		}
		t.kept[job] = kept
	}
	return nil
}

func (t *tree) unusable(err error) error { return unusable(t.root.Set.Job.ID, err) }

// checkpoint returns the checkpoint of the tree after a page.
func (t *tree) checkpoint(ctx context.Context, members treeMembers) (json.RawMessage, error) {
	s := treeState{
		Version: checkpointVersion, Done: members.done(), Started: t.started, Tree: members, tallyState: t.save(),
	}
	c := t.concealer(ctx)
	rests, err := members.takeRests(c)
	var token []byte
	if err == nil {
		token, err = json.Marshal(s)
	}
	if err == nil {
		token, err = c.conceal(token)
	}
	if err == nil && rests != nil {
		token = slices.Concat(token[:len(token)-1], []byte(`,"rests":`), rests, []byte("}"))
	}
	if err != nil {
		return nil, &failure.Error{Class: failure.Config, Job: t.root.Set.Job.ID, Op: "checkpoint", Message: err.Error(), Err: err}
	}
	return token, nil
}

func (m treeMembers) done() bool {
	if m.Branch != nil {
		return m.Branch.done()
	}
	return m.Member.done()
}

// atRoot receives what a tree delivers, and passes it to the sink.
type atRoot[S any] struct {
	tree    *tree
	members func(*S) treeMembers
}

func (r atRoot[S]) page(ctx context.Context, page *Page, save func() (*S, error)) error {
	t := r.tree
	page.Root = t.root.Set.Job.ID
	page.Final = page.last
	if items, lists := page.Items, page.Lists; page.silent {
		page.Items, page.Lists = document.Items{}, nil
		defer func() { page.Items, page.Lists = items, lists }()
	}
	page.checkpoint = func() (json.RawMessage, error) {
		s, err := save()
		if err != nil || s == nil {
			return nil, err
		}
		return t.checkpoint(ctx, r.members(s))
	}
	defer func() { page.checkpoint = nil }()
	return t.sink(ctx, page)
}

func (r atRoot[S]) ended(p Partition, result Result) {
	if failed := result.failed; failed != nil && result.skipped && r.tree.Skipped != nil {
		failed.Skipped = true
		r.tree.Skipped(&Page{Record: *failed, Root: r.tree.root.Set.Job.ID})
	}
	r.tree.Tally.end(p, result)
}

// context returns what the rules of a variable see.
func (t *tree) context(p Partition) *rules.Context {
	job := p.Job.Set.Job
	return &rules.Context{
		Limit: p.Job.Set.Limit, Input: t.Inputs, Partition: p.Binding, Kept: t.kept[p.Job], Now: func() time.Time { return t.started },
		Job: rules.JobFacts{ID: job.ID, Endpoint: job.Endpoint, Params: job.Constants()},
	}
}

// fault returns the error of a rule of a variable.
func (t *tree) fault(p Partition, err error) error {
	e := &failure.Error{
		Class: p.blame(), Job: p.Job.Set.Job.ID, Partition: t.Redactor.String(p.Label()), Op: "for",
		Message: t.Redactor.String(err.Error()), Err: err,
	}
	if failed := (*compile.RuleError)(nil); errors.As(err, &failed) {
		e.Op = "rule " + failed.Rule.ID
		e.Message = t.Redactor.String(failed.Placed())
	}
	return e
}
