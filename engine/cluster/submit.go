package cluster

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"time"

	"github.com/nats-io/nuid"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/cluster/internal/record"
	"github.com/stopwhen/stopwhen/engine/cluster/internal/store"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/remedy"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime/failure"
)

// A Submission describes a run to be distributed.
type Submission struct {
	Run  string // ID of the run: at most 64 letters, digits, "-" and "_"; it must be new, or the ID of the same submission
	Name string // name of the configuration, for messages; its ending selects the format
	Text []byte // text of the configuration

	Inputs   map[string]any            // see [engine.WithInputs]; secret inputs come from the workers instead
	Kept     map[string]map[string]any // see [engine.WithKept]
	Jobs     []string                  // see [engine.WithJobs]
	Dialect  rules.Dialect             // see [engine.WithDialect]
	BaseURL  string                    // see [engine.WithBaseURL]
	MaxPages int                       // see [engine.WithMaxPages]

	// MaxBytes limits the size of the pages on the server, in bytes; workers wait when it is
	// reached. If it is 0, an existing run keeps its limit, and a new run has no limit of its own.
	MaxBytes int64

	// Priority is the number of turns of the run: runs take tasks by turns, and one with priority 3
	// takes three tasks while one with priority 1 takes one. If it is 0, an existing run keeps its
	// priority, and a new run has priority 1.
	Priority int

	// Patience is how long a task is tried again after failures that may pass by themselves, such as
	// status 503 or a timeout, before it has failed. If it is 0, an existing run keeps its patience,
	// and a new run has one hour.
	Patience time.Duration

	Program string    // name and version of the submitting program, for messages
	Now     time.Time // start of the run, returned by now() in the rules of variables; the zero time means now
}

// Check compiles the configuration without its secrets, with the options of [Options.Engine], and
// returns an error if it cannot be distributed. It needs no server. Submit performs the same
// check.
func (s Submission) Check(options ...engine.Option) (*engine.Engine, error) {
	return s.run(&Cluster{options: Options{Engine: options}}).check()
}

// run returns the run to be stored.
func (s Submission) run(c *Cluster) *Run {
	r := &Run{cluster: c, text: s.Text, record: record.Run{
		Version: record.RunVersion, Run: s.Run, Submission: nuid.Next(), Phase: Running, Name: s.Name,
		Program: s.Program, Started: s.Now.UTC(), Jobs: s.Jobs,
		Inputs: s.Inputs, Kept: s.Kept, Dialect: s.Dialect, BaseURL: s.BaseURL, MaxPages: s.MaxPages, MaxBytes: s.MaxBytes,
		Priority: s.Priority, Patience: s.Patience,
	}}
	if s.Now.IsZero() {
		r.record.Started = time.Now().UTC()
	}
	return r
}

// Submit stores a run and queues its first tasks. It makes no request to the API. Submitting the
// same run again queues its missing tasks, continues a cancelled run, and changes MaxBytes,
// Priority and Patience if they are set; this is harmless while the run goes on. Failed tasks
// remain failed. A configuration that cannot be distributed is refused with [engine.Diagnostics]
// or an [*engine.Error] of class config.
func (c *Cluster) Submit(ctx context.Context, s Submission) (*Run, error) {
	r := s.run(c)
	e, err := r.check()
	if err != nil {
		return nil, err
	}
	roots := e.Distribution().RootTasks()
	r.record.Fingerprint = e.Fingerprint()
	r.record.Parallel = e.Distribution().Parallel()
	r.record.Address = e.Distribution().Origin()
	r.record.Origin = originToken(&r.record) // reads Address
	r.record.Env = e.Info().Env
	r.record.Secrets = e.Info().SecretInputs
	r.record.Outlines = e.Distribution().Outlines()
	r.record.Whole = len(roots) == 1 && roots[0].Job == ""
	r.record.Config = value.SHA256(s.Text)
	if r.resubmission, err = r.create(ctx); err != nil {
		return nil, err
	}
	if err = c.store.PutConfig(ctx, r.Token(), s.Text); err == nil {
		err = c.store.CreateRun(ctx, s.Run, r.Token(), r.record.MaxBytes)
	}
	if err != nil {
		if r.resubmission == nil { // nothing of the run has been stored yet
			err = errors.Join(err, c.store.DeleteRun(ctx, s.Run, r.Token(), r.revision))
		}
		return nil, err
	}
	if err := r.prepareQueue(ctx); err != nil {
		return nil, err
	}
	if err := r.queue(ctx, roots); err != nil {
		return nil, err
	}
	return r, nil
}

// A Resubmission describes the effect of submitting an existing run.
type Resubmission struct {
	Cancelled        bool  // the run was cancelled and now continues
	MaxBytes, Before int64 // limits of the size of the pages, now and before; 0 if the run has no limit of its own
	Failed           int   // number of failed tasks, which remain failed; [Run.Retry] queues them again

	Priority int           // new priority; 0 if it is unchanged
	Patience time.Duration // new patience; 0 if it is unchanged
}

// Resubmission describes the effect of submitting the run. It is nil if the run was new or was not
// returned by [Cluster.Submit].
func (r *Run) Resubmission() *Resubmission { return r.resubmission }

// originToken returns the name of the origin of a run on the server. A run whose address is known
// only to the workers has an origin of its own.
func originToken(r *record.Run) string {
	if r.Address == "" {
		return store.OriginToken("run", r.Run)
	}
	return store.OriginToken(host(r.Address), r.Address)
}

// host returns the host of an origin.
func host(origin string) string {
	u, err := url.Parse(origin)
	if err != nil {
		return ""
	}
	return u.Hostname()
}

// check compiles the configuration without its secrets and returns an error if it cannot be
// distributed.
func (r *Run) check() (*engine.Engine, error) {
	if err := checkRun(r.record.Run); err != nil {
		return nil, err
	}
	if err := checkBaseURL(r.record.BaseURL); err != nil {
		return nil, err
	}
	e, err := r.load(withoutSecrets...)
	if err != nil {
		return nil, err
	}
	if found := e.Distribution().WrittenSecrets(); found.Err() != nil {
		return nil, found
	}
	for _, id := range e.Jobs() {
		if err := store.CheckJob(id); err != nil {
			return nil, refused(err.Error(), `give it a short "id"`)
		}
	}
	inputs := maps.Clone(r.record.Inputs)
	for _, name := range e.Info().SecretInputs {
		if _, given := inputs[name]; given {
			return nil, refused(fmt.Sprintf("input %s is secret, and the server would store it", name), "set it where the workers run")
		}
		if inputs == nil {
			inputs = map[string]any{}
		}
		inputs[name] = "secret"
	}
	if err := e.With(engine.WithInputs(inputs)).Check(); err != nil && !onlyAbout(err, e.Info().SecretInputs) {
		return nil, err
	}
	return e, nil
}

// checkBaseURL refuses an address that may contain a secret, because the server would store it.
// Compiling the configuration checks whether the address is valid.
func checkBaseURL(text string) error {
	u, _ := url.Parse(text) // nil if text is not a valid URL
	var difference string
	switch {
	case u == nil:
		return nil
	case u.User != nil:
		difference = "a user name or a password"
	case u.RawQuery != "":
		difference = "a query"
	case u.Fragment != "":
		difference = "a fragment"
	default:
		return nil
	}
	found := diag.NewCollector(nil)
	found.Errorf(diag.Option(remedy.BaseURL), "the address has %s, which the server would store, and it may be secret", difference).
		WithHint("leave it out, and let the configuration read it from the environment of the workers, with {\"env\": \"NAME\"}")
	return found.Diagnostics().Err()
}

// onlyAbout reports whether all diagnostics concern the values of the given inputs.
func onlyAbout(err error, inputs []string) bool {
	found, ok := errors.AsType[engine.Diagnostics](err)
	if !ok {
		return false
	}
	paths := map[string]bool{}
	for _, name := range inputs {
		paths[rules.InputPath(name)] = true
	}
	return !slices.ContainsFunc(found, func(d *diag.Diagnostic) bool { return !paths[d.Path] })
}

func refused(message, hint string) error {
	return &engine.Error{Class: failure.Config, Op: "submit", Message: "the run cannot be distributed: " + message, Hint: hint}
}

// create stores the record of the run. It returns nil unless the run was submitted before.
func (r *Run) create(ctx context.Context) (*Resubmission, error) {
	encoded, err := json.Marshal(r.record)
	if err != nil {
		return nil, err
	}
	r.revision, err = r.cluster.store.PutRun(ctx, r.ID(), encoded)
	if !errors.Is(err, store.ErrConflict) {
		return nil, err
	}
	before, err := r.cluster.withoutText(ctx, r.ID())
	if err != nil {
		return nil, err
	}
	if err := before.deleting(); err != nil {
		return nil, err
	}
	if difference := before.differs(&r.record); difference != "" {
		return nil, &engine.Error{Class: failure.Config, Op: "submit",
			Message: fmt.Sprintf("run %s already exists, but its %s", r.ID(), difference), Hint: "choose another id, or delete that run"}
	}
	wanted := before.record
	wanted.Phase, wanted.MaxBytes = Running, cmp.Or(r.record.MaxBytes, wanted.MaxBytes)
	wanted.Priority, wanted.Patience = cmp.Or(r.record.Priority, wanted.Priority), cmp.Or(r.record.Patience, wanted.Patience)
	r.record, r.revision = before.record, before.revision
	resubmission := &Resubmission{Cancelled: r.record.Phase == Cancelled, MaxBytes: wanted.MaxBytes, Before: r.record.MaxBytes}
	if wanted.Priority != r.record.Priority {
		resubmission.Priority = wanted.Priority
	}
	if wanted.Patience != r.record.Patience {
		resubmission.Patience = wanted.Patience
	}
	if !resubmission.Cancelled && resubmission.MaxBytes == resubmission.Before && resubmission.Priority == 0 && resubmission.Patience == 0 {
		return resubmission, nil
	}
	return resubmission, r.update(ctx, func(rec *record.Run) {
		rec.Phase, rec.MaxBytes, rec.Priority, rec.Patience = Running, wanted.MaxBytes, wanted.Priority, wanted.Patience
	})
}

// differs describes the differences from another submission of the same run.
func (r *Run) differs(other *record.Run) string {
	for _, part := range []struct {
		name          string
		before, after any
	}{
		{"configuration differs", r.record.Config, other.Config},
		{"dialect differs", r.record.Dialect, other.Dialect},
		{"base URL differs", r.record.BaseURL, other.BaseURL},
		{"inputs differ", r.record.Inputs, other.Inputs},
		{"kept values differ", r.record.Kept, other.Kept},
		{"jobs differ", r.record.Jobs, other.Jobs},
		{"limit of pages differs", r.record.MaxPages, other.MaxPages},
		{"rules differ", r.record.Fingerprint, other.Fingerprint},
	} {
		if a, b := stored(part.before), stored(part.after); a != b {
			return part.name
		}
	}
	return ""
}

// stored returns a value as it is stored in a record, where empty values are omitted.
func stored(v any) string {
	// The value has been stored before, so it can be encoded.
	text, _ := json.Marshal(v)
	if slices.Contains([]string{"{}", "[]"}, string(text)) {
		return "null"
	}
	return string(text)
}
