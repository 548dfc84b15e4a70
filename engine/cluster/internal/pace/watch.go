package pace

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// watchInterval is how often the watch begins again and the server's time is measured.
// So an entry that a watch has missed, for any reason, is heard of nevertheless.
const watchInterval = time.Minute

// A watch hears of the holds of other processes.
type watch struct {
	jetstream.KeyWatcher
	cancel context.CancelFunc
}

// end ends the watch.
func (w *watch) end() {
	_ = w.Stop()
	w.cancel()
}

// follow hears of the holds of other processes until the process ends. It begins with a
// watch that is under way.
func (p *Pace) follow(w *watch) {
	connected := p.js.Conn().StatusChanged(nats.CONNECTED)
	defer p.js.Conn().RemoveStatusListener(connected)
	for {
		p.listen(w, connected)
		w.end()
		if p.persist(p.ctx, p.measure) != nil {
			return
		}
		err := p.persist(p.ctx, func(ctx context.Context, kv jetstream.KeyValue) (err error) {
			w, err = p.watch(ctx, kv)
			return err
		})
		if err != nil {
			return
		}
	}
}

// listen hears of holds until it is time to begin again: at intervals, and when the
// connection was lost, since the server may have been started anew.
func (p *Pace) listen(w *watch, connected <-chan nats.Status) {
	timer := time.NewTimer(watchInterval)
	defer timer.Stop()
	for {
		select {
		case entry, ok := <-w.Updates():
			if !ok {
				return
			}
			p.hear(entry)
		case <-connected:
			return
		case <-timer.C:
			return
		case <-p.ctx.Done():
			return
		}
	}
}

// watch begins a watch of the holds, and returns when it has heard of all that there are. A
// hold that the bucket has lost is put back.
func (p *Pace) watch(ctx context.Context, kv jetstream.KeyValue) (*watch, error) {
	unheard := p.beginAnew()
	lasting, cancel := context.WithCancel(p.ctx)
	begun := context.AfterFunc(ctx, cancel) // the context limits how long it takes to begin
	watcher, err := kv.Watch(lasting, "hold.>")
	if err != nil {
		cancel()
		return nil, err
	}
	w := &watch{watcher, cancel}
	if err := p.hearAll(ctx, w, unheard); err != nil || !begun() {
		w.end()
		return nil, cmp.Or(err, ctx.Err())
	}
	for _, h := range unheard {
		h.putBack()
	}
	return w, nil
}

// beginAnew returns all holds by their keys, for a new watch: revisions begin anew in a
// bucket that was lost.
func (p *Pace) beginAnew() map[string]*hold {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, h := range p.holds {
		h.mu.Lock()
		h.revision = 0
		h.mu.Unlock()
	}
	return maps.Clone(p.holds)
}

// hearAll hears of all holds that there are, and removes them from a map.
func (p *Pace) hearAll(ctx context.Context, w *watch, unheard map[string]*hold) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case entry, ok := <-w.Updates():
			switch {
			case !ok:
				return nats.ErrBadSubscription
			case entry == nil:
				return nil
			}
			p.hear(entry)
			delete(unheard, entry.Key())
		}
	}
}

// hear takes over a hold of the bucket.
func (p *Pace) hear(entry jetstream.KeyValueEntry) {
	var r record
	if entry == nil || entry.Operation() != jetstream.KeyValuePut || json.Unmarshal(entry.Value(), &r) != nil {
		return
	}
	p.hold(entry.Key()).apply(r, entry.Revision())
}

// putBack publishes a hold again that the bucket has lost.
func (h *hold) putBack() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.until.After(h.pace.serverTime()) {
		h.tell()
	}
}
