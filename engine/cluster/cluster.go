package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/cluster/internal/record"
	"github.com/stopwhen/stopwhen/engine/cluster/internal/store"
	"github.com/stopwhen/stopwhen/engine/cluster/status"
	"github.com/stopwhen/stopwhen/rules/remedy"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime/failure"
	"github.com/stopwhen/stopwhen/runtime/saved"
)

// Options configure a [Cluster]. The zero value has sensible defaults.
type Options struct {
	// Engine holds the options for compiling and running configurations on this machine: added
	// formats, methods and functions, the environment, a transport and an observer. All machines of
	// a run need the same formats, methods and functions.
	Engine []engine.Option

	// AckWait is how long a worker may be silent before its tasks are given to others. Submit sets
	// it for all runs of an API. If it is 0, the current value stays, which is 30 seconds at first.
	AckWait time.Duration

	// Replicas is the number of servers that hold the pages of a submitted run; the queue of all runs
	// is on as many servers as the largest of these numbers. 0 keeps the number of an existing run, and
	// gives a new run 3 in a cluster of servers and otherwise 1.
	Replicas int

	// Patience is how long a call waits for a server that does not answer. If it is 0, the call
	// waits until its context ends.
	Patience time.Duration

	Log *slog.Logger // nil discards the log

	adjust []func(*timing)      // for tests: changes to the timing
	lose   func(store.Key) bool // for tests: reports whether an acknowledgement is lost
}

// A Cluster gives access to the runs of one account on a NATS server. It may be used by several
// goroutines at once.
type Cluster struct {
	store   *store.Store
	options Options
	log     *slog.Logger
	timing  timing

	full    problems                                       // why pages of runs wait for room on the server, whichever worker has them
	counted atomic.Pointer[map[finishedRun]status.Summary] // of the latest Overview; nil before it
}

// ErrEmpty means that nothing has been submitted to the server yet, and that the user of the
// connection may not create the streams and buckets that the first submission creates.
var ErrEmpty = store.ErrEmpty

// Open connects to the runs on a NATS server. It creates missing streams and buckets. If the user
// may not create them, the error is [ErrEmpty]. If the server cannot be used, for example because
// it has no JetStream or is older than 2.12, the error is an [*engine.Error] with a hint.
func Open(ctx context.Context, js jetstream.JetStream, o Options) (*Cluster, error) {
	c := &Cluster{options: o, log: o.Log, timing: newTiming(time.Second)}
	for _, adjust := range o.adjust {
		adjust(&c.timing)
	}
	if c.log == nil {
		c.log = slog.New(slog.DiscardHandler)
	}
	var err error
	c.store, err = store.Open(ctx, js, store.Options{
		AckWait: o.AckWait, Replicas: o.Replicas, Patience: o.Patience, LoseAck: o.lose, Waiting: c.waiting,
	})
	return c, err
}

// fullFor is how long a run is reported as full after the last attempt to store a page.
const fullFor = 30 * time.Second

// waiting records that a page cannot be stored for now, and logs the reason once a minute for all
// pages of a run.
func (c *Cluster) waiting(key store.Key, err error) {
	reason, hint := err.Error(), remedy.New("make room there, or delete runs")
	if log, _ := c.full.note(problemKey{run: key.Run}, reason, fullFor); !log {
		return
	}
	if strings.Contains(reason, "maximum bytes") {
		hint = remedy.New("submit it again with a larger %s; %s says whether %s makes room, too",
			remedy.MaxBytes, remedy.Status.Of(key.Run), remedy.Release)
	}
	if refused, ok := errors.AsType[*jetstream.APIError](err); ok {
		reason = refused.Description
	}
	c.log.Warn(fmt.Sprintf("run %s: pages wait until the server has room: %s", key.Run, reason),
		"event", "cluster_full", "run", key.Run, "hint", hint)
}

// Phase says whether the tasks of a run are executed. [Run.Status] returns more detail.
type Phase = status.Phase

// Phases of a run.
const (
	Running   = status.Running
	Cancelled = status.Cancelled
)

// A Run is a run stored on the server. Its methods must not be called at the same time: each
// goroutine takes a Run of its own from [Cluster.Run].
type Run struct {
	cluster      *Cluster
	record       record.Run
	revision     uint64
	text         []byte // text of the configuration
	resubmission *Resubmission
}

// Run returns a run. If the run does not exist, the error is of class config.
func (c *Cluster) Run(ctx context.Context, id string) (*Run, error) {
	if err := checkRun(id); err != nil {
		return nil, err
	}
	r, err := c.withoutText(ctx, id)
	if err == nil {
		r.text, err = c.store.Config(ctx, r.record.Submission)
	}
	return r, err
}

// withoutText returns a run without loading the text of its configuration.
func (c *Cluster) withoutText(ctx context.Context, id string) (*Run, error) {
	stored, err := c.store.Run(ctx, id)
	if err != nil {
		return nil, err
	}
	if stored == nil {
		return nil, noRun(id)
	}
	return c.readRecord(*stored)
}

func checkRun(id string) error {
	if err := store.CheckRun(id); err != nil {
		return &engine.Error{Class: failure.Config, Op: "run", Message: err.Error(), Err: err}
	}
	return nil
}

func noRun(id string) error {
	return (&engine.Error{Class: failure.Config, Op: "run", Message: fmt.Sprintf("there is no run %q on the server", id)}).
		WithRemedy("%s lists the runs", remedy.Overview)
}

// readRecord reads the record of a run.
func (c *Cluster) readRecord(stored store.Record) (*Run, error) {
	r := &Run{cluster: c, revision: stored.Revision}
	err := value.Unmarshal(stored.Value, &r.record)
	if err == nil && r.record.Version != record.RunVersion {
		err = fmt.Errorf("it has version %d, this program reads version %d", r.record.Version, record.RunVersion)
	}
	if err != nil {
		return nil, &engine.Error{Class: failure.State, Op: "run", Err: err,
			Message: fmt.Sprintf("the record of run %s cannot be read: %v", stored.Name, err), Hint: "use the program that submitted the run"}
	}
	return r, nil
}

// ID returns the ID of the run.
func (r *Run) ID() string { return r.record.Run }

// Token returns the token that distinguishes the run from deleted runs with the same ID.
func (r *Run) Token() string { return r.record.Submission }

// WorkerHint returns the call and the command that start a worker for the run, for use in messages. They name
// the environment variables and the secret inputs that the configuration reads.
func (r *Run) WorkerHint() remedy.Name { return r.record.WorkerHint() }

// Phase says whether the tasks of the run are executed.
func (r *Run) Phase() Phase { return r.record.Phase }

// Started returns when the run was submitted.
func (r *Run) Started() time.Time { return r.record.Started }

// Config returns the name and the text of the configuration as submitted.
func (r *Run) Config() (name string, text []byte) { return r.record.Name, r.text }

// Kept returns the submitted values from which the run continues.
func (r *Run) Kept() map[string]map[string]any { return r.record.Kept }

// load compiles the configuration with the options of this machine and additional options.
func (r *Run) load(others ...engine.Option) (*engine.Engine, error) {
	return engine.Load(r.record.Name, r.text, slices.Concat(r.cluster.options.Engine, r.record.Options(), others)...)
}

// Engine compiles the configuration without its secrets. The engine makes no requests: it is for
// [Run.Collect] and for information about the jobs.
func (r *Run) Engine(options ...engine.Option) (*engine.Engine, error) {
	e, err := r.load(slices.Concat(options, withoutSecrets)...)
	if err != nil {
		return nil, err
	}
	return e, r.sameRules(e)
}

// withoutSecrets holds the options of an engine that needs no secrets.
var withoutSecrets = []engine.Option{engine.WithPlaceholders(), engine.WithEnv(nil)}

// sameRules returns an error if an engine loaded without secrets judges pages by other rules than
// the engine that submitted the run.
func (r *Run) sameRules(e *engine.Engine) error {
	for part, hash := range e.Fingerprint() {
		if _, changed := saved.Changed(r.record.Fingerprint[part], hash); changed {
			return &engine.Error{Class: failure.Config, Op: "run",
				Message: fmt.Sprintf("run %s: this program compiles the configuration to different %s than the program that submitted it (%s)",
					r.ID(), part, r.record.Program),
				Hint: "use the same version, with the same methods and functions"}
		}
	}
	return nil
}

// update changes the record of a run. A concurrent change is not lost.
func (r *Run) update(ctx context.Context, change func(*record.Run)) error {
	for {
		changed := r.record
		change(&changed)
		text, err := json.Marshal(changed)
		if err != nil {
			return err
		}
		revision, err := r.cluster.store.UpdateRun(ctx, r.ID(), text, r.revision)
		if err == nil {
			r.record, r.revision = changed, revision
			return nil
		}
		if !errors.Is(err, store.ErrConflict) {
			return err
		}
		reloaded, err := r.cluster.withoutText(ctx, r.ID())
		if err != nil {
			return err
		}
		if reloaded.record.Submission != r.record.Submission {
			return (&engine.Error{Class: failure.State, Op: "run", Err: store.ErrDeleted,
				Message: fmt.Sprintf("run %s has been deleted, and another run has its name", r.ID())}).
				WithRemedy("%s lists the runs", remedy.Overview)
		}
		r.record, r.revision = reloaded.record, reloaded.revision
	}
}

// deleting returns the error for a run that is being deleted, or whose deletion has failed.
func (r *Run) deleting() error {
	if !r.record.Deleted {
		return nil
	}
	return (&engine.Error{Class: failure.State, Op: "run", Message: fmt.Sprintf("run %s was deleted only in part", r.ID())}).
		WithRemedy("delete it again: %s", remedy.Delete.Of(r.ID()))
}

// Cancel ends a run: its queued tasks are removed, and workers stop its running tasks. Stored
// pages remain and can be collected. Submitting the run again continues it.
func (r *Run) Cancel(ctx context.Context) error {
	if err := r.stop(ctx, func(rec *record.Run) { rec.Phase = Cancelled }); err != nil {
		return err
	}
	current, err := r.cluster.withoutText(ctx, r.ID())
	if err == nil && current.Phase() != Cancelled {
		err = &engine.Error{Class: failure.State, Op: "cancel",
			Message: fmt.Sprintf("run %s was submitted again while it was being cancelled, and some of its tasks may not be queued", r.ID()),
			Hint:    "cancel it again, or submit it once more"}
	}
	return err
}

// Delete removes a run and all its pages from the server. It cannot be undone. If Delete fails,
// parts of the run may remain. They can only be deleted, and until then no run with the same name
// can be submitted.
func (r *Run) Delete(ctx context.Context) error {
	if err := r.stop(ctx, func(rec *record.Run) { rec.Phase, rec.Deleted = Cancelled, true }); err != nil {
		return err
	}
	return r.cluster.store.DeleteRun(ctx, r.ID(), r.Token(), r.revision)
}

// stop changes the record of a run that ends, and removes its queued tasks.
func (r *Run) stop(ctx context.Context, change func(*record.Run)) error {
	if err := r.update(ctx, change); err != nil {
		return err
	}
	if err := r.cluster.store.PurgeWork(ctx, r.ID()); err != nil {
		return err
	}
	// The other runs of the origin still need the queue.
	return r.prepareQueue(ctx)
}
