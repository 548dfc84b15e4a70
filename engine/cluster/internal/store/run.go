package store

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/stopwhen/stopwhen/runtime/failure"
)

// CreateRun creates the stream of a run, or changes the maximum size of its stored pages in bytes,
// where 0 means no limit, and its replicas, unless [Options.Replicas] is 0. The submission is part
// of the subjects (see [Key]), so that a worker that still runs a task of a deleted run cannot store
// pages in another run with the same name.
func (s *Store) CreateRun(ctx context.Context, run, submission string, maxBytes int64) error {
	if err := CheckRun(run); err != nil {
		return &failure.Error{Class: failure.Config, Op: "store", Message: err.Error(), Err: err}
	}
	if err := s.openBuckets(ctx, s.pace, s.workers); err != nil {
		return err
	}
	if err := s.raiseReplicas(ctx); err != nil {
		return err
	}
	config := jetstream.StreamConfig{
		Name: runStream + run, Description: "pages of a run", Subjects: []string{runPages(run, submission) + ">"},
		Retention: jetstream.LimitsPolicy, Discard: jetstream.DiscardNew, Compression: compression(s.Replicas()),
		AllowAtomicPublish: true, MaxBytes: cmp.Or(maxBytes, -1), Replicas: s.Replicas(),
	}
	return s.repeat(ctx, "create the run "+run, func() (again bool, err error) {
		err = s.try(ctx, s.options.tryTimeout, config.Name, func(ctx context.Context) error { return s.createRun(ctx, run, config) })
		// A cluster that has just lost a server may answer that it does not know the stream that it creates.
		return isTemporary(err) || errors.Is(err, jetstream.ErrStreamNotFound), err
	})
}

// createRun is CreateRun, once.
func (s *Store) createRun(ctx context.Context, run string, config jetstream.StreamConfig) error {
	stream, err := s.js.Stream(ctx, config.Name)
	switch {
	case errors.Is(err, jetstream.ErrStreamNotFound):
		stream, err = s.js.CreateStream(ctx, config)
	case err == nil:
		changed := stream.CachedInfo().Config
		before := [...]int64{changed.MaxBytes, int64(changed.Replicas), int64(changed.Compression)}
		changed.MaxBytes, changed.Replicas = config.MaxBytes, cmp.Or(s.options.Replicas, changed.Replicas)
		changed.Compression = compression(changed.Replicas)
		if before != [...]int64{changed.MaxBytes, int64(changed.Replicas), int64(changed.Compression)} {
			stream, err = s.js.UpdateStream(ctx, changed)
		}
	}
	if err != nil {
		return err
	}
	return s.checkRun(run, stream)
}

// compression returns how the pages of a run are compressed. Replicated pages are not: server 2.15.2 may append
// to a compressed block after it was killed, and then it can neither read the block nor use the stream again.
func compression(replicas int) jetstream.StoreCompression {
	if replicas > 1 {
		return jetstream.NoCompression
	}
	return jetstream.S2Compression
}

// checkRun checks the stream options on which exactly-once storage depends. A server that does not
// know an option may have ignored it silently.
func (s *Store) checkRun(run string, stream jetstream.Stream) error {
	c := stream.CachedInfo().Config
	switch {
	case !c.AllowAtomicPublish:
		return streamError(run, "does not allow atomic batches", "use NATS server 2.12 or newer")
	case c.AllowDirect:
		return streamError(run, "allows direct gets, which may be stale", "unset allow_direct of the stream")
	case c.Retention != jetstream.LimitsPolicy || c.Discard != jetstream.DiscardNew || c.MaxAge != 0 || c.MaxMsgsPerSubject > 0:
		return streamError(run, "may lose pages", "unset max_age and max_msgs_per_subject of the stream, and let it discard new messages")
	}
	s.streams.Store(runStream+run, stream)
	return nil
}

func streamError(run, what, hint string) error {
	return &failure.Error{Class: failure.Config, Op: "store", Message: "the stream " + runStream + run + " " + what, Hint: hint}
}

// DeleteRun deletes the queued tasks of a run, its pages, the configuration of its submission, and
// its record unless that has another revision. Missing parts are not an error.
func (s *Store) DeleteRun(ctx context.Context, run, submission string, revision uint64) error {
	if err := s.PurgeWork(ctx, run); err != nil {
		return err
	}
	s.streams.Delete(runStream + run)
	err := s.retry(ctx, "delete the run "+run, runStream+run, func(ctx context.Context) error {
		err := s.js.DeleteStream(ctx, runStream+run)
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			return nil
		}
		return err
	})
	if err == nil {
		err = s.configs.drop(ctx, "delete the configuration "+submission, submission, 0)
	}
	if err != nil {
		return err
	}
	return s.runs.drop(ctx, "delete the record of the run "+run, run, revision)
}

// An Info describes the space that a run takes on the server.
type Info struct {
	Messages    uint64 // number of messages; a page in parts has several
	Bytes       uint64 // size of the stored messages
	MaxBytes    int64  // limit of Bytes; 0 if the run has no limit of its own
	First, Last time.Time
	Sequence    uint64    // sequence of the last message
	Created     time.Time // creation time of the stream
	Replicas    int       // number of servers that hold the run
	Now         time.Time // time of the answer by the server's clock
}

// IsFull reports whether the pages of a run have nearly reached its limit: less than a tenth of it
// remains, or less than the size of two average pages.
func (i Info) IsFull() bool {
	if i.MaxBytes == 0 || i.Messages == 0 {
		return false
	}
	most := uint64(i.MaxBytes)
	return i.Bytes+max(most/10, 2*i.Bytes/i.Messages) > most
}

// Info returns the space that a run takes. The error is [ErrDeleted] if the run does not exist.
func (s *Store) Info(ctx context.Context, run string) (Info, error) {
	var info Info
	err := s.retry(ctx, "ask for the run "+run, runStream+run, func(ctx context.Context) error {
		stream, err := s.js.Stream(ctx, runStream+run)
		if err != nil {
			return err
		}
		state := stream.CachedInfo().State
		info = Info{Messages: state.Msgs, Bytes: state.Bytes, First: state.FirstTime, Last: state.LastTime, Sequence: state.LastSeq,
			MaxBytes: max(0, stream.CachedInfo().Config.MaxBytes), Now: stream.CachedInfo().TimeStamp,
			Created: stream.CachedInfo().Created, Replicas: max(1, stream.CachedInfo().Config.Replicas)}
		return nil
	})
	return info, err
}
