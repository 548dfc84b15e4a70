package runtime

import (
	"context"
	"encoding/json"
	"sync"
)

// A member is one value of a variable: a partition or, if variables follow, a branch over
// the next one.
type member struct {
	branch *branch
	value  any
	saved  *memberState // of an earlier run; nil: it begins
	split  bool         // the window has to be split

	mu      sync.Mutex
	begun   bool // it runs, ahead or in its turn
	slot    bool // it holds a slot
	backlog *backlog

	raw     json.RawMessage // the value as a checkpoint has it; nil: none had it yet
	rawWith any             // the secrets that were replaced in it, see [redact.Redactor.Secrets]
}

func (b *branch) newMember(v any, saved *memberState) *member {
	return &member{branch: b, value: v, saved: saved}
}

// divisible reports whether the value is a window that may have to be divided.
func (m *member) divisible() bool {
	if m.branch == nil {
		return false
	}
	_, _, ok := m.branch.halves(m.value)
	return ok
}

func (m *member) started() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.begun
}

// start takes the member, to run it ahead. It reports false if its turn has come.
func (m *member) start() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.begun {
		return false
	}
	m.begun, m.slot, m.backlog = true, true, newBacklog(backlogBytes)
	return true
}

// free gives the slot back.
func (m *member) free() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.slot {
		m.slot = false
		<-m.branch.tree.slots
	}
}

// runAhead runs the member before its turn. What it delivers waits in the backlog.
func (m *member) runAhead(ctx context.Context) {
	m.backlog.end(m.run(ctx, m.backlog))
}

// finish runs the member in its turn or, if it runs ahead already, delivers what it has
// delivered so far and lets it deliver the rest itself.
func (m *member) finish(ctx context.Context, out receiver[branchState]) error {
	to := inBranch{m.branch, out}
	m.mu.Lock()
	ahead := m.begun
	m.begun = true
	m.mu.Unlock()
	if !ahead {
		return m.run(ctx, to)
	}
	m.free()
	return m.backlog.drain(ctx, to)
}

// run runs the partition, or the branch over the next variable.
func (m *member) run(ctx context.Context, out receiver[memberState]) error {
	b, t := m.branch, m.branch.tree
	p := b.outer.with(b.outer.Job, b.source.Name, m.value)
	if b.level+1 == len(p.Job.Sources) {
		return t.partition(ctx, p, m, out)
	}
	var state *branchState
	if m.saved != nil {
		state = m.saved.Branch
	}
	inner, err := t.branchOf(ctx, p, b.level+1, state)
	if err != nil {
		return err
	}
	return inner.run(ctx, inMember{m.value, out})
}

// inBranch receives what a member of a branch delivers.
type inBranch struct {
	branch *branch
	out    receiver[branchState]
}

func (r inBranch) page(ctx context.Context, page *Page, save func() (*memberState, error)) error {
	page.last = page.last && r.branch.ends()
	return r.out.page(ctx, page, func() (*branchState, error) {
		active, err := save()
		if err != nil || active == nil {
			return nil, err
		}
		return r.branch.save(active), nil
	})
}

func (r inBranch) ended(p Partition, result Result) { r.out.ended(p, result) }

// inMember receives what the branch over the next variable delivers.
type inMember struct {
	value any
	out   receiver[memberState]
}

func (r inMember) page(ctx context.Context, page *Page, save func() (*branchState, error)) error {
	return r.out.page(ctx, page, func() (*memberState, error) {
		inner, err := save()
		if err != nil || inner == nil {
			return nil, err
		}
		return &memberState{Value: snapshot[any]{r.value}, Branch: inner}, nil
	})
}

func (r inMember) ended(p Partition, result Result) { r.out.ended(p, result) }
