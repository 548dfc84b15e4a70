package partition

import "context"

// A Quota is the number of partitions that a run may still start. A nil Quota is unlimited. A run
// with a quota runs its partitions one after another.
type Quota struct{ left int }

// NewQuota returns a quota of n partitions, or an unlimited one if n is 0.
func NewQuota(n int) *Quota {
	if n == 0 {
		return nil
	}
	return &Quota{left: n}
}

// take takes one partition from the quota. It reports false if the quota is used up.
func (q *Quota) take() bool {
	switch {
	case q == nil:
		return true
	case q.left == 0:
		return false
	}
	q.left--
	return true
}

// spend takes the n partitions of an earlier run, whose limit may have been higher.
func (q *Quota) spend(n int) {
	if q != nil {
		q.left = max(q.left-n, 0)
	}
}

// giveBack returns a partition that did not run after all.
func (q *Quota) giveBack() {
	if q != nil {
		q.left++
	}
}

// Slots are the slots of the partitions that run at once. With nil Slots, every partition runs in its
// turn.
type Slots struct{ taken chan struct{} }

// NewSlots returns n slots, or nil Slots if n is 0.
func NewSlots(n int) *Slots {
	if n == 0 {
		return nil
	}
	return &Slots{make(chan struct{}, n)}
}

// take takes a slot, and waits until there is one. The caller releases it.
func (s *Slots) take() {
	if s != nil {
		s.taken <- struct{}{}
	}
}

// tryTake takes a slot as take does. It reports false if the context ended before there was one.
func (s *Slots) tryTake(ctx context.Context) bool {
	select {
	case s.taken <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

// release releases a slot that was taken.
func (s *Slots) release() {
	if s != nil {
		<-s.taken
	}
}

// count returns the number of slots.
func (s *Slots) count() int {
	if s == nil {
		return 0
	}
	return cap(s.taken)
}
