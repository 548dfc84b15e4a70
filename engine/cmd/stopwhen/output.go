package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/checkpoint"
	formats "github.com/stopwhen/stopwhen/engine/output"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/printable"
	"github.com/stopwhen/stopwhen/runtime/failure"
)

// output writes the pages of a run: items to standard output or files, and the
// trace. It writes each page before the next one arrives.
type output struct {
	app     *app
	engine  *engine.Engine
	log     *slog.Logger
	state   *checkpointer
	targets []*target
	byJob   map[string][]*target       // several if the items of a job have several types
	queues  map[*target]*queue         // of targets that concurrent jobs share
	kept    map[string]json.RawMessage // by job: values for the next run, for a STATE message
	spool   spool                      // items that wait in the queues
	locks   int                        // files of items that are locked
	trace   io.Writer                  // nil: none
	skips   map[string][]engine.Record // by root: pages on which partitions failed, for the trace
	unsaid  error                      // some of them could not be written
	close   []func() error
}

// openItems finds the targets of the items, and completes what an earlier run began
// to publish.
func (o *output) openItems() error {
	switch {
	case o.app.writesFiles():
		return o.openDir(o.app.flags.out)
	case o.app.discardsItems():
		return o.addStream(formats.Options{}, io.Discard, formats.Place{Jobs: o.engine.Jobs()})
	}
	return o.addStream(o.app.items, o.app.guard(o.app.stdout), formats.Place{Jobs: o.engine.Jobs()})
}

// addStream adds a stream for the items of a place.
func (o *output) addStream(format formats.Options, w io.Writer, f formats.Place) error {
	stream, err := format.NewStream(w, o.engine)
	o.targets = append(o.targets, &target{stream: stream, dataType: f.DataType, jobs: f.Jobs})
	return err
}

// openDir opens one file per data type in a directory.
func (o *output) openDir(path string) error {
	if err := os.MkdirAll(path, 0o777); err != nil {
		return outputError(err)
	}
	if err := probe(filepath.Join(path, ".stopwhen.new")); err != nil {
		return err
	}
	for _, f := range formats.Places(o.engine, path, o.app.items.Format) {
		if err := o.openFile(f); err != nil {
			return err
		}
	}
	return nil
}

// openFile opens the file of a data type. A pipe or a device gets the items at once;
// the rows of a file appear when they are complete.
func (o *output) openFile(f formats.Place) error {
	if isStream(f.Path) {
		stream, err := os.OpenFile(f.Path, os.O_WRONLY, 0)
		if err != nil {
			return outputError(err)
		}
		o.state.interval = 0
		o.close = append(o.close, stream.Close)
		return o.addStream(o.app.items, o.app.guard(stream), f)
	}
	if err := o.lockRows(f.Path); err != nil {
		return err
	}
	repaired, err := checkpoint.Repair(f.Path)
	if err != nil {
		return err
	}
	if repaired {
		o.log.Info(fmt.Sprintf("%s: completed the commit that an earlier run had begun", f.Path), "event", "repaired", "file", f.Path)
	}
	file, err := o.app.items.OpenFile(o.state.Store, f.Path, f.DataType)
	if err != nil {
		return err
	}
	o.targets = append(o.targets, &target{items: file, file: file.Rows(), dataType: f.DataType, jobs: f.Jobs})
	return nil
}

// checkShared refuses to replace a file that also holds the items of jobs which --job
// leaves out.
func (a *app) checkShared(f formats.Place) error {
	if f.LeftOut == nil || a.flags.appendRows || isStream(f.Path) {
		return nil
	}
	if _, err := os.Stat(f.Path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return &usageError{fmt.Sprintf("--job: %s may hold items of job %s, which is left out, and would be replaced; "+
		"use another --out, or add to it with --append", f.Path, strings.Join(f.LeftOut, ", "))}
}

// openTrace opens the trace. With a state, it is resumed like the items.
func (o *output) openTrace() error {
	path := o.app.flags.trace
	switch {
	case path == "":
		return nil
	case path == "-":
		o.trace = o.app.guard(o.app.stdout)
		return nil
	case isStream(path):
		file, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return outputError(err)
		}
		o.trace, o.close = o.app.guard(file), append(o.close, file.Close)
		return nil
	}
	file, err := o.state.Output(filepath.Clean(path))
	if err != nil {
		return err
	}
	o.trace, o.state.trace = file, file
	return nil
}

// page writes one page.
func (o *output) page(_ context.Context, page *engine.Page) error {
	targets := o.byJob[page.Job]
	if err := o.state.beginPage(page.Root, targets); err != nil {
		return err
	}
	for _, t := range targets {
		if err := o.writeItems(t, page); err != nil {
			return outputError(err)
		}
	}
	if err := errors.Join(o.traceSkips(page.Root), o.writeTrace(&page.Record)); err != nil {
		return outputError(err)
	}
	if err := o.state.endPage(page); err != nil || !page.Final || o.engine.Partitioned(page.Root) {
		return err
	}
	return o.endJob(ending{page.Job, page.Outcome, page.Findings, page.Kept, page.Outcome != rules.Complete})
}

// writeItems writes the items of a page that belong to a target.
func (o *output) writeItems(t *target, page *engine.Page) error {
	if q := o.queues[t]; q != nil {
		return q.page(page)
	}
	for _, list := range t.lists(page) {
		if _, err := list.Items.WriteTo(t.writer(list.DataType)); err != nil {
			return err
		}
	}
	if t.stream != nil {
		return t.stream.Flush()
	}
	return nil
}

func (o *output) writeTrace(record *engine.Record) error {
	if o.trace == nil {
		return nil
	}
	var line bytes.Buffer
	enc := json.NewEncoder(&line)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(record); err != nil {
		return err
	}
	_, err := io.WriteString(o.trace, printable.JSON(line.String()))
	return err
}

// maxSkips is how many skipped pages of a tree wait for its next page.
const maxSkips = 1000

// skipped notes the page on which a partition failed that was skipped. It is written with
// the next page of the tree, and so is part of the same commit.
func (o *output) skipped(page *engine.Page) {
	if o.trace == nil {
		return
	}
	if o.skips == nil {
		o.skips = map[string][]engine.Record{}
	}
	o.skips[page.Root] = append(o.skips[page.Root], page.Record)
	if len(o.skips[page.Root]) >= maxSkips {
		o.unsaid = errors.Join(o.unsaid, o.traceSkips(page.Root))
	}
}

// traceSkips adds the skipped pages of a tree to the trace.
func (o *output) traceSkips(root string) error {
	if o.unsaid != nil {
		return o.unsaid
	}
	skips := o.skips[root]
	delete(o.skips, root)
	for i := range skips {
		if err := o.writeTrace(&skips[i]); err != nil {
			return err
		}
	}
	return nil
}

// traceFailures adds the pages on which jobs failed, and which the sink did not receive,
// to the trace.
func (o *output) traceFailures(result *engine.Result) error {
	for _, root := range slices.Sorted(maps.Keys(o.skips)) {
		if err := o.traceSkips(root); err != nil {
			return err
		}
	}
	for _, job := range result.Jobs {
		if page := job.FailedPage(); page != nil {
			if err := o.writeTrace(page); err != nil {
				return err
			}
		}
	}
	return nil
}

// end writes the rest of the run: queued items, what waits for the end of a stream, what
// jobs have completed that ended in an earlier run, and the trace of failures, which is not part of a commit.
func (o *output) end(result *engine.Result) error {
	for _, q := range o.queues {
		if err := q.end(); err != nil {
			return outputError(err)
		}
	}
	if err := o.endStreams(); err != nil {
		return err
	}
	if err := o.endJobs(result); err != nil {
		return err
	}
	if err := o.state.Flush(); err != nil {
		return err
	}
	return outputError(o.traceFailures(result))
}

// endJobs ends the jobs. Those of a tree end together, parents last, or not at all: the
// values that a parent keeps are about the items of the jobs below it, too.
func (o *output) endJobs(result *engine.Result) error {
	failed := func(job engine.JobResult) bool {
		return job.Outcome == rules.Failed || job.Outcome == "" || o.app.failing(job.Outcome, job.Findings) != nil
	}
	for _, tree := range result.Trees() {
		if slices.ContainsFunc(tree, failed) {
			continue
		}
		for _, job := range tree {
			if err := o.endJob(ending{job.Job, job.Outcome, job.Findings, job.Kept, job.Repeats}); err != nil {
				return err
			}
		}
	}
	return nil
}

// Close closes the files and returns the first error.
func (o *output) Close() error {
	var first error
	for _, closeFile := range append(o.close, o.state.Store.Close) {
		if err := closeFile(); err != nil && first == nil {
			first = err
		}
	}
	return outputError(first)
}

// printError is [outputError] for commands that extract nothing.
func printError(err error) error {
	if errors.Is(err, syscall.EPIPE) && !errors.As(err, new(*engine.Error)) {
		return &engine.Error{Class: failure.IO, Message: "output pipe closed; the output is incomplete", Err: err}
	}
	return outputError(err)
}

// outputError gives an error of writing its class.
func outputError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.As(err, new(*engine.Error)):
		return err
	case errors.Is(err, syscall.EPIPE):
		return &engine.Error{Class: failure.IO, Message: "output pipe closed; the extraction is incomplete", Err: err}
	}
	return &engine.Error{Class: failure.IO, Message: fmt.Sprintf("cannot write: %v", err), Err: err}
}
