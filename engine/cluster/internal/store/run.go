package store

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/stopwhen/stopwhen/runtime/failure"
)

// CreateRun creates the stream of a run, or changes how many bytes its pages may take as they
// are stored; 0: any number. The submission is part of the subjects, see [Key]: a worker that
// still runs a task of a run which was deleted cannot store it in another one of the same name.
func (s *Store) CreateRun(ctx context.Context, run, submission string, maxBytes int64) error {
	if err := CheckRun(run); err != nil {
		return &failure.Error{Class: failure.Config, Op: "store", Message: err.Error(), Err: err}
	}
	config := jetstream.StreamConfig{
		Name: runStream + run, Description: "pages of a run", Subjects: []string{pagesOfRun(run, submission) + ">"},
		Retention: jetstream.LimitsPolicy, Discard: jetstream.DiscardNew, Compression: jetstream.S2Compression,
		AllowAtomicPublish: true, MaxBytes: cmp.Or(maxBytes, -1), Replicas: s.Replicas(),
	}
	return s.retry(ctx, "create the run "+run, config.Name, func(ctx context.Context) error {
		stream, err := s.js.Stream(ctx, config.Name)
		switch {
		case errors.Is(err, jetstream.ErrStreamNotFound):
			stream, err = s.js.CreateStream(ctx, config)
		case err == nil && stream.CachedInfo().Config.MaxBytes != config.MaxBytes:
			changed := stream.CachedInfo().Config
			changed.MaxBytes = config.MaxBytes
			stream, err = s.js.UpdateStream(ctx, changed)
		}
		if err != nil {
			return err
		}
		return s.checkRun(run, stream)
	})
}

// checkRun requires what exactly once depends on. A server that does not know an option
// may have left it out without saying so.
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

// DeleteRun deletes the queued tasks of a run, its pages, the configuration of its submission,
// and its record, unless that has another revision. It is no error if any of them does not
// exist.
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

// An Info says how much a run holds on the server.
type Info struct {
	Messages    uint64 // a page in parts has several
	Bytes       uint64 // as they are stored
	MaxBytes    int64  // 0: no limit of its own
	First, Last time.Time
	Sequence    uint64    // of the last message
	Created     time.Time // the stream of the run
	Now         time.Time // by the clock of the server, when it was asked
}

// IsFull reports whether the pages of a run take nearly all that they may: there is less room
// than a tenth of it, or than two pages of the usual size.
func (i Info) IsFull() bool {
	if i.MaxBytes == 0 || i.Messages == 0 {
		return false
	}
	most := uint64(i.MaxBytes)
	return i.Bytes+max(most/10, 2*i.Bytes/i.Messages) > most
}

// Info returns how much a run holds. The error is [ErrDeleted] if it does not exist.
func (s *Store) Info(ctx context.Context, run string) (Info, error) {
	var info Info
	err := s.retry(ctx, "ask for the run "+run, runStream+run, func(ctx context.Context) error {
		stream, err := s.js.Stream(ctx, runStream+run)
		if err != nil {
			return err
		}
		at := stream.CachedInfo().State
		info = Info{Messages: at.Msgs, Bytes: at.Bytes, First: at.FirstTime, Last: at.LastTime, Sequence: at.LastSeq,
			MaxBytes: max(0, stream.CachedInfo().Config.MaxBytes), Now: stream.CachedInfo().TimeStamp,
			Created: stream.CachedInfo().Created}
		return nil
	})
	return info, err
}
