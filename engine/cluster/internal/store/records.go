package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/stopwhen/stopwhen/runtime/failure"
)

// workerTTL is how long a worker is known that does not say anything.
const workerTTL = time.Minute

// markerTTL is how long the server knows that a record was deleted, for clients that were
// away.
const markerTTL = 24 * time.Hour

// A Record is what is stored of a run, or of a worker.
type Record struct {
	Name     string
	Value    []byte // nil: it was deleted
	Revision uint64
	Time     time.Time // of the change, by the clock of the server
}

// PutConfig stores a configuration and returns its hash. A configuration that is larger
// than the messages of the server is refused.
func (s *Store) PutConfig(ctx context.Context, text []byte) (hash string, err error) {
	sum := sha256.Sum256(text)
	hash = hex.EncodeToString(sum[:])
	if err := s.checkSize("the configuration", text); err != nil {
		return "", err
	}
	err = s.retry(ctx, "store the configuration", bucketStream+configBucket, func(ctx context.Context) error {
		_, err := s.buckets[configBucket].Create(ctx, hash, text)
		if errors.Is(err, jetstream.ErrKeyExists) {
			return nil
		}
		return err
	})
	return hash, err
}

// RenewConfig stores a configuration again, with a new revision: [Store.DeleteConfig] does
// not remove it if it was asked for the revision before.
func (s *Store) RenewConfig(ctx context.Context, hash string, text []byte) error {
	return s.retry(ctx, "store the configuration", bucketStream+configBucket, func(ctx context.Context) error {
		_, err := s.buckets[configBucket].Put(ctx, hash, text)
		return err
	})
}

// ConfigRevision returns the revision of a configuration; 0: it is not stored.
func (s *Store) ConfigRevision(ctx context.Context, hash string) (uint64, error) {
	record, err := s.get(ctx, configBucket, "read the configuration "+hash, hash)
	if err != nil || record == nil {
		return 0, err
	}
	return record.Revision, nil
}

// DeleteConfig deletes a configuration, unless it has another revision.
func (s *Store) DeleteConfig(ctx context.Context, hash string, revision uint64) error {
	return s.drop(ctx, configBucket, "delete the configuration "+hash, hash, revision)
}

// drop deletes a record, unless it has another revision. What tells clients that it is gone
// expires, except in a bucket whose markers do not, which others have created.
func (s *Store) drop(ctx context.Context, bucket, what, key string, revision uint64) error {
	return s.retry(ctx, what, bucketStream+bucket, func(ctx context.Context) error {
		options := []jetstream.KVDeleteOpt{jetstream.LastRevision(revision)}
		err := s.buckets[bucket].Purge(ctx, key, append(options, jetstream.PurgeTTL(markerTTL))...)
		if codeOf(err) == codeNoTTL {
			err = s.buckets[bucket].Purge(ctx, key, options...)
		}
		if codeOf(err) == codeWrongLast {
			return nil // it has been stored again, or is gone
		}
		return err
	})
}

// Config returns the configuration with a hash.
func (s *Store) Config(ctx context.Context, hash string) ([]byte, error) {
	record, err := s.get(ctx, configBucket, "read the configuration "+hash, hash)
	if err == nil && record == nil {
		return nil, &failure.Error{Class: failure.State, Op: "store", Message: "the configuration " + hash + " is not on the NATS server",
			Hint: "submit the run again"}
	}
	if err != nil {
		return nil, err
	}
	return record.Value, nil
}

// PutRun stores the record of a run that has none. If it has one, the error is
// [ErrConflict].
func (s *Store) PutRun(ctx context.Context, run string, value []byte) (revision uint64, err error) {
	return s.UpdateRun(ctx, run, value, 0)
}

// UpdateRun replaces the record of a run whose revision is known. If it has another one,
// the error is [ErrConflict]. After an error for another reason the record may have been
// replaced.
func (s *Store) UpdateRun(ctx context.Context, run string, value []byte, revision uint64) (uint64, error) {
	if err := s.checkSize("the record of the run", value); err != nil {
		return 0, err
	}
	var updated uint64
	tries := 0
	err := s.retry(ctx, "store the record of the run "+run, bucketStream+runBucket, func(ctx context.Context) (err error) {
		tries++
		if revision == 0 {
			updated, err = s.buckets[runBucket].Create(ctx, run, value)
		} else {
			updated, err = s.buckets[runBucket].Update(ctx, run, value, revision)
		}
		if code := codeOf(err); code != codeWrongLast && code != codeWrongLastReplicas {
			return err
		}
		if tries > 1 { // the try before may have been successful
			now, err := s.buckets[runBucket].Get(ctx, run)
			if err == nil && bytes.Equal(now.Value(), value) {
				updated = now.Revision()
				return nil
			}
		}
		return ErrConflict
	})
	return updated, err
}

// Run returns the record of a run, or nil if it has none.
func (s *Store) Run(ctx context.Context, run string) (*Record, error) {
	return s.get(ctx, runBucket, "read the record of the run "+run, run)
}

// Runs returns the records of all runs.
func (s *Store) Runs(ctx context.Context) ([]Record, error) {
	return s.list(ctx, runBucket, "list the runs")
}

// WatchRuns calls changed for the record of each run, and for each change, until the
// context ends.
func (s *Store) WatchRuns(ctx context.Context, changed func(Record)) error {
	reconnected := s.nc.StatusChanged(nats.CONNECTED)
	defer s.nc.RemoveStatusListener(reconnected)
	for seen := uint64(0); ; {
		var watcher jetstream.KeyWatcher
		err := s.retry(ctx, "watch the runs", bucketStream+runBucket, func(context.Context) (err error) {
			var options []jetstream.WatchOpt
			if seen > 0 {
				options = append(options, jetstream.ResumeFromRevision(seen+1))
			}
			watcher, err = s.buckets[runBucket].WatchAll(ctx, options...)
			return err
		})
		if err != nil {
			return err
		}
		err = follow(ctx, watcher, reconnected, func(r Record) {
			seen = r.Revision
			changed(r)
		})
		if err != nil {
			return err
		}
	}
}

// follow passes changes on until the connection has been interrupted. The watcher would
// notice that, too, but much later.
func follow(ctx context.Context, watcher jetstream.KeyWatcher, reconnected <-chan nats.Status, changed func(Record)) error {
	defer func() { _ = watcher.Stop() }()
	for {
		select {
		case <-ctx.Done():
			return interrupted(ctx)
		case <-reconnected:
			return nil
		case entry, ok := <-watcher.Updates():
			if !ok {
				return nil
			}
			if entry != nil { // nil says that what there was has been delivered
				changed(recordOf(entry))
			}
		}
	}
}

// PutWorker stores the record of a worker, for a minute.
func (s *Store) PutWorker(ctx context.Context, name string, value []byte) error {
	if err := s.checkSize("the record of the worker", value); err != nil {
		return err
	}
	return s.retry(ctx, "store the record of the worker", bucketStream+workerBucket, func(ctx context.Context) error {
		_, err := s.buckets[workerBucket].Put(ctx, escape(name), value)
		return err
	})
}

// DeleteWorker deletes the record of a worker that ends.
func (s *Store) DeleteWorker(ctx context.Context, name string) error {
	return s.retry(ctx, "delete the record of the worker", bucketStream+workerBucket, func(ctx context.Context) error {
		return s.buckets[workerBucket].Purge(ctx, escape(name))
	})
}

// Workers returns the records of all workers of the last minute.
func (s *Store) Workers(ctx context.Context) ([]Record, error) {
	records, err := s.list(ctx, workerBucket, "list the workers")
	for i := range records {
		if name, ok := unescape(records[i].Name); ok {
			records[i].Name = name
		}
	}
	return records, err
}

func (s *Store) get(ctx context.Context, bucket, what, key string) (*Record, error) {
	var record *Record
	err := s.retry(ctx, what, bucketStream+bucket, func(ctx context.Context) error {
		entry, err := s.buckets[bucket].Get(ctx, key)
		if errors.Is(err, jetstream.ErrKeyNotFound) {
			record = nil
			return nil
		}
		if err != nil {
			return err
		}
		found := recordOf(entry)
		record = &found
		return nil
	})
	return record, err
}

func (s *Store) list(ctx context.Context, bucket, what string) ([]Record, error) {
	var records []Record
	err := s.retry(ctx, what, bucketStream+bucket, func(ctx context.Context) error {
		records = nil
		watcher, err := s.buckets[bucket].WatchAll(ctx, jetstream.IgnoreDeletes())
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

func recordOf(entry jetstream.KeyValueEntry) Record {
	r := Record{Name: entry.Key(), Value: entry.Value(), Revision: entry.Revision(), Time: entry.Created()}
	if entry.Operation() != jetstream.KeyValuePut {
		r.Value = nil
	}
	return r
}

// checkSize refuses a value that does not fit in a message.
func (s *Store) checkSize(what string, value []byte) error {
	if limit := int(s.nc.MaxPayload()) - headerRoom; len(value) > limit {
		return &failure.Error{Class: failure.Config, Op: "store",
			Message: fmt.Sprintf("%s has %d bytes, and the NATS server accepts %d", what, len(value), limit),
			Hint:    "raise max_payload of the server"}
	}
	return nil
}
