package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/stopwhen/stopwhen/runtime/failure"
)

// Options of a store. The zero value has sensible defaults.
type Options struct {
	// AckWait is how long a worker may be silent until its task is given to another. 0: what
	// the queue has, or 30 s for a new one.
	AckWait time.Duration
	// Replicas is how many servers hold each stream that is created. 0: 3 in a cluster, else 1.
	Replicas int
	// Patience is how long a call waits for a server that does not answer. 0: until its context ends.
	Patience time.Duration
	// Waiting is told why a page cannot be stored for now, once for each call that has to
	// wait because the limits of the server have been reached. May be nil.
	Waiting func(key Key, err error)
	// LoseAck is for tests: if it returns true, the acknowledgement of a page that has just
	// arrived counts as lost. May be nil.
	LoseAck func(Key) bool
}

const (
	defaultAckWait = 30 * time.Second
	firstPause     = 20 * time.Millisecond
	lastPause      = 2 * time.Second
)

// Variables for tests.
var (
	tryTimeout    = 5 * time.Second // of one request
	startPatience = 3 * time.Second // for a server without JetStream, which may be one that is still starting
)

// The oldest server that stores batches atomically and confirms what it stored.
const serverMajor, serverMinor = 2, 12

// A Store is what a NATS server has of the runs of one account. Its methods may be called
// at the same time. Those with a context try again while the server does not answer, until
// [Options.Patience] or the context ends.
type Store struct {
	*listener

	js      jetstream.JetStream
	nc      *nats.Conn
	options Options

	anyAckWait bool // that of a queue which exists is kept

	buffers sync.Pool // of *bytes.Buffer: messages that are being put together
	streams sync.Map  // name to jetstream.Stream
	origins sync.Map  // origin to *puller

	configs, runs, pace, workers *Bucket
}

// Open returns the store of the account that the connection belongs to. It creates the
// queue and the buckets if they are missing; a user who may not create any can open a
// store that exists. The connection should reconnect forever and not buffer while it is
// interrupted ([nats.MaxReconnects] and [nats.ReconnectBufSize], each -1). It is not
// closed.
func Open(ctx context.Context, js jetstream.JetStream, o Options) (*Store, error) {
	anyAckWait := o.AckWait == 0
	if anyAckWait {
		o.AckWait = defaultAckWait
	}
	s := &Store{
		listener: listen(js.Conn()), js: js, nc: js.Conn(), options: o, anyAckWait: anyAckWait,
	}
	s.buffers.New = func() any { return new(bytes.Buffer) }
	if err := s.connected(ctx); err != nil {
		return nil, err
	}
	s.configs = s.bucket(jetstream.KeyValueConfig{Bucket: configBucket, Description: "configurations", LimitMarkerTTL: markerTTL})
	s.runs = s.bucket(jetstream.KeyValueConfig{Bucket: runBucket, Description: "runs", LimitMarkerTTL: markerTTL})
	s.pace = s.bucket(jetstream.KeyValueConfig{Bucket: paceBucket, Description: "pace of requests", Storage: jetstream.MemoryStorage})
	s.workers = s.bucket(jetstream.KeyValueConfig{
		Bucket: workerBucket, Description: "workers", Storage: jetstream.MemoryStorage, TTL: workerTTL,
	})
	if err := checkServer(s.nc.ConnectedServerVersion()); err != nil {
		return nil, err
	}
	if err := s.prepare(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// connected waits for the connection, which may have been made to try until a server is
// there.
func (s *Store) connected(ctx context.Context) error {
	return s.retry(ctx, "connect", "", func(ctx context.Context) error { return s.nc.FlushWithContext(ctx) })
}

// checkServer refuses servers that are too old. It lets a version pass that it cannot read.
func checkServer(version string) error {
	var major, minor int
	n, _ := fmt.Sscanf(strings.TrimPrefix(version, "v"), "%d.%d", &major, &minor)
	if n < 2 || major > serverMajor || major == serverMajor && minor >= serverMinor {
		return nil
	}
	return &failure.Error{
		Class: failure.Config, Op: "connect",
		Message: fmt.Sprintf("the NATS server has version %s, which cannot store pages atomically", version),
		Hint:    fmt.Sprintf("use version %d.%d or newer", serverMajor, serverMinor),
	}
}

// Replicas returns how many servers hold a stream that is created.
func (s *Store) Replicas() int {
	switch {
	case s.options.Replicas > 0:
		return s.options.Replicas
	case s.nc.ConnectedClusterName() != "":
		return 3
	}
	return 1
}

// prepare finds the queue and the buckets, and creates what is missing.
func (s *Store) prepare(ctx context.Context) error {
	if err := s.prepareQueue(ctx); err != nil {
		return err
	}
	for _, b := range []*Bucket{s.configs, s.runs, s.pace, s.workers} {
		open := func(context.Context, jetstream.KeyValue) error { return nil }
		if err := b.retry(ctx, "open the bucket "+b.config.Bucket, open); err != nil {
			return err
		}
	}
	return nil
}

// bucket returns a bucket of the store, before it is opened.
func (s *Store) bucket(config jetstream.KeyValueConfig) *Bucket {
	config.Replicas = s.Replicas()
	return &Bucket{s: s, config: config}
}

func (s *Store) prepareQueue(ctx context.Context) error {
	start := time.Now()
	return s.retry(ctx, "open the queue", workStream, func(ctx context.Context) error {
		stream, err := s.js.Stream(ctx, workStream)
		if errors.Is(err, nats.ErrNoResponders) && time.Since(start) > startPatience {
			return jetstream.ErrJetStreamNotEnabled
		}
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			stream, err = s.js.CreateStream(ctx, jetstream.StreamConfig{
				Name: workStream, Description: "tasks that have to be run", Subjects: []string{workSubject + ">"},
				Retention: jetstream.WorkQueuePolicy, Discard: jetstream.DiscardNew, MaxConsumers: maxOrigins, Replicas: s.Replicas(),
			})
		}
		if err == nil {
			s.streams.Store(workStream, stream)
		}
		return err
	})
}

// Pace returns the bucket of the pace that workers share.
func (s *Store) Pace() *Bucket { return s.pace }

// stream returns a stream, which it looks up once.
func (s *Store) stream(ctx context.Context, name string) (jetstream.Stream, error) {
	if known, ok := s.streams.Load(name); ok {
		return known.(jetstream.Stream), nil
	}
	stream, err := s.js.Stream(ctx, name)
	if err == nil {
		s.streams.Store(name, stream)
	}
	return stream, err
}

// A Backoff pauses between attempts: each time twice as long, up to a limit.
type Backoff struct {
	First, Longest time.Duration
	last           time.Duration
}

// Wait pauses. The error is why the context has ended before.
func (b *Backoff) Wait(ctx context.Context) error {
	b.last = min(max(2*b.last, b.First), b.Longest)
	return Sleep(ctx, b.last)
}

// Reset lets the next pause be the first again.
func (b *Backoff) Reset() { b.last = 0 }

// Sleep waits. It returns why the context has ended if that is done first.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}
