package pace

import (
	"context"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/stopwhen/stopwhen/engine/cluster/internal/store"
	"github.com/stopwhen/stopwhen/rules/value"
)

// A storedHold is a hold in the bucket. It is over if it has no times.
type storedHold struct {
	Until time.Time `json:"until,omitzero"` // no request may begin before it
	Probe time.Time `json:"probe,omitzero"` // the others wait until then for the end of the first request
}

// A hold implements [transport.Hold].
type hold struct {
	pace *Pace
	key  string

	mu       sync.Mutex
	until    time.Time     // end of the hold by the server's clock; zero if there is no hold
	probe    time.Time     // Probe of the storedHold
	first    bool          // whether the first request belongs to this process, or this process tries to reserve it
	telling  bool          // whether a goroutine is publishing until
	revision uint64        // last seen revision of the storedHold
	changed  chan struct{} // closed when waiting requests must check again
}

// probeTime is how long the others wait for the first request after a hold. Then another request
// goes first, because the process of the first may have died.
const probeTime = 30 * time.Second

// holdKey returns the key of a hold. The name is hashed because it is an address, and keys allow
// only few characters.
func holdKey(origin, name string) string {
	return "hold." + origin + "." + value.SHA256(name)[:16]
}

// hold returns the hold with the given key.
func (p *Pace) hold(key string) *hold {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.holds[key] == nil {
		p.holds[key] = &hold{pace: p, key: key, changed: make(chan struct{})}
	}
	return p.holds[key]
}

// Begin implements [transport.Hold]. This process obeys the hold at once; the others learn of it
// from the bucket.
func (h *hold) Begin(wait time.Duration) {
	until := h.pace.serverTime().Add(wait)
	h.mu.Lock()
	defer h.mu.Unlock()
	if until.After(h.until) {
		h.until = until
		h.tellLocked()
	}
}

// putBackLocked publishes a hold again that the bucket may have lost.
func (h *hold) putBackLocked() {
	if h.until.After(h.pace.serverTime()) {
		h.tellLocked()
	}
}

// tellLocked starts a goroutine that publishes the hold until the bucket has all of it.
func (h *hold) tellLocked() {
	if h.telling {
		return
	}
	h.telling = true
	h.pace.goroutines.Go(func() {
		for more := true; more; {
			var announced time.Time
			err := h.update(func(r *storedHold) bool {
				h.mu.Lock()
				announced = h.until
				h.mu.Unlock()
				longer := announced.After(r.Until)
				*r = storedHold{Until: announced}
				return longer
			})
			h.mu.Lock()
			more = err == nil && h.until.After(announced)
			h.telling = more
			h.mu.Unlock()
		}
	})
}

// State implements [transport.Hold].
func (h *hold) State() (wait time.Duration, changed <-chan struct{}) {
	now := h.pace.serverTime()
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case now.Before(h.until):
		return h.until.Sub(now), nil
	case h.isTakenLocked(now):
		return 0, h.changed
	}
	return 0, nil
}

// isTakenLocked reports whether another request goes first.
func (h *hold) isTakenLocked(now time.Time) bool {
	return !h.until.IsZero() && (h.first || now.Before(h.probe))
}

// Enter implements [transport.Hold]. It waits while the bucket is out of reach, because other
// processes could also make a first request.
func (h *hold) Enter(ctx context.Context) (first, ok bool, err error) {
	now := h.pace.serverTime()
	h.mu.Lock()
	until := h.until
	if until.IsZero() || now.Before(until) || h.isTakenLocked(now) {
		defer h.mu.Unlock()
		return false, until.IsZero(), nil
	}
	h.first = true
	h.mu.Unlock()
	err = h.pace.persist(ctx, func(ctx context.Context, kv jetstream.KeyValue) error {
		e, err := read[storedHold](ctx, kv, h.key)
		if err != nil {
			return err
		}
		now := h.pace.serverTime()
		switch {
		case e.revision > 0 && e.value.Until.IsZero():
			first, ok = false, true
		case now.Before(e.value.Until), now.Before(e.value.Probe):
			first, ok = false, false
		default:
			e.value = storedHold{Until: later(e.value.Until, until), Probe: now.Add(h.pace.probes)}
			if err := e.write(ctx, kv, h.key); err != nil {
				return err
			}
			first, ok = true, true
		}
		h.apply(e.value, e.revision)
		return nil
	})
	if first && err == nil {
		return true, true, nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.first = false
	h.wakeUpLocked()
	return false, ok && err == nil, err
}

// Leave implements [transport.Hold].
func (h *hold) Leave() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.first, h.probe = false, time.Time{}
	if until := h.until; !h.pace.serverTime().Before(until) { // no other hold has begun
		h.until = time.Time{}
		h.pace.goroutines.Go(func() {
			_ = h.update(func(r *storedHold) bool {
				same := r.Until.Equal(until)
				*r = storedHold{}
				return same
			})
		})
	}
	h.wakeUpLocked()
}

// wakeUpLocked makes the waiting requests check again.
func (h *hold) wakeUpLocked() {
	close(h.changed)
	h.changed = make(chan struct{})
}

// update changes the stored hold unless change returns false. It returns an error only if the process
// ends.
func (h *hold) update(change func(*storedHold) bool) error {
	return h.pace.persist(h.pace.ctx, func(ctx context.Context, kv jetstream.KeyValue) error {
		e, err := read[storedHold](ctx, kv, h.key)
		if err != nil || !change(&e.value) {
			return err
		}
		if err = e.write(ctx, kv, h.key); err == nil {
			h.apply(e.value, e.revision)
		}
		return err
	})
}

// apply adopts the hold in the bucket unless its revision was seen before. A hold of this
// process that is not published yet remains.
func (h *hold) apply(r storedHold, revision uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if revision <= h.revision {
		return
	}
	h.revision = revision
	switch {
	case r.Until.IsZero():
		if !h.telling {
			h.until, h.probe = time.Time{}, time.Time{}
		}
	case !r.Until.Before(h.until):
		h.until, h.probe = r.Until, r.Probe
	}
	if wait := h.probe.Sub(h.pace.serverTime()); wait > 0 {
		h.pace.goroutines.Go(func() {
			if store.Sleep(h.pace.ctx, wait) == nil {
				h.mu.Lock()
				defer h.mu.Unlock()
				h.wakeUpLocked()
			}
		})
	}
	h.wakeUpLocked()
}
