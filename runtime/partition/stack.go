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

// position is the checkpoint of one partition. It is saved without being read.
type position = json.RawMessage

// A stack says where a walk is: in each task that runs, the one that delivers first. It is the
// checkpoint of a tree.
type stack []level

// A level is a task on the stack. What is still to come in it does not include the task of the
// level before it.
type level struct {
	task *task
	place
}

// stack returns the stack that begins with the task; nil if its page has to be requested again.
func (f *frame) stack() (stack, error) { return f.add(stack{}) }

// add appends this frame to the stack of its child.
func (f *frame) add(s stack) (stack, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	l := level{f.task, f.place}
	if f.token != nil {
		var err error
		if l.position, err = f.token(); err != nil || l.position == nil {
			return nil, err
		}
	}
	if len(s) > 0 {
		l.todo = l.todo[1:]
	}
	l.todo = slices.Clone(l.todo)
	if l.windows != nil {
		still := *l.windows
		l.windows = &still
	}
	return append(s, l), nil
}

// treeState is a stack as JSON, with what the tree remembers.
type treeState struct {
	Version int       `json:"version"`
	Done    bool      `json:"done,omitempty"` // nothing is left to do
	Started time.Time `json:"started"`        // the time that now() gives the rules of variables
	Tree    savedRoot `json:"tree"`
	tallyState

	Rests [][]saved.Value[any] `json:"rests,omitempty"` // values that are still to come; see savedTasks
}

// savedRoot is the task at the bottom of the stack: a search or a partition.
type savedRoot struct {
	Search    *savedTasks `json:"branch,omitempty"`
	Partition *savedTask  `json:"member,omitempty"`
}

// A savedTask is a task on the stack as JSON.
type savedTask struct {
	Value    saved.Value[any] `json:"value,omitzero"`
	Search   *savedTasks      `json:"branch,omitempty"`   // what is still to come of a search
	Position position         `json:"position,omitempty"` // of a partition: after its last page
	Children []*savedTasks    `json:"children,omitempty"` // the tasks for the items of that page that have not ended
}

// savedTasks are tasks of one job as JSON: the one on the stack, and those still to come, whose
// values are most of a checkpoint. Each value is encoded once, when a checkpoint has it first,
// and is apart from the stack, so that it is only copied into the checkpoints that follow.
type savedTasks struct {
	Job     string             `json:"job"`
	Level   int                `json:"level,omitempty"`   // position of the variable whose values they have
	Rest    []saved.Value[any] `json:"rest,omitempty"`    // their values, in old checkpoints
	RestAt  int                `json:"restAt,omitempty"`  // number of these values in treeState.Rests, from 1
	Windows *windows           `json:"windows,omitempty"` // further values
	Active  *savedTask         `json:"active,omitempty"`  // the task on the stack
}

// checkpoint returns the checkpoint of the tree with a stack, which is not empty.
func (t *tree) checkpoint(ctx context.Context, s stack, done bool) (json.RawMessage, error) {
	w := stackWriter{concealer: t.Concealer(ctx)}
	one := w.write(s)
	state := treeState{
		Version: runtime.CheckpointVersion, Done: done, Started: t.started, Tree: savedRoot{Search: one.Search}, tallyState: t.save(),
	}
	if one.Search == nil {
		state.Tree.Partition = one
	}
	token, err := json.Marshal(state)
	if err == nil {
		token, err = w.concealer.Conceal(token)
	}
	if err = errors.Join(w.err, err); err != nil {
		return nil, &failure.Error{Class: failure.Config, Job: t.root.Set.Job.ID, Op: "checkpoint", Message: err.Error(), Err: err}
	}
	if w.rests != nil {
		token = slices.Concat(token[:len(token)-1], []byte(`,"rests":[`), w.rests, []byte("]}"))
	}
	return token, nil
}

// A stackWriter writes a stack as JSON.
type stackWriter struct {
	concealer *saved.Concealer
	rests     []byte // lists of values, with commas between them
	lists     int
	err       error
}

func (w *stackWriter) write(s stack) (one *savedTask) {
	for i, l := range s {
		active := one
		one = &savedTask{Value: saved.Value[any]{Value: l.task.value}, Position: l.position}
		if l.task.searches() {
			one.Search = w.tasks(l.task.job, l.todo)
			one.Search.Level, one.Search.Windows, one.Search.Active = l.task.level, l.windows, active
			continue
		}
		for active != nil || len(l.todo) > 0 {
			job := s[max(i-1, 0)].task.job // of the active task, which is the first
			if active == nil {
				job = l.todo[0].job
			}
			n := slices.IndexFunc(l.todo, func(other *task) bool { return other.job != job })
			if n < 0 {
				n = len(l.todo)
			}
			tasks := w.tasks(job, l.todo[:n])
			tasks.Active, active, l.todo = active, nil, l.todo[n:]
			one.Children = append(one.Children, tasks)
		}
	}
	return one
}

// tasks returns tasks of a job that are still to come.
func (w *stackWriter) tasks(job *compile.Job, tasks []*task) *savedTasks {
	saved := &savedTasks{Job: job.Set.Job.ID}
	if len(tasks) == 0 {
		return saved
	}
	if w.lists > 0 {
		w.rests = append(w.rests, ',')
	}
	for i, one := range tasks {
		raw, err := one.saved.of(one.value, w.concealer)
		w.err = errors.Join(w.err, err)
		separator := byte(',')
		if i == 0 {
			separator = '['
		}
		w.rests = append(append(w.rests, separator), raw...)
	}
	w.rests = append(w.rests, ']')
	w.lists++
	saved.RestAt = w.lists
	return saved
}

// A savedValue is a value as checkpoints have it. It is encoded again only if there are other
// secrets.
type savedValue struct {
	raw  json.RawMessage // nil before the first checkpoint that has it
	with any             // the secrets that were replaced in it, see [redact.Redactor.Secrets]
}

func (s *savedValue) of(v any, c *saved.Concealer) (json.RawMessage, error) {
	if s.raw != nil && s.with == c.Secrets() {
		return s.raw, nil
	}
	raw, err := c.Encode(v)
	if err == nil {
		*s = savedValue{raw, c.Secrets()}
	}
	return raw, err
}

// resume returns the root task, with the stack of an earlier run if there is one. A checkpoint
// comes from a file that somebody may have damaged or written by hand, so all of it is checked
// before the first request: the jobs and the types of a stack are those that a run saves.
func (t *tree) resume(ctx context.Context) (*task, error) {
	id := t.root.Set.Job.ID
	token := t.Resume[id]
	if token == nil {
		return &task{job: t.root}, nil
	}
	c, state, err := t.Concealer(ctx), treeState{}, runtime.CheckVersion(token)
	if err == nil {
		token, err = c.Reveal(token)
	}
	if err == nil {
		err = value.Unmarshal(token, &state)
	}
	if err == nil {
		err = t.check(state.tallyState)
	}
	r := stackReader{tree: t, concealer: c, rests: state.Rests}
	var root *task
	if err == nil {
		root, err = r.read(state.Tree)
	}
	if err != nil {
		return nil, runtime.Unusable(id, err)
	}
	if !state.Started.IsZero() {
		t.started = state.Started
	}
	t.takeUp(state.tallyState)
	for _, r := range state.Results {
		if r.Partitions != nil {
			t.left.spend(r.Partitions.Count)
		}
	}
	return root, nil
}

// A stackReader reads a stack from JSON, and checks it.
type stackReader struct {
	tree      *tree
	concealer *saved.Concealer
	rests     [][]saved.Value[any] // nil: taken
}

func (r *stackReader) read(from savedRoot) (root *task, err error) {
	job := r.tree.root
	switch variables := len(job.Sources) > 0; {
	case variables && from.Search != nil && from.Partition == nil:
		root, err = r.task(job, 0, &savedTask{Search: from.Search})
	case !variables && from.Partition != nil && from.Search == nil:
		root, err = r.task(job, 0, from.Partition)
	default:
		err = fmt.Errorf("it has no position of job %q, or one of another kind", job.Set.Job.ID)
	}
	if err == nil && slices.ContainsFunc(r.rests, func(rest []saved.Value[any]) bool { return rest != nil }) {
		err = errors.New("it has values that belong to no variable")
	}
	return root, err
}

// task reads a task on the stack.
func (r *stackReader) task(job *compile.Job, level int, from *savedTask) (*task, error) {
	id, at := job.Set.Job.ID, &place{position: from.Position}
	one := &task{job: job, level: level, value: from.Value.Value, from: at}
	if one.searches() {
		if from.Position != nil || from.Children != nil {
			return nil, fmt.Errorf("it has a position of job %q, but not the values of all its variables", id)
		}
		var err error
		at.last = true
		at.todo, at.windows, err = r.tasks(job, level, from.Search)
		return one, err
	}
	if from.Search != nil {
		return nil, fmt.Errorf("it has values of a variable that job %q does not have", id)
	}
	done, err := runtime.CheckPosition(r.concealer, id, from.Position)
	if err != nil {
		return nil, fmt.Errorf("the position of job %q: %w", id, err)
	}
	if at.last = done; level > 0 { // the limit on partitions may be lower now, but what has begun comes to its end
		r.tree.left.spend(1)
	}
	children := r.tree.children(job)
	for _, b := range from.Children {
		i := slices.IndexFunc(children, func(child *compile.Job) bool { return b != nil && child.Set.Job.ID == b.Job })
		if i < 0 {
			return nil, fmt.Errorf("it has jobs for the items of %q that the configuration does not have there", id)
		}
		todo, _, err := r.tasks(children[i], 0, b)
		if err != nil {
			return nil, err
		}
		at.todo, children = append(at.todo, todo...), slices.Delete(children, i, i+1) // each once
	}
	return one, nil
}

// tasks reads the tasks with values of a variable of a job.
func (r *stackReader) tasks(job *compile.Job, level int, from *savedTasks) ([]*task, *windows, error) {
	id := job.Set.Job.ID
	if from == nil || from.Job != id || from.Level != level {
		return nil, nil, fmt.Errorf("it has no values of variable %d of job %q, or those of another one", level+1, id)
	}
	source := &job.Sources[level]
	if from.Windows != nil && source.Window == nil {
		return nil, nil, fmt.Errorf("it has windows for %s, which has none in this configuration", source.Name)
	}
	if from.Windows == nil && source.Window != nil {
		return nil, nil, fmt.Errorf("it lacks the windows of %s", source.Name)
	}
	if from.Windows != nil {
		if err := from.Windows.check(*source.Window); err != nil {
			return nil, nil, fmt.Errorf("the windows of %s: %w", source.Name, err)
		}
	}
	var todo []*task
	if from.Active != nil {
		one, err := r.task(job, level+1, from.Active)
		if err != nil {
			return nil, nil, err
		}
		todo = append(todo, one)
	}
	rest, err := r.rest(from)
	for _, v := range rest {
		todo = append(todo, &task{job: job, level: level + 1, value: v.Value})
	}
	for _, one := range todo {
		if err == nil {
			err = checkValue(source, one.value)
		}
	}
	return todo, from.Windows, err
}

// rest takes the values that are still to come.
func (r *stackReader) rest(from *savedTasks) ([]saved.Value[any], error) {
	at := from.RestAt
	if at == 0 {
		return from.Rest, nil
	}
	if at < 0 || at > len(r.rests) || from.Rest != nil || r.rests[at-1] == nil {
		return nil, errors.New("it lacks values that are still to come")
	}
	rest := r.rests[at-1]
	r.rests[at-1] = nil
	return rest, nil
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
