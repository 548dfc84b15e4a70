package transport

import (
	"context"
	"slices"
	"sync"
)

// A line lets one request at a time pass. Of those that wait, the one with the lowest
// number is next, so that pages that are fetched ahead are requested in their order. A
// request that does not wait yet holds up no other.
type line struct {
	mu      sync.Mutex
	taken   bool
	waiting []*waiter // in the order of their numbers
}

// A waiter is a request in a line.
type waiter struct {
	number int
	turn   chan struct{} // closed when it is the request's turn
}

// enter waits for the turn of a request. The request has to leave afterwards, unless there
// is an error.
func (l *line) enter(ctx context.Context, number int) error {
	w := l.join(number)
	if w == nil {
		return nil
	}
	err := waitFor(ctx, w.turn)
	if err != nil && !l.remove(w) { // its turn came at the same time
		l.leave()
	}
	return err
}

// join adds a request to those that wait. It returns nil if it is the request's turn already.
func (l *line) join(number int) *waiter {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.taken {
		l.taken = true
		return nil
	}
	w := &waiter{number: number, turn: make(chan struct{})}
	at, _ := slices.BinarySearchFunc(l.waiting, w, func(a, b *waiter) int { return a.number - b.number })
	l.waiting = slices.Insert(l.waiting, at, w)
	return w
}

// remove removes a request from those that wait. It reports false if it was none of them.
func (l *line) remove(w *waiter) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.Index(l.waiting, w)
	if i < 0 {
		return false
	}
	l.waiting = slices.Delete(l.waiting, i, i+1)
	return true
}

// leave lets the next request pass.
func (l *line) leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.waiting) == 0 {
		l.taken = false
		return
	}
	close(l.waiting[0].turn)
	l.waiting = slices.Delete(l.waiting, 0, 1)
}
