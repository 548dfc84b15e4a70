package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/stopwhen/stopwhen/runtime/failure"
)

// workerTTL is how long the record of a silent worker is kept.
const workerTTL = time.Minute

// markerTTL is how long the server keeps the marker of a deleted record, for clients that were
// disconnected.
const markerTTL = 24 * time.Hour

// PutConfig stores the configuration of a submission of a run. It refuses a configuration that
// does not fit in a message.
func (s *Store) PutConfig(ctx context.Context, submission string, text []byte) error {
	if err := s.checkSize("the configuration", text); err != nil {
		return err
	}
	return s.configs.Retry(ctx, "store the configuration", func(ctx context.Context, kv jetstream.KeyValue) error {
		_, err := kv.Put(ctx, submission, text)
		return err
	})
}

// Config returns the configuration of a submission of a run.
func (s *Store) Config(ctx context.Context, submission string) ([]byte, error) {
	record, err := s.configs.get(ctx, "read the configuration "+submission, submission)
	if err == nil && record == nil {
		return nil, &failure.Error{Class: failure.State, Op: "store", Message: "the configuration " + submission + " is not on the NATS server",
			Hint: "submit the run again"}
	}
	if err != nil {
		return nil, err
	}
	return record.Value, nil
}

// PutRun stores the record of a new run. If the run has a record, the error is [ErrConflict].
func (s *Store) PutRun(ctx context.Context, run string, value []byte) (revision uint64, err error) {
	return s.UpdateRun(ctx, run, value, 0)
}

// UpdateRun replaces the record of a run if it still has the given revision. If its revision
// differs, the error is [ErrConflict]. After any other error the record may have been replaced.
func (s *Store) UpdateRun(ctx context.Context, run string, value []byte, revision uint64) (uint64, error) {
	if err := s.checkSize("the record of the run", value); err != nil {
		return 0, err
	}
	var updated uint64
	tries := 0
	err := s.runs.Retry(ctx, "store the record of the run "+run, func(ctx context.Context, kv jetstream.KeyValue) (err error) {
		tries++
		if revision == 0 {
			updated, err = kv.Create(ctx, run, value)
		} else {
			updated, err = kv.Update(ctx, run, value, revision)
		}
		if code := codeOf(err); code != codeWrongLast && code != codeWrongLastReplicas {
			return err
		}
		if tries > 1 { // the previous attempt may have been successful
			now, err := kv.Get(ctx, run)
			if err == nil && bytes.Equal(now.Value(), value) {
				updated = now.Revision()
				return nil
			}
		}
		return ErrConflict
	})
	return updated, err
}

// Run returns the record of a run, or nil if it has no record.
func (s *Store) Run(ctx context.Context, run string) (*Record, error) {
	return s.runs.get(ctx, "read the record of the run "+run, run)
}

// Runs returns the records of all runs.
func (s *Store) Runs(ctx context.Context) ([]Record, error) {
	return s.runs.list(ctx, "list the runs")
}

// WatchRuns calls changed for the record of each run, and for each change, until the context ends.
func (s *Store) WatchRuns(ctx context.Context, changed func(Record)) error {
	for seen := uint64(0); ; {
		err := s.runs.Watch(ctx, ">", seen, func(r Record) {
			seen = r.Revision
			changed(r)
		}, nil)
		if err != nil {
			return err
		}
	}
}

// PutWorker stores the record of a worker for one minute.
func (s *Store) PutWorker(ctx context.Context, name string, value []byte) error {
	if err := s.checkSize("the record of the worker", value); err != nil {
		return err
	}
	return s.workers.Retry(ctx, "store the record of the worker", func(ctx context.Context, kv jetstream.KeyValue) error {
		_, err := kv.Put(ctx, escape(name), value)
		return err
	})
}

// Reconnects returns a channel that receives a value when the connection was lost and made again, until
// stop is called.
func (s *Store) Reconnects() (again <-chan nats.Status, stop func()) {
	listener := s.nc.StatusChanged(nats.CONNECTED)
	return listener, func() { s.nc.RemoveStatusListener(listener) }
}

// DeleteWorker deletes the record of an ending worker.
func (s *Store) DeleteWorker(ctx context.Context, name string) error {
	return s.workers.Retry(ctx, "delete the record of the worker", func(ctx context.Context, kv jetstream.KeyValue) error {
		return kv.Purge(ctx, escape(name))
	})
}

// Workers returns the records that workers have stored in the last minute.
func (s *Store) Workers(ctx context.Context) ([]Record, error) {
	records, err := s.reports.list(ctx, "list the workers")
	if errors.Is(err, jetstream.ErrBucketNotFound) { // the server was restarted, and no worker has said anything yet
		return nil, nil
	}
	for i := range records {
		if name, ok := unescape(records[i].Name); ok {
			records[i].Name = name
		}
	}
	return records, err
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
