package runtime

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/runtime/failure"
)

// A receiver gets the pages of the partitions, in their order, each with a function that
// returns what has to be saved to continue after it.
type receiver[S any] interface {
	page(ctx context.Context, page *Page, save func() (*S, error)) error
	ended(p Partition, result Result) // a partition has ended
}

// branchState is the part of a checkpoint that says which values of a variable are still
// to come.
type branchState struct {
	Job     string          `json:"job"`
	Level   int             `json:"level,omitempty"`   // position of the variable in for
	Rest    []snapshot[any] `json:"rest,omitempty"`    // values that are still to come; see RestAt
	RestAt  int             `json:"restAt,omitempty"`  // number of these values in treeState.Rests, from 1, where they are saved
	Windows *windows        `json:"windows,omitempty"` // more of them
	Active  *memberState    `json:"active,omitempty"`  // the value that is being run

	waiting []*member // that have the values of Rest, before it is saved
}

// memberState is what is saved of one value of a variable, or of a job without variables.
type memberState struct {
	Value    snapshot[any]  `json:"value,omitzero"`
	Branch   *branchState   `json:"branch,omitempty"`   // over the next variable
	Position position       `json:"position,omitempty"` // of the partition: after its last page
	Children []*branchState `json:"children,omitempty"` // for the items of that page, as far as they have not ended
}

// done reports whether nothing of the value is left to do.
func (m *memberState) done() bool {
	switch {
	case m == nil:
		return true
	case m.Branch != nil:
		return m.Branch.done()
	}
	for _, b := range m.Children {
		if !b.done() {
			return false
		}
	}
	return Ended(m.Position)
}

func (b *branchState) done() bool {
	return len(b.waiting) == 0 && b.Windows.done() && b.Active.done()
}

// A branch runs a job, or the rest of its variables, for each value of one variable. A
// [branchState] is what is saved of it.
type branch struct {
	tree   *tree
	outer  Partition // with the values of the variables before this one
	source *compile.Source
	level  int

	mu      sync.Mutex
	changed sync.Cond
	queue   []*member // the first is running; those behind it may run ahead
	windows *windows  // more values; nil: none
	closed  bool
}

// newBranch returns a branch over some values of a variable.
func (t *tree) newBranch(outer Partition, job *compile.Job, level int, values []any) *branch {
	b := &branch{tree: t, outer: Partition{job, outer.Binding}, source: &job.Sources[level], level: level}
	b.changed.L = &b.mu
	for _, v := range values {
		b.queue = append(b.queue, b.newMember(v, nil))
	}
	return b
}

// branchOf returns the branch over the values of a variable: as it was saved or, if nothing
// was, from the first value.
func (t *tree) branchOf(ctx context.Context, p Partition, level int, saved *branchState) (*branch, error) {
	if saved == nil {
		return t.values(ctx, p, p.Job, level)
	}
	return t.restore(p, saved), nil
}

// restore returns a branch as it was saved. The checkpoint was checked.
func (t *tree) restore(outer Partition, saved *branchState) *branch {
	b := t.newBranch(outer, t.jobs[saved.Job], saved.Level, nil)
	b.windows = saved.Windows
	if saved.Active != nil {
		b.queue = append(b.queue, b.newMember(saved.Active.Value.Value, saved.Active))
	}
	for _, v := range saved.Rest {
		b.queue = append(b.queue, b.newMember(v.Value, nil))
	}
	return b
}

// save returns the state of the branch, in which a member is running.
func (b *branch) save(active *memberState) *branchState {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := &branchState{Job: b.outer.Job.Set.Job.ID, Level: b.level, Active: active}
	if b.windows != nil {
		rest := *b.windows
		s.Windows = &rest
	}
	waiting := b.queue
	if active != nil {
		waiting = waiting[1:]
	}
	s.waiting = slices.Clone(waiting)
	return s
}

// ends reports whether no member comes after the one that is running.
func (b *branch) ends() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.queue) <= 1 && b.windows.done()
}

// run runs all members, one after another. Others run ahead meanwhile, if there are slots.
func (b *branch) run(ctx context.Context, out receiver[branchState]) error {
	ctx, cancel := context.WithCancel(ctx)
	var ahead sync.WaitGroup
	defer ahead.Wait()
	defer b.close()
	defer cancel()
	if b.tree.slots != nil {
		stop := context.AfterFunc(ctx, b.wake)
		defer stop()
		ahead.Go(func() { b.runAhead(ctx, &ahead) })
	}
	for {
		m := b.first()
		switch {
		case ctx.Err() != nil:
			return cancelled(ctx, b.outer.Job.Set.Job.ID, 0)
		case m == nil:
			return nil
		}
		if err := m.finish(ctx, out); err != nil {
			return err
		}
		if b.tree.limited[b.outer.Job] { // the others would be left out, too
			return nil
		}
		b.next(m)
	}
}

// first returns the member whose turn it is, or nil if there is none left.
func (b *branch) first() *member {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.queue) == 0 {
		b.pull()
	}
	if len(b.queue) == 0 {
		return nil
	}
	return b.queue[0]
}

// pull adds the next window to the queue, if there is one.
func (b *branch) pull() bool {
	if b.windows == nil {
		return false
	}
	v, more := b.windows.next()
	if more {
		b.queue = append(b.queue, b.newMember(v, nil))
	}
	return more
}

// next removes a member that has ended. If its window has to be split, its halves are next.
func (b *branch) next(m *member) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.queue[0] = nil // what it holds is not needed any more
	rest := b.queue[1:]
	if m.split {
		first, second, _ := b.halves(m.value)
		rest = append([]*member{b.newMember(first, nil), b.newMember(second, nil)}, rest...)
	}
	b.queue = rest
	b.changed.Broadcast()
}

// halves divides the window that a value is.
func (b *branch) halves(v any) (first, second any, ok bool) {
	if b.source.Window == nil || !b.source.Window.Splits {
		return nil, nil, false
	}
	return (&windows{source: *b.source.Window}).halves(v)
}

// wake lets runAhead see that the context is done.
func (b *branch) wake() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.changed.Broadcast()
}

func (b *branch) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	b.changed.Broadcast()
}

// runAhead starts members before their turn, each when there is a slot for it.
func (b *branch) runAhead(ctx context.Context, ahead *sync.WaitGroup) {
	for {
		m := b.waiting(ctx)
		if m == nil {
			return
		}
		select {
		case b.tree.slots <- struct{}{}:
		case <-ctx.Done():
			return
		}
		if !m.start() { // its turn came first
			<-b.tree.slots
			continue
		}
		ahead.Go(func() {
			m.runAhead(ctx)
			m.free()
		})
	}
}

// maxAhead is how many members of a branch, for each slot, are kept ready behind the first.
const maxAhead = 4

// waiting returns the first member that does not run yet, besides the one whose turn it
// is. It waits until there is one, and returns nil if there will be none.
func (b *branch) waiting(ctx context.Context) *member {
	b.mu.Lock()
	defer b.mu.Unlock()
	for ; ; b.changed.Wait() {
		if b.closed || ctx.Err() != nil {
			return nil
		}
		most := maxAhead * cap(b.tree.slots)
		for len(b.queue) < 2 {
			if !b.pull() {
				break
			}
		}
		for i := 1; i < min(len(b.queue), most); i++ {
			if !b.queue[i].started() {
				return b.queue[i]
			}
		}
		if len(b.queue) < most && b.pull() {
			return b.queue[len(b.queue)-1]
		}
		if len(b.queue) == 0 {
			return nil
		}
	}
}

// skippable reports whether the other partitions can do without the one that failed.
func skippable(err error) bool {
	known, ok := errors.AsType[*failure.Error](err)
	if !ok {
		return false
	}
	return skippableClass(known.Class)
}

func skippableClass(class failure.Class) bool {
	switch class {
	case failure.API, failure.Response, failure.Transient, failure.Policy:
		return true
	}
	return false
}

// values returns the branch over the values of a variable, under the values of those
// before it.
func (t *tree) values(ctx context.Context, outer Partition, job *compile.Job, level int) (*branch, error) {
	source := &job.Sources[level]
	b := t.newBranch(outer, job, level, nil)
	if source.Values == nil && source.From == nil {
		return b, b.add(source.Source.Values)
	}
	page, machine := t.context(Partition{job, outer.Binding}), compile.Machine{Context: ctx}
	var err error
	if source.Values != nil {
		err = b.evaluateValues(&machine, page)
	} else {
		err = b.evaluateWindows(&machine, page)
	}
	if err != nil {
		return nil, t.fault(Partition{job, outer.Binding}, err)
	}
	return b, nil
}

func (b *branch) evaluateValues(m *compile.Machine, page *rules.Context) error {
	e := b.source.Values
	v, err := e.Value(m, page)
	if err != nil {
		return err
	}
	list, isList := v.([]any)
	if !isList && v != nil {
		return &compile.RuleError{Rule: e.Rule, Err: fmt.Errorf("want a list of values, got %s", compile.KindOf(v))}
	}
	if err := b.add(list); err != nil {
		return &compile.RuleError{Rule: e.Rule, Err: err}
	}
	return nil
}

// add adds values, as they are after they were saved and resumed.
func (b *branch) add(values []any) error {
	for _, v := range values {
		saved, err := reread(v)
		if err != nil {
			return err
		}
		b.queue = append(b.queue, b.newMember(saved, nil))
	}
	return nil
}

func (b *branch) evaluateWindows(m *compile.Machine, page *rules.Context) error {
	from, err := b.source.From.Value(m, page)
	if err != nil {
		return err
	}
	to, err := b.source.To.Value(m, page)
	if err != nil {
		return err
	}
	if b.windows, err = newWindows(*b.source.Window, from, to); err != nil {
		return &compile.RuleError{Rule: b.source.From.Rule, Err: err}
	}
	return nil
}

// reread returns a value as it is after it was saved and resumed.
func reread(v any) (any, error) {
	raw, err := encode(v)
	if err != nil {
		return nil, err
	}
	return decode(raw)
}
