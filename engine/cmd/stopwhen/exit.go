package main

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/value"
)

// The exit statuses that no class of error has.
const (
	exitInternal = 1
	exitUsage    = 2
	exitFailOn   = 9
	exitTest     = 10
)

// exitStatuses is the table from the class of an error to the exit status.
var exitStatuses = engine.ExitStatuses

// usageError is a fault in the command line.
type usageError struct{ message string }

func (e *usageError) Error() string { return e.message }

// interrupted is a run that a signal ended.
type interrupted struct {
	status int // 130 for SIGINT, 143 for SIGTERM
	err    error
}

func (e *interrupted) Error() string { return "interrupted; what was obtained is kept" }

func (e *interrupted) Unwrap() error { return e.err }

// failedOn is a run that ended by rule, but with an outcome of --fail-on.
type failedOn struct{ jobs []string }

func (e *failedOn) Error() string {
	return fmt.Sprintf("ended by rule, but not complete (--fail-on): %s", strings.Join(e.jobs, ", "))
}

// testFailed says that tests of the configuration failed.
type testFailed struct{ message string }

func (e *testFailed) Error() string { return e.message }

// exitStatus is the status for what a command returned.
func exitStatus(err error) int {
	var signalled *interrupted
	var run *engine.Error
	switch {
	case err == nil:
		return 0
	case errors.As(err, &signalled):
		return signalled.status
	case errors.As(err, new(*failedOn)):
		return exitFailOn
	case errors.As(err, new(*testFailed)):
		return exitTest
	case errors.As(err, new(diag.Diagnostics)), errors.As(err, new(*usageError)):
		return exitUsage
	case errors.As(err, &run):
		if status, known := exitStatuses[run.Class]; known {
			return status
		}
	}
	return exitInternal
}

// report writes why the command failed: for a person, or with --log-format json
// as one event a line, like the rest of the log.
func (a *app) report(err error) {
	if err == nil {
		return
	}
	w := a.redactor.Writer(a.stderr)
	defer w.Close()
	if a.flags.logFormat == "json" {
		reportEvents(slog.New(slog.NewJSONHandler(w, nil)), err)
		return
	}
	var faults diag.Diagnostics
	if errors.As(err, &faults) {
		fmt.Fprintln(w, faults)
		err = nothingRequested(faults)
	}
	fmt.Fprintf(w, "stopwhen: %v\n", err)
}

func reportEvents(log *slog.Logger, err error) {
	var faults diag.Diagnostics
	if errors.As(err, &faults) {
		for _, f := range faults {
			log.Error(f.Message, "event", "config_fault", "path", f.Path, "place", f.Location(), "hint", f.Hint)
		}
		err = nothingRequested(faults)
	}
	status := exitStatus(err)
	attrs := []any{"event", "run_error", "status", status}
	for class, s := range exitStatuses {
		if s == status {
			attrs = append(attrs, "class", class)
		}
	}
	log.Error(err.Error(), attrs...)
}

// nothingRequested is the last line about a configuration with faults.
func nothingRequested(faults diag.Diagnostics) error {
	return &usageError{value.Counted(len(faults), "fault") + "; nothing was requested"}
}
