package pace

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"sync"
	"time"
)

// A record is a hold in the bucket.
type record struct {
	Until time.Time `json:"until"`           // no request before it
	Over  bool      `json:"over,omitzero"`   // the first request after it has ended well: there is no hold any more
	First string    `json:"first,omitempty"` // the process whose request goes first; "": none yet
	Lease time.Time `json:"lease,omitzero"`  // when that process is given up
}

// A hold implements [transport.Hold].
type hold struct {
	pace *Pace
	key  string

	mu       sync.Mutex
	until    time.Time     // by the server's clock; zero: there is no hold
	first    string        // the process whose request goes first; "": none
	lease    time.Time     // when that process is given up
	mine     bool          // the first request is one of this process, or this process asks for that
	leaving  chan struct{} // is closed when the first request of this process leaves
	revision uint64        // of the record that was last seen
	changed  chan struct{} // is closed when requests that wait for the first one should look again
	telling  bool          // a goroutine tells the others of until
}

// lease is how long a process may be silent whose request goes first. It renews its claim
// three times as often.
const lease = 30 * time.Second

// holdKey returns the key of a hold. The name is hashed, since a name is an address and keys
// have few characters.
func holdKey(origin, name string) string {
	sum := sha256.Sum256([]byte(name))
	return "hold." + origin + "." + hex.EncodeToString(sum[:8])
}

// hold returns the hold with a key.
func (p *Pace) hold(key string) *hold {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.holds[key] == nil {
		p.holds[key] = &hold{pace: p, key: key, changed: make(chan struct{})}
	}
	return p.holds[key]
}

// Begin implements [transport.Hold]. This process obeys the hold at once; the others hear of
// it from the bucket.
func (h *hold) Begin(wait time.Duration) {
	until := h.pace.serverTime().Add(wait)
	h.mu.Lock()
	defer h.mu.Unlock()
	if until.After(h.until) {
		h.until = until
		h.tell()
	}
}

// tell lets a goroutine tell the others of the hold. The lock is held.
func (h *hold) tell() {
	if !h.telling {
		h.telling = true
		h.pace.all.Go(h.publish)
	}
}

// State implements [transport.Hold].
func (h *hold) State() (wait time.Duration, changed <-chan struct{}) {
	now := h.pace.serverTime()
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case now.Before(h.until):
		return h.until.Sub(now), nil
	case h.isTaken(now):
		return 0, h.changed
	}
	return 0, nil
}

// isTaken reports whether the request that goes first is another one. The lock is held.
func (h *hold) isTaken(now time.Time) bool {
	return !h.until.IsZero() && (h.mine || h.first != "" && now.Before(h.lease))
}

// Enter implements [transport.Hold].
func (h *hold) Enter(ctx context.Context) (first, ok bool, err error) {
	now := h.pace.serverTime()
	h.mu.Lock()
	if h.until.IsZero() || now.Before(h.until) || h.isTaken(now) {
		defer h.mu.Unlock()
		return false, h.until.IsZero(), nil
	}
	h.mine = true
	h.mu.Unlock()
	return h.claim(ctx)
}

// Leave implements [transport.Hold].
func (h *hold) Leave() {
	h.mu.Lock()
	defer h.mu.Unlock()
	close(h.leaving)
	h.mine, h.first = false, ""
	if !h.pace.serverTime().Before(h.until) { // no other hold has begun
		until := h.until
		h.until = time.Time{}
		h.pace.all.Go(func() { h.end(until) })
	}
	h.wakeUp()
}

// wakeUp lets the requests look again that wait for the first one. The lock is held.
func (h *hold) wakeUp() {
	close(h.changed)
	h.changed = make(chan struct{})
}

// apply takes over what the bucket has, unless it was seen before.
func (h *hold) apply(r record, revision uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if revision > h.revision {
		h.see(r, revision)
	}
}

// see takes over a record. The lock is held.
func (h *hold) see(r record, revision uint64) {
	h.revision = revision
	switch {
	case r.Over:
		if !r.Until.Before(h.until) {
			h.until, h.first = time.Time{}, ""
		}
	case !r.Until.Before(h.until):
		h.until, h.first, h.lease = r.Until, r.First, r.Lease
		if r.First == h.pace.id && !h.mine { // of a claim that was given up
			h.first = ""
		}
		if h.first != "" {
			time.AfterFunc(h.lease.Sub(h.pace.serverTime()), h.expire)
		}
	}
	h.wakeUp()
}

// expire lets requests look again after a lease has ended.
func (h *hold) expire() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.wakeUp()
}
