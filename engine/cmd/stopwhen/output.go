package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/stopwhen/stopwhen/engine"
	formats "github.com/stopwhen/stopwhen/engine/output"
	"github.com/stopwhen/stopwhen/rules/printable"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime/failure"
)

// openOutput opens the outputs and prepares the engine: it continues from the values of
// earlier runs and, with --state, after the last page that was saved.
func (a *extraction) openOutput(l *loaded, state *state) (*formats.Publisher, error) {
	kept, err := a.continueFrom(l, state)
	if err != nil {
		return nil, err
	}
	o := formats.PublisherOptions{
		Options: a.items, Append: a.appendRows, Kept: kept, KeptFile: a.keptPath, Order: a.order(l), Received: l.pages != nil,
		EveryPage: a.release, Guard: a.guard, Log: state.log,
		Reject: func(job engine.JobResult) bool { return a.failing(job.Outcome, job.Findings) != nil },
	}
	switch {
	case a.writesFiles():
		o.Dir = a.out
		if err := a.lockItems(l, state); err != nil {
			return nil, err
		}
	case !a.discardsItems():
		o.Stream = a.guard(a.stdout)
	}
	if a.trace == "-" {
		o.Trace = a.guard(a.stdout)
	} else {
		o.TraceFile = a.trace
	}
	p, err := formats.Open(l.Engine, state.Store, o)
	if err != nil {
		return nil, err
	}
	l.Engine, l.skipped = p.Engine(), p.Skipped
	state.logResume(l)
	return p, nil
}

// order returns how the pages of several jobs follow each other.
func (a *extraction) order(l *loaded) formats.Order {
	switch {
	case l.pages != nil:
		return formats.AnyOrder
	case a.parallel > 1:
		return formats.Queued
	case a.keepGoing:
		return formats.AnyOrder
	}
	return formats.Sequential
}

// checkShared refuses to replace a file that also holds the items of jobs which --job
// leaves out.
func (a *extraction) checkShared(f formats.Place) error {
	if f.LeftOut == nil || a.appendRows || formats.IsStream(f.Path) {
		return nil
	}
	if _, err := os.Stat(f.Path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return &usageError{fmt.Sprintf("--job: %s may hold items of job %s, which is left out, and would be replaced; "+
		"use another --out, or add to it with --append", f.Path, strings.Join(f.LeftOut, ", "))}
}

// logPartial names the files whose rows are not complete.
func logPartial(log *slog.Logger, files []formats.FileReport, collects bool) {
	for _, f := range files {
		if f.Complete {
			continue
		}
		before, none := "is unchanged", "this run has no page for it"
		if isMissing(f.File) {
			before = "does not exist"
		}
		if collects {
			none = "no page for it has been collected"
		}
		message := fmt.Sprintf("%s %s: %s", f.File, before, none)
		if f.Partial != "" {
			message = fmt.Sprintf("%s %s: the list is incomplete, and what was obtained (%s) is in %s",
				f.File, before, value.Counted(int(f.Rows), "row"), filepath.Base(f.Partial))
		}
		if f.LateColumns > 0 {
			message += fmt.Sprintf("; its header does not have %s that appeared late", value.Counted(f.LateColumns, "column"))
		}
		log.Warn(message, "event", "partial", "file", f.File, "partial", f.Partial, "rows", f.Rows)
	}
}

// writeResult writes the result of the run and what became of its files.
func (a *extraction) writeResult(files []formats.FileReport, result *engine.Result) error {
	if a.result == "" {
		return nil
	}
	text, err := json.MarshalIndent(struct {
		*engine.Result
		Outputs []formats.FileReport `json:"outputs,omitempty"`
	}{result, files}, "", "  ")
	if err != nil {
		return err
	}
	safe := []byte(printable.JSON(string(text)) + "\n")
	if a.result == "-" {
		_, err = a.guard(a.stdout).Write(safe)
		return outputError(err)
	}
	return outputError(a.waits.during(func() error { return os.WriteFile(a.result, safe, 0o666) }))
}

// printError is [outputError] for commands that extract nothing.
func printError(err error) error {
	if errors.Is(err, syscall.EPIPE) && !errors.As(err, new(*engine.Error)) {
		return &engine.Error{Class: failure.IO, Message: "output pipe closed; the output is incomplete", Err: err}
	}
	return outputError(err)
}

// outputError gives an error of writing its class.
func outputError(err error) error { return formats.WriteError(err) }
