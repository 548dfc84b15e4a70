package partition

// A Quota is the number of partitions that a run may still have. A nil Quota is any number.
// The partitions of a run with a quota run one after another.
type Quota struct{ left int }

// NewQuota returns a quota of n partitions; 0 is any number.
func NewQuota(n int) *Quota {
	if n == 0 {
		return nil
	}
	return &Quota{left: n}
}

// take takes a partition. It reports false if none is left.
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

// spend takes partitions that an earlier run has had. The limit may have been higher then.
func (q *Quota) spend(n int) {
	if q != nil {
		q.left = max(q.left-n, 0)
	}
}

// give gives a partition back that was not run after all.
func (q *Quota) give() {
	if q != nil {
		q.left++
	}
}
