package cluster

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/cluster/internal/store"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime"
	"github.com/stopwhen/stopwhen/runtime/failure"
)

// Collecting says how [Run.Collect] reads a run.
type Collecting struct {
	// Sorted passes the pages in the order of a run on one machine. By default they come in
	// the order in which they were stored, which is that order within each partition.
	Sorted bool

	// NoWait ends with what is stored now. By default Collect waits until the run is complete.
	NoWait bool

	// Release deletes pages from the server when the sink has returned, which must then have
	// stored them, and their checkpoint, for good. What remains are the last page of each
	// partition, which has its position, and the pages for whose items there are partitions.
	// No other collection can read the run then. It cannot be used with Sorted.
	Release bool

	// Skipped receives the pages on which partitions failed that were skipped: see
	// [engine.WithSkippedPages]. It may be nil.
	Skipped func(*engine.Page)

	// Progress is called now and then with what is known of the run. It may be nil.
	Progress func(Progress)
}

// Progress says how far a run is that is being collected, in the pages that have been read.
type Progress struct {
	Tasks  int // that are known; more may be found
	Ended  int // of these, failed ones included
	Failed int
}

// Collect passes the stored pages of a run to a sink, like [engine.Engine.Run]: the pages of
// a partition in their order, and each once. The checkpoint of a page is the position in the
// run; [engine.WithResume] continues behind it, in another process too. The engine is one of
// [Run.Engine].
//
// Collect returns when the run is complete, with the results of its jobs. If partitions have
// failed, the error joins theirs; their pages before the failure are collected, and
// [Run.Retry] continues them. If the run is not complete, because it is cancelled or, with
// [Collecting.NoWait], goes on, the error says so, and is of class transient.
func (r *Run) Collect(ctx context.Context, e *engine.Engine, sink engine.SinkFunc, o Collecting) (*engine.Result, error) {
	c := &collection{run: r, engine: e, sink: sink, options: o}
	if err := c.resume(); err != nil {
		return engine.NewResult(nil), err
	}
	ctx, end, err := c.startRelease(ctx)
	if err != nil {
		return engine.NewResult(nil), err
	}
	for err == nil && !c.done() {
		if o.Sorted {
			err = c.sorted(ctx)
		} else {
			err = c.stored(ctx)
		}
		if err == nil {
			err = c.addFailures(ctx)
		}
		if errors.Is(err, errGoesOn) {
			err = c.await(ctx)
		}
	}
	return c.result(r.unknown(end(err)))
}

// await waits before the next look at a run in which partitions are tried again.
func (c *collection) await(ctx context.Context) error {
	if c.options.NoWait {
		return c.incomplete(runGoesOn)
	}
	return sleep(ctx, retryLook)
}

// sleep waits, or returns why the context has ended.
func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}

// retryLook is the time between two looks at failed partitions that are queued again.
const retryLook = 200 * time.Millisecond

// errGoesOn says that a partition which had failed goes on.
var errGoesOn = errors.New("the run goes on")

// A collection is a run that is being collected.
type collection struct {
	run     *Run
	engine  *engine.Engine
	sink    engine.SinkFunc
	options Collecting

	roots []string
	trees []*tree // of roots
	whole bool    // one task runs all jobs
	read  uint64  // sequence of the last page that was read; 0: none so far
	ended bool

	releaser *releaser    // nil: nothing is released
	releases string       // the id of a collection that has released pages; it is part of its checkpoints
	received atomic.Int64 // pages
}

// A tree is a job of the run with all tasks below it.
type tree struct {
	root  string
	tally *engine.Tally

	progress
	resumed uint64 // pages up to this one have been added; 0 in a sorted collection
}

// progress is what is known of the tasks of a tree.
type progress struct {
	Sequence uint64 `json:"sequence,omitempty"` // of the last page; not of a sorted collection
	Path     []step `json:"path,omitempty"`     // of a sorted collection: the way to the last page
	Tasks    int    `json:"tasks"`              // that are known
	Ended    int    `json:"ended"`              // failed ones included
	Failed   int    `json:"failed,omitempty"`
}

// A step is a task that a sorted collection is in, with the sequence of its last page.
type step struct {
	Job      string `json:"job"`
	Task     string `json:"task"`
	Sequence uint64 `json:"sequence"`
}

// token is a checkpoint of a collection, for one of the jobs of the run.
type token struct {
	Version int    `json:"version"` // the key is that of checkpoints of other runs
	Done    bool   `json:"done,omitempty"`
	Run     string `json:"run"`

	Submission string `json:"submission"` // see record

	Sorted  bool            `json:"sorted,omitempty"`
	Release string          `json:"release,omitempty"` // the id of a collection that releases pages
	At      progress        `json:"at"`
	Tally   json.RawMessage `json:"tally"`
}

const tokenVersion = 1

// resume takes up the checkpoints of an earlier collection.
func (c *collection) resume() error {
	c.roots = c.engine.Roots()
	tallies, saved := c.engine.Tallies(), c.engine.Checkpoints()
	tasks := c.engine.RootTasks()
	c.whole = len(tasks) == 1 && tasks[0].Job == ""
	for _, root := range c.roots {
		t := &tree{root: root, tally: tallies[root], progress: progress{Tasks: 1}}
		c.trees = append(c.trees, t)
		if saved[root] == nil {
			continue
		}
		var from token
		err := decode(saved[root], &from)
		switch {
		case err == nil && (from.Version != tokenVersion || from.Run != c.run.ID()):
			err = fmt.Errorf("it is not that of a collection of run %s", c.run.ID())
		case err == nil && from.Submission != c.run.record.Submission:
			err = fmt.Errorf("it is that of an earlier run %s, which was deleted", c.run.ID())
		case err == nil && from.Sorted != c.options.Sorted:
			err = errors.New("it is that of a collection in another order")
		case err == nil:
			err = t.tally.Restore(from.Tally)
		}
		if err != nil {
			return unusable(fmt.Errorf("job '%s': %w", root, err))
		}
		t.progress, c.releases = from.At, cmp.Or(from.Release, c.releases)
		if !c.options.Sorted { // which does not read the pages in the order of their sequences
			t.resumed = from.At.Sequence
		}
	}
	if c.whole && c.options.Sorted {
		c.sharePath()
	}
	return nil
}

// sharePath gives all trees the position of the one that came farthest: one task runs all of
// them, one after another.
func (c *collection) sharePath() {
	farthest := slices.MaxFunc(c.trees, func(a, b *tree) int { return cmp.Compare(a.last(), b.last()) })
	for _, t := range c.trees {
		t.progress = farthest.progress
	}
}

// last returns the sequence of the last page of a sorted collection.
func (t *tree) last() uint64 {
	if len(t.Path) == 0 {
		return 0
	}
	return t.Path[len(t.Path)-1].Sequence
}

// unusable returns the error for a checkpoint from which a collection cannot continue.
func unusable(err error) error {
	return &engine.Error{Class: failure.State, Op: "resume", Err: err,
		Message: "the checkpoint cannot be used: " + err.Error(), Hint: "start from the beginning, without it"}
}

// token returns the checkpoint of a tree.
func (c *collection) token(t *tree, done bool) (json.RawMessage, error) {
	tally, err := t.tally.Save()
	if err != nil {
		return nil, err
	}
	return json.Marshal(token{
		Version: tokenVersion, Done: done, Run: c.run.ID(), Submission: c.run.record.Submission, Sorted: c.options.Sorted,
		Release: c.releases, At: t.progress, Tally: tally,
	})
}

// treesOf returns the trees of a task.
func (c *collection) treesOf(task string) []*tree {
	if c.whole {
		return c.trees
	}
	if i, ok := runtime.RootOf(task); ok && i < len(c.trees) {
		return c.trees[i : i+1]
	}
	return nil
}

// done reports whether all tasks have ended, and none of them has failed.
func (c *collection) done() bool {
	return c.ended || !slices.ContainsFunc(c.trees, func(t *tree) bool { return t.Ended < t.Tasks || t.Failed > 0 })
}

// allEnded reports whether all tasks have ended.
func (c *collection) allEnded() bool {
	return !slices.ContainsFunc(c.trees, func(t *tree) bool { return t.Ended < t.Tasks })
}

// add takes up a page that is stored, and passes it to the sink.
func (c *collection) add(ctx context.Context, entry *store.Entry, e *envelope) error {
	c.received.Add(1)
	trees := c.treesOf(entry.Task)
	if trees == nil {
		return damaged(entry, "it belongs to no job of the run")
	}
	var final bool
	for _, t := range trees {
		if entry.Sequence <= t.resumed {
			continue
		}
		t.count(entry, e)
		if entry.State != store.Failed {
			t.tally.Add(&engine.Step{Missing: e.Missing, Ending: e.Ending})
		}
		final = t.Ended == t.Tasks && t.Failed == 0
	}
	t := trees[0]
	if c.whole && e.Root != "" {
		t = c.trees[max(0, slices.Index(c.roots, e.Root))]
		final = e.Final
	}
	if entry.Sequence <= t.resumed {
		return nil
	}
	if e.Root == "" {
		e.Root = t.root
	}
	if c.options.Skipped != nil {
		for _, record := range e.Skipped {
			c.options.Skipped(runtime.StoredPage(record, e.Root, engine.Items{}, nil, false, nil))
		}
		if e.Ending != nil && entry.State == store.Done && e.Ending.Failed != nil {
			c.options.Skipped(runtime.StoredPage(*e.Ending.Failed, e.Root, engine.Items{}, nil, false, nil))
		}
	}
	page := e.page(entry, final, func() (json.RawMessage, error) { return c.token(t, final) })
	if page == nil {
		return nil
	}
	if err := c.sink(ctx, page); err != nil {
		return err
	}
	c.releaser.add(entry)
	return nil
}

// count takes up what a page says about tasks.
func (t *tree) count(entry *store.Entry, e *envelope) {
	t.Sequence = entry.Sequence
	t.Tasks += len(e.Children)
	if entry.Reopens {
		t.Ended--
		t.Failed--
	}
	if entry.Ends() {
		t.Ended++
	}
	if entry.State == store.Failed {
		t.Failed++
	}
}

func damaged(entry *store.Entry, what string) error {
	return &engine.Error{Class: failure.State, Op: "collect", Message: fmt.Sprintf("page %d of the run is damaged: %s", entry.Sequence, what)}
}

// stored passes the pages in the order in which they were stored.
func (c *collection) stored(ctx context.Context) error {
	from, ended := c.trees[0].Sequence, c.allEnded() // and what has failed may go on
	for _, t := range c.trees {
		from, t.resumed = min(from, t.Sequence), t.Sequence
	}
	from = max(from, c.read)
	limit, err := c.limit(ctx)
	if err != nil {
		return err
	}
	switch {
	case from >= limit && c.allEnded():
		return nil
	case from >= limit && c.options.NoWait:
		return c.incomplete(runGoesOn)
	}
	watched, stop := c.watched(ctx)
	defer stop()
	err = c.run.cluster.store.Read(watched, c.run.ID(), from, func(entry *store.Entry) error {
		e, err := decodeEnvelope(entry)
		if err != nil {
			return damaged(entry, err.Error())
		}
		if err := c.add(ctx, entry, e); err != nil {
			return err
		}
		c.tell()
		c.read = entry.Sequence
		switch {
		case c.allEnded() && (!ended || entry.Sequence >= limit):
			return errEnd
		case c.options.NoWait && entry.Sequence >= limit:
			return errEnd
		}
		return nil
	})
	switch {
	case errors.Is(err, errEnd) && c.allEnded():
		return nil
	case errors.Is(err, errEnd):
		return c.incomplete(runGoesOn)
	}
	return c.why(ctx, watched, err)
}

// watched returns a context that ends when the run is cancelled, or when its pages are
// released by another collection. Stop ends what watches the run, and waits for it.
func (c *collection) watched(ctx context.Context) (watched context.Context, stop func()) {
	watched, cancel := context.WithCancelCause(ctx)
	var all sync.WaitGroup
	all.Go(func() { c.watch(watched, cancel) })
	all.Go(func() { c.tellWhyIdle(watched) })
	return watched, func() {
		cancel(nil)
		all.Wait()
	}
}

// why returns the error of a collection, given that of a call with the context of
// [collection.watched]: the reason why that context has ended explains more.
func (c *collection) why(ctx, watched context.Context, err error) error {
	cause := context.Cause(watched)
	switch {
	case err == nil || cause == nil || ctx.Err() != nil:
		return err
	case errors.Is(cause, errGone):
		return c.incomplete(isCancelled)
	}
	return cause
}

// errEnd ends the reading of pages.
var errEnd = errors.New("the end")

// limit returns the sequence of the last page that is stored.
func (c *collection) limit(ctx context.Context) (uint64, error) {
	info, err := c.run.cluster.store.Info(ctx, c.run.ID())
	return info.Sequence, err
}

// watch ends the reading when the run is cancelled.
func (c *collection) watch(ctx context.Context, stop context.CancelCauseFunc) {
	_ = c.run.cluster.store.WatchRuns(ctx, func(stored store.Record) {
		var r record
		if stored.Name != c.run.ID() {
			return
		}
		if stored.Value != nil && (decode(stored.Value, &r) != nil || r.Phase == Running) {
			if err := c.checkReleased(&r); err != nil {
				stop(err)
			}
			return
		}
		time.AfterFunc(cancelledGrace, func() { stop(errGone) }) // what was stored before is read
	})
}

// cancelledGrace is how long pages are read that were stored before a run was cancelled.
const cancelledGrace = 2 * time.Second

// A reason says why a run is incomplete.
type reason struct{ text, hint string }

var (
	runGoesOn   = reason{"the run goes on", "collect it again when it is complete"}
	isCancelled = reason{"it is cancelled", "submit it again to continue it"}
)

func (c *collection) incomplete(why reason) error {
	p := c.sum()
	return &engine.Error{Class: failure.Transient, Op: "collect",
		Message: fmt.Sprintf("run %s is incomplete: %s; %d of %s ended", c.run.ID(), why.text, p.Ended, value.Counted(p.Tasks, "task")),
		Hint:    why.hint}
}

func (c *collection) tell() {
	if c.options.Progress != nil {
		c.options.Progress(c.sum())
	}
}

// sum returns how far all trees are. If one task runs all of them, each knows all of it.
func (c *collection) sum() (p Progress) {
	for _, t := range c.trees {
		p.Tasks, p.Ended, p.Failed = p.Tasks+t.Tasks, p.Ended+t.Ended, p.Failed+t.Failed
		if c.whole {
			break
		}
	}
	return p
}

// addFailures adds the results of the tasks that have failed, when all tasks have ended. The
// error is errGoesOn if one of them goes on.
func (c *collection) addFailures(ctx context.Context) error {
	if !slices.ContainsFunc(c.trees, func(t *tree) bool { return t.Failed > 0 }) {
		c.ended = true
		return nil
	}
	before := c.tallies()
	failures, goesOn, err := c.failures(ctx, before)
	if err != nil {
		return err
	}
	failed := errors.Join(failures...)
	if failed == nil || goesOn && !c.options.Sorted {
		return cmp.Or(c.restore(before), errGoesOn)
	}
	return failed
}

// tallies returns the tallies as they are.
func (c *collection) tallies() []json.RawMessage {
	all := make([]json.RawMessage, len(c.trees))
	for i, t := range c.trees {
		all[i], _ = t.tally.Save() // it is saved with every page
	}
	return all
}

// restore takes up tallies as they were.
func (c *collection) restore(tallies []json.RawMessage) error {
	fresh := c.engine.Tallies()
	for i, t := range c.trees {
		t.tally = fresh[t.root]
		if err := t.tally.Restore(tallies[i]); err != nil {
			return err
		}
	}
	return nil
}

// failures adds the results of all tasks that have failed to the tallies, which are as before.
// It returns their errors, and whether a task has not ended.
func (c *collection) failures(ctx context.Context, before []json.RawMessage) (errs []error, goesOn bool, err error) {
	var more int
	var unrestored error
	again := func() {
		errs, goesOn, more, unrestored = nil, false, 0, c.restore(before)
	}
	err = c.run.cluster.store.ScanHeads(ctx, c.run.ID(), again, func(h store.Heading) error {
		goesOn = goesOn || !h.Ends()
		if h.State != store.Failed {
			return nil
		}
		ending, err := c.failure(ctx, h.Key)
		if err != nil {
			return err
		}
		if ending == nil {
			goesOn = true
			return nil
		}
		for _, t := range c.treesOf(h.Task) {
			t.tally.Add(&engine.Step{Ending: ending})
		}
		if len(errs) < maxErrors {
			errs = append(errs, ending.FailureOf())
		} else {
			more++
		}
		return nil
	})
	if more > 0 {
		errs = append(errs, &engine.Error{Class: failure.Transient, Op: "collect", Message: fmt.Sprintf("%d more partitions have failed", more)})
	}
	return errs, goesOn, cmp.Or(err, unrestored)
}

// failure returns how a task that has failed ended, or nil if it is tried again.
func (c *collection) failure(ctx context.Context, key store.Key) (*engine.Ending, error) {
	queued, err := c.run.queued(ctx, key)
	if err != nil {
		return nil, err
	}
	entry, err := c.run.cluster.store.Last(ctx, key)
	if err != nil || entry == nil || queued || entry.State != store.Failed {
		return nil, err
	}
	e, err := decodeEnvelope(entry)
	switch {
	case err != nil:
		return nil, damaged(entry, err.Error())
	case e.Ending == nil:
		return nil, damaged(entry, "it does not say how the task failed")
	}
	return e.Ending, nil
}

// queued reports whether a task is in the queue.
func (r *Run) queued(ctx context.Context, key store.Key) (bool, error) {
	return r.cluster.store.IsQueued(ctx, r.record.Origin, key)
}

// maxErrors is how many failures of partitions are listed.
const maxErrors = 20

// result returns the results of all jobs.
func (c *collection) result(err error) (*engine.Result, error) {
	var jobs []engine.JobResult
	for _, t := range c.trees {
		ended := err
		if t.Ended == t.Tasks && t.Failed == 0 {
			ended = nil
		}
		jobs = append(jobs, t.tally.Results(ended)...)
	}
	return engine.NewResult(jobs), err
}
