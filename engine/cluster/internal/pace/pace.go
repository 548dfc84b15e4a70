package pace

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/stopwhen/stopwhen/engine/cluster/internal/store"
)

// A Pace coordinates the requests of this process to all origins.
type Pace struct {
	bucket *store.Bucket
	log    *slog.Logger
	now    func() time.Time // the machine's clock
	clock  atomic.Pointer[serverClock]
	probes time.Duration // how long others wait for the first request after a hold

	ctx        context.Context // done after Close
	cancel     context.CancelFunc
	goroutines sync.WaitGroup

	mu        sync.Mutex
	schedules map[string]*Schedule
	holds     map[string]*hold // holds by key
	away      bool             // whether the last attempt to reach the bucket failed

	conflicts atomic.Int64         // number of updates lost to other processes
	reserved  func(slot time.Time) // for tests: receives the times given to requests
}

// Open returns a Pace that uses a bucket. It waits for a server that does not answer, and returns an
// error that does not pass, such as a missing permission. If log is nil, nothing is logged.
func Open(ctx context.Context, bucket *store.Bucket, log *slog.Logger) (*Pace, error) {
	return open(ctx, bucket, log, time.Now)
}

func open(ctx context.Context, bucket *store.Bucket, log *slog.Logger, now func() time.Time) (*Pace, error) {
	p := &Pace{
		bucket: bucket, log: cmp.Or(log, slog.New(slog.DiscardHandler)), now: now, probes: probeTime,
		schedules: map[string]*Schedule{}, holds: map[string]*hold{},
	}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	err := bucket.Retry(ctx, "open the shared pace", p.measure)
	if err == nil {
		err = p.start(ctx)
	}
	if err != nil {
		p.cancel()
		p.goroutines.Wait()
		return nil, err
	}
	return p, nil
}

// watchInterval is how often the watch is renewed and the server's time measured. Renewing
// delivers any entry that a watch has missed.
const watchInterval = time.Minute

// start starts a goroutine that follows the holds of other processes, and returns when all
// existing holds are known.
func (p *Pace) start(ctx context.Context) error {
	first := make(chan error, 1)
	tell := func(err error) {
		select {
		case first <- err:
		default:
		}
	}
	p.goroutines.Go(func() {
		for p.ctx.Err() == nil {
			if err := p.watch(func() { tell(nil) }); err != nil {
				tell(err)
				p.missed(err)
				_ = store.Sleep(p.ctx, awayPause)
			}
			_ = p.persist(p.ctx, p.measure)
		}
	})
	select {
	case err := <-first:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// watch follows holds until it must be renewed: at intervals, and after a lost connection, because
// the server may have restarted without its data in memory.
func (p *Pace) watch(heard func()) error {
	ctx, cancel := context.WithTimeout(p.ctx, watchInterval)
	defer cancel()
	p.eachHold(func(h *hold) { h.revision = 0 }) // revisions restart in a recreated bucket
	err := p.bucket.Watch(ctx, "hold.>", 0, func(r store.Record) {
		var rec storedHold
		if r.Value != nil && json.Unmarshal(r.Value, &rec) == nil {
			p.hold(r.Name).apply(rec, r.Revision)
		}
	}, func() {
		p.eachHold((*hold).putBackLocked)
		heard()
	})
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// eachHold calls f for all holds while holding their locks.
func (p *Pace) eachHold(f func(*hold)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, h := range p.holds {
		h.mu.Lock()
		f(h)
		h.mu.Unlock()
	}
}

// Close waits for background work, such as returning the times of cancelled requests, and ends it.
// No request may be waiting.
func (p *Pace) Close() {
	p.cancel()
	p.goroutines.Wait()
}

// Of returns the schedule of an origin. The name of the origin may contain letters, digits, "-",
// "_" and "=". Processes that use the same name share the schedule.
func (p *Pace) Of(origin string) *Schedule {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.schedules[origin] == nil {
		p.schedules[origin] = &Schedule{pace: p, origin: origin}
	}
	return p.schedules[origin]
}

const (
	firstPause   = 2 * time.Millisecond   // after the first update lost to another process
	longestPause = 50 * time.Millisecond  // maximum pause after lost updates
	awayPause    = 500 * time.Millisecond // after an attempt that did not reach the bucket
)

// persist calls act, which reads or writes the bucket, until it succeeds or the context ends. It
// logs once that the bucket is out of reach.
func (p *Pace) persist(ctx context.Context, act func(ctx context.Context, kv jetstream.KeyValue) error) error {
	longest := firstPause
	for {
		err := p.bucket.Try(ctx, act)
		if err == nil {
			p.reached()
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		pause := awayPause/2 + rand.N(awayPause)
		if errors.Is(err, jetstream.ErrKeyRevisionMismatch) {
			p.conflicts.Add(1)
			pause, longest = rand.N(longest), min(2*longest, longestPause)
		} else {
			p.missed(err)
		}
		if err := store.Sleep(ctx, pause); err != nil {
			return err
		}
	}
}

// An entry is the value of a key as read from the bucket.
type entry[T any] struct {
	value    T
	revision uint64    // 0 if the key has no value
	created  time.Time // creation time by the server's clock
}

// read returns the value of a key.
func read[T any](ctx context.Context, kv jetstream.KeyValue, key string) (e entry[T], err error) {
	found, err := kv.Get(ctx, key)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return e, nil
	}
	if err != nil {
		return e, err
	}
	e.revision, e.created = found.Revision(), found.Created()
	return e, json.Unmarshal(found.Value(), &e.value)
}

// write replaces the value of a key unless it has changed since it was read.
func (e *entry[T]) write(ctx context.Context, kv jetstream.KeyValue, key string) error {
	text, err := json.Marshal(e.value)
	if err == nil {
		e.revision, err = kv.Update(ctx, key, text, e.revision)
	}
	return err
}

// missed records that the bucket is out of reach.
func (p *Pace) missed(err error) {
	p.mu.Lock()
	already := p.away
	p.away = true
	p.mu.Unlock()
	if !already {
		p.log.Warn("the pace that is shared with other machines is out of reach, and requests wait for it: "+store.Reason(err),
			"event", "pace_lost")
	}
}

// reached records that the bucket is in reach.
func (p *Pace) reached() {
	p.mu.Lock()
	wasAway := p.away
	p.away = false
	p.mu.Unlock()
	if wasAway {
		p.log.Info("the pace that is shared with other machines is in reach again", "event", "pace_found")
	}
}
