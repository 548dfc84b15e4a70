package runtime

import "sync"

// A Quota is the number of partitions that a run may still have. A nil Quota is any number.
type Quota struct {
	mu   sync.Mutex
	left int
}

// NewQuota returns a quota of n partitions; 0 is any number.
func NewQuota(n int) *Quota {
	if n == 0 {
		return nil
	}
	return &Quota{left: n}
}

// take takes partitions. It reports false if fewer are left.
func (q *Quota) take(n int) bool {
	if q == nil {
		return true
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.left < n {
		return false
	}
	q.left -= n
	return true
}

// spend takes partitions that an earlier run has had. The limit may have been higher then.
func (q *Quota) spend(n int) {
	if q == nil {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.left = max(q.left-n, 0)
}

// give gives partitions back that were not run after all.
func (q *Quota) give(n int) {
	if q == nil {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.left += n
}
