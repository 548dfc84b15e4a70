package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"syscall"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/contract"
	"github.com/stopwhen/stopwhen/engine/files"
	"github.com/stopwhen/stopwhen/engine/output"
	"github.com/stopwhen/stopwhen/rules/printable"
	"github.com/stopwhen/stopwhen/rules/wording"
	"github.com/stopwhen/stopwhen/runtime/failure"
)

// openOutput opens the outputs. The engine of the publisher continues from the values of
// earlier runs and, with --state, after the last page that was saved.
func (x *extraction) openOutput(l *loaded, state *runState) (*output.Publisher, error) {
	kept, err := x.continueFrom(l, state)
	if err != nil {
		return nil, err
	}
	o := output.PublisherOptions{
		ContractFile: x.contractPath(), ContractMode: contract.Mode(x.contractMode),
		Options: x.items, Append: x.appendRows, Merge: x.merge, Kept: kept, KeptFile: x.keptPath, Order: x.order(l), Received: l.from != nil,
		CommitEveryPage: x.release || x.pagesAhead() == 0, Guard: x.guard, Log: state.log,
	}
	if x.fixture == "" { // the address of a case changes from run to run
		o.Fingerprint = l.Fingerprint()
	}
	switch {
	case x.writesFiles():
		o.Dir = x.out
		if err := x.lockItems(l, state); err != nil {
			return nil, err
		}
	case x.writesNowhere():
	case toStdout(x.out):
		o.Stream = x.guard(x.stdout)
	default:
		o.StreamFile = x.out
	}
	if x.trace == "-" {
		o.Trace = x.guard(x.stdout)
	} else if o.TraceFile, err = linked(x.trace); err != nil {
		return nil, err
	}
	if x.record != "-" && !files.IsStream(x.record) {
		if o.RecordFile, err = linked(x.record); err != nil {
			return nil, err
		}
	}
	return output.Open(l.Engine, state.store, o)
}

// order returns how the pages of several jobs follow each other.
func (x *extraction) order(l *loaded) output.Order {
	switch {
	case l.from != nil:
		return output.AnyOrder
	case x.parallel > 1:
		return output.Queued
	}
	return output.Sequential
}

// warnOfShared warns if the run begins a file without the items of jobs that --job leaves out.
func (x *extraction) warnOfShared(l *loaded, logger *slog.Logger) {
	if !x.writesFiles() {
		return
	}
	for _, f := range output.Destinations(l.Engine, x.out, x.items.Format) {
		if f.LeftOut != nil && !files.IsStream(f.Path) && !files.Exists(f.Path) {
			logger.Warn(fmt.Sprintf("%s will have no items of job %s, which --job leaves out", f.Path, strings.Join(f.LeftOut, ", ")),
				"event", "left_out", "file", f.Path)
		}
	}
}

// logRepeated names the files of a run that has failed after rows were added to them, for a reason that does not
// concern the rows.
func logRepeated(log *slog.Logger, reports []output.FileReport) {
	for _, f := range reports {
		if f.Repeated {
			log.Warn(fmt.Sprintf("%s has the rows of this run (%s added), although the run has failed: do not repeat it, or they are there twice "+
				"(with --state, a repeated run adds no row again)", f.File, wording.Counted(int(f.Rows), "row")),
				"event", "repeated", "file", f.File, "rows", f.Rows)
		}
	}
}

// writeResult writes the result of the run with the report of its files.
func (x *extraction) writeResult(reports []output.FileReport, result *engine.Result) error {
	if x.result == "" {
		return nil
	}
	shown := *result
	shown.Jobs = slices.Clone(result.Jobs)
	for i, job := range shown.Jobs {
		if job.Error != nil {
			failed := *job.Error
			failed.Hint = x.words(failed.Hint, failed.Remedy)
			shown.Jobs[i].Error = &failed
		}
	}
	text, err := json.MarshalIndent(struct {
		*engine.Result
		Outputs []output.FileReport `json:"outputs,omitempty"`
	}{&shown, reports}, "", "  ")
	if err != nil {
		return err
	}
	if err = x.writeFile(x.result, printable.JSON(string(text))+"\n"); err == nil {
		return nil
	}
	return &engine.Error{Class: failure.IO, Message: fmt.Sprintf("cannot write the result, --result %s: %v", x.result, err), Err: err}
}

// printError gives an error of writing to standard output its class, and says that a closed pipe leaves the output incomplete.
func printError(err error) error {
	if errors.Is(err, syscall.EPIPE) && !errors.As(err, new(*engine.Error)) {
		return &engine.Error{Class: failure.IO, Message: "output pipe closed; the output is incomplete", Err: err}
	}
	return files.WriteError(err)
}
