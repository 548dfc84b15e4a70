package partition

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime"
	"github.com/stopwhen/stopwhen/runtime/failure"
	"github.com/stopwhen/stopwhen/runtime/saved"
)

// A position is the checkpoint of one partition. It is saved without being decoded.
type position = json.RawMessage

// A stack is the state of a walk: its running tasks, innermost first. It is the checkpoint of a
// tree of jobs.
type stack []stackEntry

// A stackEntry is a task on the stack with its progress. The remaining tasks do not include the
// task of the previous entry.
type stackEntry struct {
	node *node
	progress
}

// stack returns the stack from this task down to the root, or nil if its page must be requested
// again.
func (f *frame) stack() (stack, error) { return f.appendTo(stack{}) }

// appendTo appends this frame to the stack of its child.
func (f *frame) appendTo(s stack) (stack, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	entry := stackEntry{f.node, f.progress}
	if f.pageCheckpoint != nil {
		var err error
		if entry.position, err = f.pageCheckpoint(); err != nil || entry.position == nil {
			return nil, err
		}
	}
	if len(s) > 0 {
		entry.todo = entry.todo[1:]
	}
	entry.todo = slices.Clone(entry.todo)
	if entry.windows != nil {
		entry.windows = new(*entry.windows)
	}
	return append(s, entry), nil
}

// A treeState is the JSON form of a stack, with the other state of the tree.
type treeState struct {
	Version int       `json:"version"`
	Done    bool      `json:"done,omitempty"` // whether nothing is left to do
	Started time.Time `json:"started"`        // value of now() in the rules of variables
	Tree    savedRoot `json:"tree"`
	tallyState

	Rests [][]saved.Value[any] `json:"rests,omitempty"` // remaining values; see savedSiblings
}

// A savedRoot is the task at the bottom of the stack: a search or a partition.
type savedRoot struct {
	Search    *savedSiblings `json:"search,omitempty"`
	Partition *savedNode     `json:"partition,omitempty"`
}

// A savedNode is the JSON form of a task on the stack.
type savedNode struct {
	Value    saved.Value[any] `json:"value,omitzero"`
	Search   *savedSiblings   `json:"search,omitempty"`   // remaining values of a search
	Position position         `json:"position,omitempty"` // position after the last page of a partition
	Children []*savedSiblings `json:"children,omitempty"` // unfinished tasks for the items of that page
}

// A savedSiblings is the JSON form of tasks of one job: the task on the stack and the remaining ones,
// whose values are most of a checkpoint. They are encoded once, for their first checkpoint, and stored
// apart from the stack, at its end, so that later checkpoints only copy them.
type savedSiblings struct {
	Job     string        `json:"job"`
	Level   int           `json:"level,omitempty"`   // index of the variable whose values they have
	RestAt  int           `json:"restAt,omitempty"`  // index of the values in treeState.Rests, from 1; 0 if none remains
	Windows *windowSeries `json:"windows,omitempty"` // further values
	Active  *savedNode    `json:"active,omitempty"`  // the task on the stack
}

// checkpoint returns the checkpoint of the tree with a stack that is not empty.
func (t *tree) checkpoint(ctx context.Context, s stack, done bool) (json.RawMessage, error) {
	w := stackWriter{concealer: t.walk.Concealer(ctx)}
	bottom := w.write(s)
	state := treeState{
		Version: runtime.CheckpointVersion, Done: done, Started: t.started, Tree: savedRoot{Search: bottom.Search}, tallyState: t.tally.save(),
	}
	if bottom.Search == nil {
		state.Tree.Partition = bottom
	}
	checkpoint, err := json.Marshal(state)
	if err == nil {
		checkpoint, err = w.concealer.ConcealJSON(checkpoint)
	}
	if err = errors.Join(w.err, err); err != nil {
		return nil, &failure.Error{Class: failure.Config, Job: t.root.ID(), Op: "checkpoint", Message: err.Error(), Err: err}
	}
	if w.rests != nil {
		parts := append([][]byte{checkpoint[:len(checkpoint)-1], []byte(`,"rests":[`)}, w.rests...)
		checkpoint = slices.Concat(append(parts, []byte("]}"))...)
	}
	return checkpoint, nil
}

// A stackWriter writes a stack as JSON.
type stackWriter struct {
	concealer *saved.Concealer
	rests     [][]byte // lists of values, separated by commas
	lists     int
	err       error
}

// write returns the task at the bottom of a stack, with all tasks above it.
func (w *stackWriter) write(s stack) (bottom *savedNode) {
	for i, entry := range s {
		active := bottom
		bottom = &savedNode{Value: saved.Value[any]{Value: entry.node.value}, Position: entry.position}
		if entry.node.searches() {
			bottom.Search = w.siblings(entry.node.job, entry.todo)
			bottom.Search.Level, bottom.Search.Windows, bottom.Search.Active = entry.node.level, entry.windows, active
			continue
		}
		for active != nil || len(entry.todo) > 0 {
			job := s[max(i-1, 0)].node.job // job of the active task, which comes first
			if active == nil {
				job = entry.todo[0].job
			}
			n := slices.IndexFunc(entry.todo, func(other *node) bool { return other.job != job })
			if n < 0 {
				n = len(entry.todo)
			}
			children := w.siblings(job, entry.todo[:n])
			children.Active, active, entry.todo = active, nil, entry.todo[n:]
			bottom.Children = append(bottom.Children, children)
		}
	}
	return bottom
}

// siblings returns the JSON form of the remaining tasks of a job, and writes their values.
func (w *stackWriter) siblings(job *compile.Job, nodes []*node) *savedSiblings {
	out := &savedSiblings{Job: job.ID()}
	if len(nodes) == 0 {
		return out
	}
	list, first, last := nodes[0].saved.list, nodes[0].saved.index, nodes[len(nodes)-1].saved
	adjacent := list == last.list && first+len(nodes)-1 == last.index
	if list == nil || !adjacent || list.generation != w.concealer.Generation() {
		list, first = w.encode(nodes), 0
	}
	if w.rests != nil {
		w.rests = append(w.rests, []byte(","))
	}
	w.rests = append(w.rests, []byte("["), list.from(first, len(nodes)), []byte("]"))
	w.lists++
	out.RestAt = w.lists
	return out
}

// encode encodes the values of remaining tasks.
func (w *stackWriter) encode(nodes []*node) *savedValues {
	list := &savedValues{generation: w.concealer.Generation()}
	for i, n := range nodes {
		raw, err := w.concealer.Encode(n.value)
		w.err = errors.Join(w.err, err)
		list.text = append(append(list.text, raw...), ',')
		list.ends = append(list.ends, len(list.text))
		n.saved = savedValue{list, i}
	}
	return list
}

// A savedValues is the encoding, for checkpoints, of the values of remaining tasks. They are encoded
// again only if the secrets have changed, or if other tasks come between them, as when a window is
// split.
type savedValues struct {
	text       []byte // each value is followed by a comma
	ends       []int  // where the values end, with their commas
	generation any    // identifies the secrets that were replaced; see [redact.Redactor.Generation]
}

// from returns n encoded values, from the value with the index first on, separated by commas.
func (s *savedValues) from(first, n int) []byte {
	start := 0
	if first > 0 {
		start = s.ends[first-1]
	}
	return s.text[start : s.ends[first+n-1]-1]
}

// A savedValue is the place of a value in an encoding; the list is nil before the first checkpoint
// with the value.
type savedValue struct {
	list  *savedValues
	index int
}

// resume returns the root task, with the stack of an earlier run if there is one. The checkpoint may
// be damaged or written by hand, so resume checks all of it: an error after the first request would
// be too late.
func (t *tree) resume(ctx context.Context) (*node, error) {
	id := t.root.ID()
	checkpoint := t.walk.Resume[id]
	if checkpoint == nil {
		return &node{job: t.root}, nil
	}
	c, state, err := t.walk.Concealer(ctx), treeState{}, runtime.Checkpoint(checkpoint).CheckVersion()
	if err == nil {
		checkpoint, err = c.RevealJSON(checkpoint)
	}
	if err == nil {
		err = value.Unmarshal(checkpoint, &state)
	}
	if err == nil {
		err = t.tally.check(state.tallyState)
	}
	r := stackReader{tree: t, concealer: c, rests: state.Rests}
	var root *node
	if err == nil {
		root, err = r.read(state.Tree)
	}
	if err != nil {
		return nil, runtime.UnusableCheckpoint(id, err)
	}
	if !state.Started.IsZero() {
		t.started = state.Started
	}
	t.tally.restore(state.tallyState)
	for _, r := range state.Results {
		runtime.LogEarlierFindings(t.walk.Log, r.Job, t.tally.byID[r.Job], r.Findings)
		if r.Partitions != nil {
			t.quota.spend(r.Partitions.Count)
		}
	}
	return root, nil
}

// A stackReader decodes and checks a stack.
type stackReader struct {
	tree      *tree
	concealer *saved.Concealer
	rests     [][]saved.Value[any] // an entry is nil after it was taken
}

func (r *stackReader) read(from savedRoot) (root *node, err error) {
	job := r.tree.root
	switch variables := len(job.For) > 0; {
	case variables && from.Search != nil && from.Partition == nil:
		root, err = r.node(job, 0, &savedNode{Search: from.Search})
	case !variables && from.Partition != nil && from.Search == nil:
		root, err = r.node(job, 0, from.Partition)
	default:
		err = fmt.Errorf("the position of job %q is missing or malformed", job.ID())
	}
	if err == nil && slices.ContainsFunc(r.rests, func(rest []saved.Value[any]) bool { return rest != nil }) {
		err = errors.New("it has values that belong to no variable")
	}
	return root, err
}

// node decodes a task on the stack.
func (r *stackReader) node(job *compile.Job, level int, from *savedNode) (*node, error) {
	id, p := job.ID(), &progress{position: from.Position}
	n := &node{job: job, level: level, value: from.Value.Value, from: p}
	if n.searches() {
		if from.Position != nil || from.Children != nil {
			return nil, fmt.Errorf("it has a position of job %q, but not the values of all its variables", id)
		}
		var err error
		p.last = true
		p.todo, p.windows, err = r.siblings(job, level, from.Search)
		return n, err
	}
	if from.Search != nil {
		return nil, fmt.Errorf("it has values of a variable that job %q does not have", id)
	}
	var err error
	if p.last, err = runtime.Checkpoint(from.Position).CheckList(r.concealer, id); err != nil {
		return nil, fmt.Errorf("the position of job %q: %w", id, err)
	}
	if level > 0 { // the limit on partitions may be lower now, but a partition that has begun is completed
		r.tree.quota.spend(1)
	}
	children := r.tree.walk.children(job)
	for _, b := range from.Children {
		i := slices.IndexFunc(children, func(child *compile.Job) bool { return b != nil && child.ID() == b.Job })
		if i < 0 {
			return nil, fmt.Errorf("it has children of job %q that the configuration does not have", id)
		}
		todo, _, err := r.siblings(children[i], 0, b)
		if err != nil {
			return nil, err
		}
		p.todo, children = append(p.todo, todo...), slices.Delete(children, i, i+1) // each savedSiblings counts once
	}
	return n, nil
}

// siblings decodes the tasks with values of a variable of a job.
func (r *stackReader) siblings(job *compile.Job, level int, from *savedSiblings) ([]*node, *windowSeries, error) {
	id := job.ID()
	if from == nil || from.Job != id || from.Level != level {
		return nil, nil, fmt.Errorf("it has no values of variable %d of job %q, or those of another one", level+1, id)
	}
	variable := &job.For[level]
	if from.Windows != nil && variable.Window == nil {
		return nil, nil, fmt.Errorf("it has windows for %s, which has none in this configuration", variable.Name)
	}
	if from.Windows == nil && variable.Window != nil {
		return nil, nil, fmt.Errorf("it lacks the windows of %s", variable.Name)
	}
	if from.Windows != nil {
		if err := from.Windows.check(*variable.Window); err != nil {
			return nil, nil, fmt.Errorf("the windows of %s: %w", variable.Name, err)
		}
	}
	var todo []*node
	if from.Active != nil {
		n, err := r.node(job, level+1, from.Active)
		if err != nil {
			return nil, nil, err
		}
		todo = append(todo, n)
	}
	rest, err := r.rest(from)
	for _, v := range rest {
		todo = append(todo, &node{job: job, level: level + 1, value: v.Value})
	}
	for _, n := range todo {
		if err == nil {
			err = checkValue(variable, n.value)
		}
	}
	return todo, from.Windows, err
}

// rest takes the remaining values out of the checkpoint.
func (r *stackReader) rest(from *savedSiblings) ([]saved.Value[any], error) {
	index := from.RestAt
	if index == 0 {
		return nil, nil
	}
	if index < 0 || index > len(r.rests) || r.rests[index-1] == nil {
		return nil, errors.New("remaining values are missing")
	}
	rest := r.rests[index-1]
	r.rests[index-1] = nil
	return rest, nil
}

// checkValue checks the value of a variable. The value of a window must be a window, because it may
// have to be split.
func checkValue(variable *compile.ForVariable, v any) error {
	if variable.Window == nil {
		return nil
	}
	both, _ := v.(map[string]any)
	_, err := newWindows(rules.Window{Smallest: variable.Window.Smallest}, both["from"], both["to"])
	if err != nil || len(both) != 2 {
		return fmt.Errorf("a value of %s is not one of its windows", variable.Name)
	}
	return nil
}
