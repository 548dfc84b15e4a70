package pace

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// claim asks for the first request after a hold, among all processes. It waits while the
// bucket is out of reach: the first request would not be the only one.
func (h *hold) claim(ctx context.Context) (first, ok bool, err error) {
	err = h.pace.persist(ctx, func(ctx context.Context, kv jetstream.KeyValue) error {
		r, revision, err := h.read(ctx, kv)
		if err != nil {
			return err
		}
		h.mu.Lock()
		until := h.until
		h.mu.Unlock()
		now := h.pace.serverTime()
		first, ok = false, false
		switch {
		case r.Over && !r.Until.Before(until):
			ok = true
		case r.Until.After(now), !r.Until.Before(until) && r.First != "" && r.First != h.pace.id && now.Before(r.Lease):
		default: // a claim of this process itself was given up, or its outcome was not learned
			r = record{Until: later(r.Until, until), First: h.pace.id, Lease: now.Add(h.pace.lease)}
			if revision, err = h.write(ctx, kv, r, revision); err != nil {
				return err
			}
			first, ok = true, true
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		h.see(r, revision)
		return nil
	})
	h.mu.Lock()
	defer h.mu.Unlock()
	if !first || err != nil {
		h.mine = false
		h.wakeUp()
		return false, ok, err
	}
	h.leaving = make(chan struct{})
	leaving := h.leaving
	h.pace.all.Go(func() { h.renew(leaving) })
	return true, true, nil
}

// renew renews a claim until the first request leaves.
func (h *hold) renew(leaving <-chan struct{}) {
	ticker := time.NewTicker(h.pace.lease / 3)
	defer ticker.Stop()
	for {
		select {
		case <-leaving:
			return
		case <-h.pace.ctx.Done():
			return
		case <-ticker.C:
		}
		_ = h.update(func(r *record) bool {
			r.Lease = h.pace.serverTime().Add(h.pace.lease)
			return r.First == h.pace.id
		})
	}
}

// publish tells the other processes of the hold, until they know of all of it.
func (h *hold) publish() {
	for more := true; more; {
		var told time.Time
		err := h.update(func(r *record) bool {
			h.mu.Lock()
			told = h.until
			h.mu.Unlock()
			longer := told.After(r.Until)
			*r = record{Until: told}
			return longer
		})
		h.mu.Lock()
		more = err == nil && h.until.After(told)
		h.telling = more
		h.mu.Unlock()
	}
}

// end tells the other processes that all requests may be made again.
func (h *hold) end(until time.Time) {
	_ = h.update(func(r *record) bool {
		mine := r.First == h.pace.id && r.Until.Equal(until)
		*r = record{Until: until, Over: true}
		return mine
	})
}

// update changes the record, unless the function reports false. The error is that the
// process ends.
func (h *hold) update(change func(*record) bool) error {
	return h.pace.persist(h.pace.ctx, func(ctx context.Context, kv jetstream.KeyValue) error {
		r, revision, err := h.read(ctx, kv)
		if err != nil || !change(&r) {
			return err
		}
		if revision, err = h.write(ctx, kv, r, revision); err == nil {
			h.apply(r, revision)
		}
		return err
	})
}

// read returns the record and its revision; none is the zero record, with revision 0.
func (h *hold) read(ctx context.Context, kv jetstream.KeyValue) (r record, revision uint64, err error) {
	entry, err := kv.Get(ctx, h.key)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return r, 0, nil
	}
	if err != nil {
		return r, 0, err
	}
	return r, entry.Revision(), json.Unmarshal(entry.Value(), &r)
}

// write writes the record if its revision is the given one.
func (h *hold) write(ctx context.Context, kv jetstream.KeyValue, r record, revision uint64) (uint64, error) {
	text, err := json.Marshal(r)
	if err != nil {
		return 0, err
	}
	return kv.Update(ctx, h.key, text, revision)
}
