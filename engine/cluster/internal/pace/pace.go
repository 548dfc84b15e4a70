package pace

import (
	"cmp"
	"context"
	cryptorand "crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Bucket is the name of the bucket. It is in memory: what it has is about the next seconds.
const Bucket = "STOPWHEN_PACE"

// Config returns how the bucket is created. replicas is how many servers hold it; 0 is 1.
func Config(replicas int) jetstream.KeyValueConfig {
	return jetstream.KeyValueConfig{
		Bucket: Bucket, Description: "pace of requests, shared by the workers of stopwhen",
		Storage: jetstream.MemoryStorage, History: 1, Replicas: max(replicas, 1),
	}
}

// Options configure a [Pace]. The zero Options are ready for use.
type Options struct {
	Replicas int          // of the bucket, if it has to be created; 0 is 1
	Log      *slog.Logger // nil logs nothing

	// Try calls a function that makes requests about the bucket, and returns its error. It may
	// end the context of the function when the server will not answer. Nil: it is called.
	Try func(ctx context.Context, bucket string, f func(context.Context) error) error
}

// A Pace is the pace of all origins that this process makes requests to.
type Pace struct {
	js      jetstream.JetStream
	options Options
	log     *slog.Logger
	id      string           // of this process
	now     func() time.Time // the machine's clock
	lease   time.Duration    // of a claim
	clock   serverClock

	ctx    context.Context // until Close
	cancel context.CancelFunc
	all    sync.WaitGroup // goroutines

	mu        sync.Mutex
	bucket    jetstream.KeyValue // nil: to be opened
	schedules map[string]*Schedule
	holds     map[string]*hold // by key
	away      bool             // the last attempt to reach the bucket failed

	conflicts atomic.Int64         // updates that another process came before
	reserved  func(slot time.Time) // for tests: receives the times that requests are given
}

// Open returns the pace that is kept in the bucket. It creates the bucket if there is none.
// An error is that of the first attempt: of the server, or of missing permissions.
func Open(ctx context.Context, js jetstream.JetStream, o Options) (*Pace, error) {
	return open(ctx, js, o, time.Now)
}

func open(ctx context.Context, js jetstream.JetStream, o Options, now func() time.Time) (*Pace, error) {
	p := &Pace{
		js: js, options: o, log: cmp.Or(o.Log, slog.New(slog.DiscardHandler)), id: cryptorand.Text(), now: now, lease: lease,
		schedules: map[string]*Schedule{}, holds: map[string]*hold{},
	}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	err := p.attempt(ctx, p.measure)
	var w *watch
	if err == nil {
		err = p.attempt(ctx, func(ctx context.Context, kv jetstream.KeyValue) (err error) {
			w, err = p.watch(ctx, kv)
			return err
		})
	}
	if err != nil {
		p.cancel()
		return nil, fmt.Errorf("cannot open the shared pace (bucket %s): %w", Bucket, err)
	}
	p.all.Go(func() { p.follow(w) })
	return p, nil
}

// Close gives back the times of requests that were cancelled, for at most a second, and ends
// what goes on in the background. No request may be waiting.
func (p *Pace) Close() {
	p.mu.Lock()
	schedules := make([]*Schedule, 0, len(p.schedules))
	for _, s := range p.schedules {
		schedules = append(schedules, s)
	}
	p.mu.Unlock()
	deadline := time.Now().Add(time.Second)
	for _, s := range schedules {
		s.settle(deadline)
	}
	p.cancel()
	p.all.Wait()
}

// Of returns the schedule of an origin. Its name may have letters, digits, "-", "_" and "=".
// The schedules of one name in all processes are one.
func (p *Pace) Of(origin string) *Schedule {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.schedules[origin] == nil {
		p.schedules[origin] = &Schedule{pace: p, origin: origin, wake: make(chan struct{}, 1)}
	}
	return p.schedules[origin]
}

// An action reads or writes the bucket once.
type action func(ctx context.Context, kv jetstream.KeyValue) error

const (
	attemptTimeout = 3 * time.Second
	firstPause     = 2 * time.Millisecond   // after an attempt that another process came before
	longestPause   = 50 * time.Millisecond  // of these
	awayPause      = 500 * time.Millisecond // after an attempt that did not reach the bucket
)

// persist tries an action until it succeeds, and returns the error of the context if that is
// done first. It logs once that the bucket is out of reach.
func (p *Pace) persist(ctx context.Context, act action) error {
	bound := firstPause
	for {
		err := p.attempt(ctx, act)
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
			pause, bound = rand.N(bound), min(2*bound, longestPause)
		} else {
			p.missed(err)
		}
		if err := sleep(ctx, pause); err != nil {
			return err
		}
	}
}

// attempt tries an action once.
func (p *Pace) attempt(ctx context.Context, act action) error {
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	f := func(ctx context.Context) error {
		kv, err := p.open(ctx)
		if err != nil {
			return err
		}
		return act(ctx, kv)
	}
	try := f
	if p.options.Try != nil {
		try = func(ctx context.Context) error { return p.options.Try(ctx, Bucket, f) }
	}
	err := try(ctx)
	if errors.Is(err, jetstream.ErrStreamNotFound) || errors.Is(err, jetstream.ErrNoStreamResponse) || errors.Is(err, nats.ErrNoResponders) {
		p.mu.Lock()
		p.bucket = nil // it was deleted, or lost when the server was restarted
		p.mu.Unlock()
	}
	return err
}

// open returns the bucket. It is created if there is none, so that a user who may not create
// it can use one that exists.
func (p *Pace) open(ctx context.Context) (jetstream.KeyValue, error) {
	p.mu.Lock()
	kv := p.bucket
	p.mu.Unlock()
	if kv != nil {
		return kv, nil
	}
	kv, err := p.js.KeyValue(ctx, Bucket)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		kv, err = p.js.CreateKeyValue(ctx, Config(p.options.Replicas))
		if errors.Is(err, jetstream.ErrBucketExists) { // created by another process meanwhile
			kv, err = p.js.KeyValue(ctx, Bucket)
		}
	}
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.bucket = kv
	return kv, nil
}

// missed notes that the bucket is out of reach.
func (p *Pace) missed(err error) {
	p.mu.Lock()
	already := p.away
	p.away = true
	p.mu.Unlock()
	if !already {
		p.log.Warn("the pace that is shared with other machines is out of reach, and requests wait for it: "+Reason(err), "event", "pace_lost")
	}
}

// reached notes that the bucket is in reach.
func (p *Pace) reached() {
	p.mu.Lock()
	again := p.away
	p.away = false
	p.mu.Unlock()
	if again {
		p.log.Info("the pace that is shared with other machines is in reach again", "event", "pace_found")
	}
}

// sleep waits. It returns the error of the context if that is done first.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
