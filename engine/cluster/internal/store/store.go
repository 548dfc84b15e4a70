package store

import (
	"bytes"
	"cmp"
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

// Options configure a store. The zero value has sensible defaults.
type Options struct {
	// AckWait is how long a worker may be silent before its task is given to another worker. If it
	// is 0, an existing queue keeps its value, and a new one has 30 seconds.
	AckWait time.Duration
	// Replicas is the number of servers that hold a submitted run. If it is 0, an existing run keeps
	// its number, and a new run has 3 in a cluster and otherwise 1.
	Replicas int
	// Patience is how long a call waits for a server that does not answer. If it is 0, the call
	// waits until its context ends.
	Patience time.Duration
	// Waiting receives the reason why a page cannot be stored for now, once for each call that has
	// to wait because a limit of the server has been reached. It may be nil.
	Waiting func(key Key, err error)
	// LoseAck is for tests: if it returns true, the acknowledgement just received for a page is
	// ignored. It may be nil.
	LoseAck func(Key) bool

	tryTimeout    time.Duration // timeout of one request; 0 means 5 seconds
	startPatience time.Duration // patience with a server without JetStream, which may still be starting; 0 means 3 seconds
}

const (
	defaultAckWait = 30 * time.Second
	firstPause     = 20 * time.Millisecond
	lastPause      = 2 * time.Second
)

// serverMajor and serverMinor are the version of the oldest server that stores batches atomically and
// confirms the stored options.
const serverMajor, serverMinor = 2, 12

// A Store gives access to the runs of one account on a NATS server. It is safe for concurrent use.
// Methods with a context retry while the server does not answer, until [Options.Patience] or the
// context ends.
type Store struct {
	*listener

	js      jetstream.JetStream
	nc      *nats.Conn
	options Options

	anyAckWait bool // whether an existing queue keeps its AckWait

	buffers sync.Pool // pool of *bytes.Buffer for assembling messages
	streams sync.Map  // maps names to jetstream.Stream
	pullers sync.Map  // maps names of queues to *puller

	configs, runs, pace, workers *Bucket
	reports                      *Bucket // the same bucket as workers, for readers, who must not create it if it is missing
}

// Open returns the store of the account that the connection belongs to. It creates the queue and
// the buckets if they are missing; a user who may not create them can open an existing store. The
// connection should reconnect forever and should not buffer while it is interrupted
// ([nats.MaxReconnects] and [nats.ReconnectBufSize], each -1). Open does not take ownership of the
// connection.
func Open(ctx context.Context, js jetstream.JetStream, o Options) (*Store, error) {
	anyAckWait := o.AckWait == 0
	o.AckWait = cmp.Or(o.AckWait, defaultAckWait)
	o.tryTimeout, o.startPatience = cmp.Or(o.tryTimeout, 5*time.Second), cmp.Or(o.startPatience, 3*time.Second)
	s := &Store{
		listener: listen(js.Conn()), js: js, nc: js.Conn(), options: o, anyAckWait: anyAckWait,
	}
	s.buffers.New = func() any { return new(bytes.Buffer) }
	// The connection may still be retrying.
	if err := s.retry(ctx, "connect", "", s.nc.FlushWithContext); err != nil {
		return nil, err
	}
	s.configs = s.bucket(jetstream.KeyValueConfig{Bucket: configBucket, Description: "configurations", LimitMarkerTTL: markerTTL})
	s.runs = s.bucket(jetstream.KeyValueConfig{Bucket: runBucket, Description: "runs", LimitMarkerTTL: markerTTL})
	s.pace = s.bucket(jetstream.KeyValueConfig{Bucket: paceBucket, Description: "pace of requests", Storage: jetstream.MemoryStorage})
	s.reports = s.bucket(jetstream.KeyValueConfig{Bucket: workerBucket, Description: "workers", Storage: jetstream.MemoryStorage})
	s.reports.reads = true
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

// checkServer refuses servers that are too old. It accepts a version that it cannot parse.
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

// prepare opens the queue and the buckets on disk, and creates missing ones. The buckets in memory
// are created by [Store.CreateRun] and, after a restart of the server, by the next worker.
func (s *Store) prepare(ctx context.Context) error {
	if err := s.prepareQueue(ctx); err != nil {
		return err
	}
	return s.openBuckets(ctx, s.configs, s.runs)
}

// openBuckets opens buckets, and creates missing ones.
func (s *Store) openBuckets(ctx context.Context, buckets ...*Bucket) error {
	for _, b := range buckets {
		open := func(context.Context, jetstream.KeyValue) error { return nil }
		if err := b.Retry(ctx, "open the bucket "+b.config.Bucket, open); err != nil {
			return err
		}
	}
	return nil
}

// bucket returns a bucket of the store without opening it.
func (s *Store) bucket(config jetstream.KeyValueConfig) *Bucket {
	return &Bucket{s: s, config: config}
}

func (s *Store) prepareQueue(ctx context.Context) error {
	start := time.Now()
	return s.retry(ctx, "open the queue", workStream, func(ctx context.Context) error {
		stream, err := s.js.Stream(ctx, workStream)
		if errors.Is(err, nats.ErrNoResponders) && time.Since(start) > s.options.startPatience {
			return jetstream.ErrJetStreamNotEnabled
		}
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			stream, err = s.js.CreateStream(ctx, jetstream.StreamConfig{
				Name: workStream, Description: "tasks that have to be run", Subjects: []string{workSubject + ">"},
				Retention: jetstream.WorkQueuePolicy, Discard: jetstream.DiscardNew, MaxConsumers: maxQueues, Replicas: s.Replicas(),
			})
		}
		if err == nil {
			s.streams.Store(workStream, stream)
		}
		return err
	})
}

// Pace returns the bucket for the shared request rate.
func (s *Store) Pace() *Bucket { return s.pace }

// stream returns a stream. It looks up each stream once.
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
