package store

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// A Bucket is a key-value bucket. A bucket in memory is recreated if the server has lost it.
type Bucket struct {
	s      *Store
	config jetstream.KeyValueConfig
	reads  bool // whether a missing bucket is an error, instead of being created

	mu sync.Mutex
	kv jetstream.KeyValue // nil until the bucket is opened
}

// A Record is the value of a key in a bucket.
type Record struct {
	Name     string
	Value    []byte // nil if it was deleted
	Revision uint64
	Time     time.Time // time of the change by the server's clock
}

func recordOf(entry jetstream.KeyValueEntry) Record {
	r := Record{Name: entry.Key(), Value: entry.Value(), Revision: entry.Revision(), Time: entry.Created()}
	if entry.Operation() != jetstream.KeyValuePut {
		r.Value = nil
	}
	return r
}

func (b *Bucket) stream() string { return bucketStream + b.config.Bucket }

// Try calls f once, with a timeout of a few seconds. A denied permission ends it at once.
func (b *Bucket) Try(ctx context.Context, f func(ctx context.Context, kv jetstream.KeyValue) error) error {
	err := b.try(ctx, f)
	if denied, ok := errors.AsType[*denial](err); ok {
		return denied.explain("use the " + b.config.Description)
	}
	return err
}

func (b *Bucket) try(ctx context.Context, f func(ctx context.Context, kv jetstream.KeyValue) error) error {
	return b.s.try(ctx, b.s.options.tryTimeout, b.stream(), func(ctx context.Context) error {
		kv, err := b.open(ctx)
		if err == nil {
			err = f(ctx, kv)
		}
		if b.isLost(err) {
			b.mu.Lock()
			b.kv = nil
			b.mu.Unlock()
			err = fmt.Errorf("%w: %w", errMissed, err)
		}
		return err
	})
}

// Retry calls f until it succeeds, fails permanently, or the patience or the context ends. The error
// begins with what, which names the operation.
func (b *Bucket) Retry(ctx context.Context, what string, f func(ctx context.Context, kv jetstream.KeyValue) error) error {
	return b.s.repeat(ctx, what, func() (bool, error) {
		err := b.try(ctx, f)
		return isTemporary(err), err
	})
}

// open returns the bucket. It creates the bucket only if it is missing, so that a user without
// that permission can use an existing bucket.
func (b *Bucket) open(ctx context.Context) (jetstream.KeyValue, error) {
	b.mu.Lock()
	kv := b.kv
	b.mu.Unlock()
	if kv != nil {
		return kv, nil
	}
	kv, err := b.s.js.KeyValue(ctx, b.config.Bucket)
	if errors.Is(err, jetstream.ErrBucketNotFound) && !b.reads {
		config := b.config
		config.Replicas = b.s.queueReplicas()
		kv, err = b.s.js.CreateKeyValue(ctx, config)
	}
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.kv = kv
	return kv, nil
}

// isLost reports whether an error means that a bucket in memory no longer exists.
func (b *Bucket) isLost(err error) bool {
	return b.config.Storage == jetstream.MemoryStorage && (errors.Is(err, jetstream.ErrNoStreamResponse) ||
		errors.Is(err, nats.ErrNoResponders) || errors.Is(err, nats.ErrStreamNotFound) || codeOf(err) == jetstream.JSErrCodeStreamNotFound)
}

// get returns the record of a key, or nil if there is no record.
func (b *Bucket) get(ctx context.Context, what, key string) (record *Record, err error) {
	err = b.Retry(ctx, what, func(ctx context.Context, kv jetstream.KeyValue) error {
		entry, err := kv.Get(ctx, key)
		if errors.Is(err, jetstream.ErrKeyNotFound) {
			record = nil
			return nil
		}
		if err == nil {
			found := recordOf(entry)
			record = &found
		}
		return err
	})
	return record, err
}

// list returns the records of all keys.
func (b *Bucket) list(ctx context.Context, what string) (records []Record, err error) {
	err = b.Retry(ctx, what, func(ctx context.Context, kv jetstream.KeyValue) error {
		records = nil
		watcher, err := kv.WatchAll(ctx, jetstream.IgnoreDeletes())
		if err != nil {
			return err
		}
		defer func() { _ = watcher.Stop() }()
		for {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case entry, ok := <-watcher.Updates():
				switch {
				case !ok: // the connection was closed
					return errMissed
				case entry == nil:
					return nil
				}
				records = append(records, recordOf(entry))
			}
		}
	})
	return records, err
}

// drop deletes a record unless it has another revision; revision 0 matches any. The marker that
// informs clients of the deletion expires, except in a bucket that others have created without
// expiring markers.
func (b *Bucket) drop(ctx context.Context, what, key string, revision uint64) error {
	return b.Retry(ctx, what, func(ctx context.Context, kv jetstream.KeyValue) error {
		options := []jetstream.KVDeleteOpt{jetstream.LastRevision(revision)}
		err := kv.Purge(ctx, key, append(options, jetstream.PurgeTTL(markerTTL))...)
		if codeOf(err) == codeNoTTL {
			err = kv.Purge(ctx, key, options...)
		}
		if codeOf(err) == codeWrongLast {
			return nil // it has been stored again or is gone
		}
		return err
	})
}

// Watch calls changed for the record of each key that matches a pattern, and for each change after
// a revision. It returns when the connection is interrupted, which the watcher itself would notice
// much later. heard is called when all existing records have been delivered; it may be nil.
func (b *Bucket) Watch(ctx context.Context, keys string, after uint64, changed func(Record), heard func()) error {
	reconnected := b.s.nc.StatusChanged(nats.CONNECTED)
	defer b.s.nc.RemoveStatusListener(reconnected)
	var watcher jetstream.KeyWatcher
	err := b.Retry(ctx, "watch the "+b.config.Description, func(_ context.Context, kv jetstream.KeyValue) (err error) {
		var options []jetstream.WatchOpt
		if after > 0 {
			options = append(options, jetstream.ResumeFromRevision(after+1))
		}
		watcher, err = kv.Watch(ctx, keys, options...)
		return err
	})
	if err != nil {
		return err
	}
	defer func() { _ = watcher.Stop() }()
	for {
		select {
		case <-ctx.Done():
			return interrupted(ctx)
		case <-reconnected:
			return nil
		case entry, ok := <-watcher.Updates():
			switch {
			case !ok:
				return nil
			case entry != nil:
				changed(recordOf(entry))
			case heard != nil:
				heard()
			}
		}
	}
}
