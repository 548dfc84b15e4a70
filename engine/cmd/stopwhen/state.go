package main

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/gofrs/flock"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/checkpoint"
	"github.com/stopwhen/stopwhen/rules/value"
)

// commitInterval bounds what a kill costs: pages since the last commit are
// extracted again. A commit takes about a millisecond.
const commitInterval = 200 * time.Millisecond

// checkpointer owns the files of a run and, with --state, saves its checkpoints.
type checkpointer struct {
	*checkpoint.Store
	lock       *flock.Flock  // nil without --state
	path       string        // "" without --state
	interval   time.Duration // between commits; 0: every page is committed
	lastCommit time.Time

	log       *slog.Logger
	collects  bool                          // what is written is the pages of a run that other machines do
	everyPage bool                          // a commit needs a checkpoint of every page, since jobs take turns
	trace     *checkpoint.Output            // nil: none, or not a file
	writers   map[*checkpoint.Output]string // the root of the job that wrote to an output last
}

// openState locks and reads the state, if there is one.
func (a *app) openState(l *loaded, logger *slog.Logger) (*checkpointer, error) {
	c := &checkpointer{
		path: a.flags.state, interval: commitInterval, log: logger, collects: l.pages != nil,
		everyPage: (a.flags.parallel > 1 || a.flags.keepGoing || l.pages != nil) && len(l.Roots()) > 1, writers: map[*checkpoint.Output]string{},
	}
	if c.path == "" {
		c.Store = checkpoint.Stateless()
		return c, nil
	}
	if a.flags.toStdout() || a.flags.collect.release {
		c.interval = 0 // items on standard output cannot be discarded when the run resumes
	}
	file, err := resolve(c.path) // so that every name of the file has one lock
	if err != nil {
		return nil, outputError(err)
	}
	if c.lock, err = lockFile(file, "state "+c.path, "--state and --out"); err != nil {
		return nil, err
	}
	if c.Store, err = a.openStore(l, file); err != nil {
		return nil, errors.Join(err, c.lock.Unlock())
	}
	return c, nil
}

// resolve returns the file that a path names, without symbolic links. The file need
// not exist.
func resolve(path string) (string, error) {
	file, err := filepath.EvalSymlinks(path)
	if err == nil {
		return file, nil
	}
	if target, ok := linkTarget(path); ok && errors.Is(err, fs.ErrNotExist) {
		return resolve(target)
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, filepath.Base(path)), nil
}

func (a *app) openStore(l *loaded, file string) (*checkpoint.Store, error) {
	openFile := checkpoint.Open
	if a.flags.restart {
		openFile = checkpoint.Restart
	}
	store, err := openFile(file, version(), l.fingerprint())
	if err != nil {
		return nil, err
	}
	resumed := l.With(engine.WithResume(store.Jobs()))
	if l.pages != nil {
		return store, nil // the engine has no secrets, and the source checks the position
	}
	err = resumed.Check() // before any output is truncated
	if failed := (*engine.Error)(nil); errors.As(err, &failed) {
		failed.Hint = "--restart starts over and replaces the output"
	}
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return store, nil
}

// begin prepares the outputs, logs how the run resumes, and returns the engine with the
// saved checkpoints.
func (c *checkpointer) begin(e *engine.Engine) (*engine.Engine, error) {
	if err := c.Begin(); err != nil {
		return nil, err
	}
	if c.path == "" {
		return e, nil
	}
	e = e.With(engine.WithResume(c.Jobs()))
	switch {
	case !c.Resumed():
		c.logChanges(e)
	case e.Ended():
		c.log.Info(fmt.Sprintf("%s: the extraction has ended; no request is made (--restart starts over)", c.path),
			"event", "resume", "complete", true)
	default:
		message := "resuming from " + c.path
		if c.Discarded() > 0 {
			message += fmt.Sprintf("; discarded %s written after the last checkpoint", value.Size(int(c.Discarded())))
		}
		c.log.Info(message, "event", "resume", "truncated_bytes", c.Discarded())
	}
	return e, nil
}

// logChanges tells of an increment whose configuration is not that of the run before it.
func (c *checkpointer) logChanges(e *engine.Engine) {
	if changed := c.Changed(); changed != "" && !c.collects {
		c.log.Info(fmt.Sprintf("%s: the next increment begins with another configuration: %s changed", c.path, changed),
			"event", "increment", "changed", changed)
	}
	all := e.With(engine.WithJobs()).Jobs()
	for _, job := range slices.Sorted(maps.Keys(c.Kept())) {
		if !slices.Contains(all, job) {
			c.log.Warn(fmt.Sprintf("%s has values that job %s kept, which the configuration does not have; they remain until it is there again",
				c.path, job), "event", "increment", "job", job)
		}
	}
}

// none says why there is nothing for a file.
func (c *checkpointer) none() string {
	if c.collects {
		return "no page for it has been collected"
	}
	return "this run has no page for it"
}

// outputs returns the outputs that a page of a job is written to.
func (c *checkpointer) outputs(targets []*target) []*checkpoint.Output {
	var all []*checkpoint.Output
	for _, t := range targets {
		if t.file != nil {
			all = append(all, t.file)
		}
	}
	if c.trace != nil {
		all = append(all, c.trace)
	}
	return all
}

// writtenBy returns the outputs that a job, or one below it, wrote to last.
func (c *checkpointer) writtenBy(root string) []*checkpoint.Output {
	var all []*checkpoint.Output
	for o, writer := range c.writers {
		if writer == root {
			all = append(all, o)
		}
	}
	return all
}

// beginPage is called before a page is written. It removes a page that another job has
// begun and will request again when the run resumes. The jobs below one root are one job.
func (c *checkpointer) beginPage(root string, targets []*target) error {
	for _, o := range c.outputs(targets) {
		if before, shared := c.writers[o]; shared && before != root && o.Torn() {
			if err := o.Rollback(); err != nil {
				return err
			}
		}
		c.writers[o] = root
	}
	return nil
}

// endPage is called when a page is fully written. It commits if a commit is due.
func (c *checkpointer) endPage(page *engine.Page) error {
	if c.path == "" {
		return nil
	}
	due := page.Final || time.Since(c.lastCommit) >= c.interval
	if !due && !c.everyPage {
		return nil
	}
	saved, err := page.Checkpoint()
	if err != nil || saved == nil { // the run cannot resume after a page on which it fails
		return err
	}
	if err := c.Mark(page.Root, saved, c.writtenBy(page.Root)...); err != nil || !due {
		return err
	}
	if err := c.Flush(); err != nil {
		return err
	}
	c.log.Debug("checkpoint saved", "event", "checkpoint", "committed_bytes", c.Committed())
	c.lastCommit = time.Now()
	return nil
}

// Close releases the lock.
func (c *checkpointer) Close() {
	_ = c.Store.Close()
	if c.lock != nil {
		_ = c.lock.Unlock()
	}
}
