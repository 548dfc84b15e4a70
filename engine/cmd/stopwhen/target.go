package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/checkpoint"
	formats "github.com/stopwhen/stopwhen/engine/output"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/printable"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime/document"
)

// A target is where the items of one or several jobs go.
type target struct {
	stream *formats.Stream    // standard output, a pipe or a device; nil: a file
	items  *formats.File      // nil: a stream
	file   *checkpoint.Output // its rows

	dataType string // of the items; "" is any
	jobs     []string
	adds     bool // the rows are added to those of earlier runs
	ended    []ending
	known    map[string]bool // jobs that have ended
}

// writer returns a writer for the items of a data type.
func (t *target) writer(dataType string) io.Writer {
	if t.stream != nil {
		return t.stream.Items(dataType)
	}
	return t.items
}

// lists returns the lists of a page that belong to the target.
func (t *target) lists(page *engine.Page) (lists []document.List) {
	for _, list := range page.Lists {
		if t.dataType == "" || t.dataType == list.DataType {
			lists = append(lists, list)
		}
	}
	return lists
}

// ending says how a job ended.
type ending struct {
	job      string
	outcome  rules.Outcome
	findings []engine.Finding
	kept     map[string]any
	repeats  bool // the next run begins where this one did
}

// chooseModes decides which files are added to. A job that continues from the values of
// an earlier run, its own or those of a job for whose items it is, adds its rows: those of
// the earlier run are never requested again.
func (o *output) chooseModes(kept carryover) error {
	hasKept := func(job string) bool { return len(kept[job]) > 0 && o.carries() }
	for _, t := range o.targets {
		var continues, starts []string
		for _, job := range t.jobs {
			if slices.ContainsFunc(o.engine.Keepers(job), hasKept) {
				continues = append(continues, job)
			} else {
				starts = append(starts, job)
			}
		}
		t.adds = o.app.flags.appendRows || len(continues) > 0
		if err := o.beginAppend(t); err != nil {
			return err
		}
		if t.file == nil || o.app.flags.appendRows || len(continues) == 0 {
			continue
		}
		if len(starts) > 0 {
			return &usageError{fmt.Sprintf("%s: job %s continues from kept values, so its rows are added, but job %s starts at the beginning; "+
				"give each job its own dataType, or add all rows with --append", t.file.Name(), continues[0], starts[0])}
		}
		o.log.Info(fmt.Sprintf("%s: rows are added, since job %s continues from the values of an earlier run",
			t.file.Name(), strings.Join(continues, " and ")), "event", "append", "file", t.file.Name())
	}
	return nil
}

// beginAppend prepares a file that rows are added to. It warns of one that does not end
// with a newline: its last line may have been cut off.
func (o *output) beginAppend(t *target) error {
	if t.file == nil || !t.adds {
		return nil
	}
	open, err := t.items.Append()
	if open {
		o.log.Warn(fmt.Sprintf("the last line of %s has no end; a newline is added", t.file.Name()), "event", "open_line", "file", t.file.Name())
	}
	return err
}

// carries reports whether values are carried over from run to run.
func (o *output) carries() bool { return o.app.flags.kept != "" || o.state.path != "" }

// endJob notes that a job has ended, and publishes the rows of its targets.
func (o *output) endJob(e ending) error {
	for _, t := range o.byJob[e.job] {
		if err := o.endTarget(t, e); err != nil {
			return err
		}
	}
	return nil
}

// endTarget notes that a job of a target has ended, and publishes its rows when those of
// all its jobs are complete.
func (o *output) endTarget(t *target, e ending) error {
	if t.known[e.job] || e.outcome == rules.Failed || e.outcome == "" || o.app.failing(e.outcome, e.findings) != nil {
		return nil
	}
	if t.file != nil && t.file.Published() {
		return nil
	}
	t.end(e)
	switch {
	case t.file == nil && t.stream.Waits():
		return nil // endStreams publishes it
	case t.file == nil && o.queues[t] == nil:
		return o.publish(t, []ending{e})
	case len(t.ended) < len(t.jobs) || o.queues[t] != nil && !o.queues[t].empty():
		return nil
	case o.repeats(t):
		return o.withhold(t)
	}
	return o.publish(t, t.ended)
}

// endStreams completes standard output and other streams, and saves the values of jobs
// whose items waited for that: their rows have all been written now, also if another of
// these jobs has failed.
func (o *output) endStreams() error {
	queues := o.queues
	o.queues = nil
	for _, t := range o.targets {
		if t.stream == nil {
			continue
		}
		waited := t.stream.Waits() || queues[t] != nil && len(t.ended) < len(t.jobs)
		if t.stream.Waits() {
			if err := t.stream.Close(); err != nil {
				return outputError(err)
			}
		}
		if waited {
			if err := o.publish(t, t.ended); err != nil {
				return err
			}
		}
	}
	return nil
}

// settle ends the compression of streams, and completes the rows of files that do not
// appear.
func (o *output) settle() error {
	var all error
	for _, t := range o.targets {
		if t.stream != nil {
			all = errors.Join(all, t.stream.Close())
		} else {
			all = errors.Join(all, t.items.Settle())
		}
	}
	return outputError(all)
}

// end notes that a job has ended.
func (t *target) end(e ending) {
	if t.known == nil {
		t.known = map[string]bool{}
	}
	t.ended, t.known[e.job] = append(t.ended, e), true
}

// publish makes the rows of a target appear under their name, together with the values
// that the jobs keep.
func (o *output) publish(t *target, ended []ending) error {
	kept := map[string]json.RawMessage{}
	for _, e := range ended {
		if e.kept == nil || !o.isLast(t, e.job) {
			continue
		}
		text, err := json.Marshal(e.kept)
		if err != nil {
			return err
		}
		kept[e.job] = text
	}
	if t.items != nil {
		return outputError(t.items.Publish(kept, o.app.keptPath))
	}
	if len(kept) == 0 {
		return nil
	}
	maps.Copy(o.kept, kept)
	if err := t.stream.State(o.kept); err != nil || !o.carries() {
		return outputError(err)
	}
	return outputError(o.state.Publish(nil, checkpoint.Commitment{Kept: kept, KeptFile: o.app.keptPath}))
}

// isLast reports whether all other targets of a job are complete: the values for the next
// run are saved with the last one, so that no rows are left behind.
func (o *output) isLast(t *target, job string) bool {
	return !slices.ContainsFunc(o.byJob[job], func(other *target) bool {
		return other != t && (other.file != nil && !other.file.Published() || other.file == nil && !other.known[job])
	})
}

// repeats reports whether the next run will request the rows of a target again,
// because a list that continued from kept values is incomplete. The values have not
// moved on, so rows that are added now would be added twice.
func (o *output) repeats(t *target) bool {
	return t.file != nil && t.adds && o.carries() && slices.ContainsFunc(t.ended, func(e ending) bool {
		return e.repeats && len(o.engine.Keepers(e.job)) > 0
	})
}

func (o *output) withhold(t *target) error {
	o.log.Warn(fmt.Sprintf("%s is unchanged: a list that continues from kept values is incomplete, so the next run requests its rows again; "+
		"those of this run are in %s (raise the limit that ended it or, if any page says where to go on, use a stop rule with outcome complete)",
		t.file.Name(), t.file.Path()), "event", "withheld", "file", t.file.Name(), "partial", t.file.Path())
	return o.state.Release(t.file)
}

// outputReport says in the result what became of a file of items.
type outputReport struct {
	File     string   `json:"file"`
	Jobs     []string `json:"jobs"`
	Rows     int64    `json:"rows"`              // of this run and of those that it resumed
	Complete bool     `json:"complete"`          // the rows are in the file
	Partial  string   `json:"partial,omitempty"` // the file that has the rows until they are complete

	late int // columns that the header of the partial file does not have
}

// reports returns what became of the files of items.
func (o *output) reports() []outputReport {
	var all []outputReport
	for _, t := range o.targets {
		if t.file == nil {
			continue
		}
		r := outputReport{File: t.file.Name(), Jobs: t.jobs, Rows: t.file.Lines(), Complete: t.file.Published()}
		if !r.Complete && t.file.Created() {
			r.Partial, r.late = t.file.Path(), t.items.LateColumns()
		}
		all = append(all, r)
	}
	return all
}

// logPartial names the files whose rows are not complete.
func (o *output) logPartial() {
	for _, r := range o.reports() {
		if r.Complete {
			continue
		}
		before := "is unchanged"
		if _, err := os.Stat(r.File); os.IsNotExist(err) {
			before = "does not exist"
		}
		message := fmt.Sprintf("%s %s: %s", r.File, before, o.state.none())
		if r.Partial != "" {
			message = fmt.Sprintf("%s %s: the list is incomplete, and what was obtained (%s) is in %s",
				r.File, before, value.Counted(int(r.Rows), "row"), filepath.Base(r.Partial))
		}
		if r.late > 0 {
			message += fmt.Sprintf("; its header does not have %s that appeared late", value.Counted(r.late, "column"))
		}
		o.log.Warn(message, "event", "partial", "file", r.File, "partial", r.Partial, "rows", r.Rows)
	}
}

// writeResult writes the result of the run and what became of its files.
func (a *app) writeResult(o *output, result *engine.Result) error {
	if a.flags.result == "" {
		return nil
	}
	text, err := json.MarshalIndent(struct {
		*engine.Result
		Outputs []outputReport `json:"outputs,omitempty"`
	}{result, o.reports()}, "", "  ")
	if err != nil {
		return err
	}
	safe := []byte(printable.JSON(string(text)) + "\n")
	if a.flags.result == "-" {
		_, err = a.guard(a.stdout).Write(safe)
		return outputError(err)
	}
	return outputError(a.waits.during(func() error { return os.WriteFile(a.flags.result, safe, 0o666) }))
}
