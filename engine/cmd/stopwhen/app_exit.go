package main

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/lists"
	"github.com/stopwhen/stopwhen/rules/printable"
	"github.com/stopwhen/stopwhen/rules/wording"
	"github.com/stopwhen/stopwhen/runtime/failure"
)

// Exit statuses that the code names.
var (
	exitInternal = failure.Internal.ExitStatus()
	exitUsage    = failure.Config.ExitStatus()
	exitFailOn   = failure.Suspect.ExitStatus() // an error of --fail-on has no class
)

// exitTest is the exit status of a failed test of a configuration, which no class has.
const exitTest = 10

// A usageError is a mistake in the command line.
type usageError struct{ message string }

func (e *usageError) Error() string { return e.message }

// An interruptedError is the error of a run that a signal ended.
type interruptedError struct {
	status  int    // 130 for SIGINT, 143 for SIGTERM, 129 for SIGHUP
	remains string // effects of the command that remain; may be empty
	err     error
}

func (e *interruptedError) Error() string {
	if failed, ok := errors.AsType[*engine.Error](e.err); ok && failed.Op == opConnect {
		return failed.Message // nothing was done
	}
	if e.remains == "" {
		return "interrupted"
	}
	return "interrupted; " + e.remains
}

func (e *interruptedError) Unwrap() error { return e.err }

// A verdictError is the error of a command that succeeded but whose result has its own exit
// status, because of --fail-on or failed tests.
type verdictError struct {
	status  int
	message string
}

func (e *verdictError) Error() string { return e.message }

// failedOn returns the error for jobs with outcomes of --fail-on.
func failedOn(outcomes, jobs []string) error {
	return &verdictError{exitFailOn,
		fmt.Sprintf("status %d (--fail-on %s): %s", exitFailOn, strings.Join(outcomes, ","), strings.Join(jobs, ", "))}
}

// exitStatus returns the exit status for the error of a command.
func exitStatus(err error) int {
	if err == nil {
		return 0
	}
	if signal, ok := errors.AsType[*interruptedError](err); ok {
		return signal.status
	}
	if verdict, ok := errors.AsType[*verdictError](err); ok {
		return verdict.status
	}
	return classOf(err).ExitStatus()
}

// classOf returns the class of an error, or no class for errors of --fail-on and of tests.
func classOf(err error) failure.Class {
	switch failed, isFailure := errors.AsType[*engine.Error](err); {
	case errors.As(err, new(*interruptedError)):
		return failure.Cancelled
	case errors.As(err, new(*verdictError)):
		return ""
	case errors.As(err, new(diag.Diagnostics)), errors.As(err, new(*usageError)):
		return failure.Config
	case isFailure && slices.Contains(failure.Classes(), failed.Class):
		return failed.Class
	}
	return failure.Internal
}

// report writes the error of a command to standard error: as text or, with
// --log-format json, as one event per line like the rest of the log.
func (a *app) report(err error) {
	if err == nil {
		return
	}
	w := a.redactor.Writer(a.guard(a.stderr))
	defer w.Close()
	if a.logFormat == formatJSON {
		a.reportEvents(slog.New(slog.NewJSONHandler(printable.Writer(w, printable.JSON), nil)), err)
		return
	}
	if mistakes, ok := errors.AsType[diag.Diagnostics](err); ok {
		fmt.Fprintln(w, a.printed(mistakes))
		err = configError(mistakes)
	}
	var texts []string
	for _, cause := range joined(err) {
		texts = lists.AppendNew(texts, a.textOf(cause)) // a file that cannot be written may fail twice
	}
	for _, text := range texts {
		fmt.Fprintf(w, "stopwhen: %s\n", text)
	}
}

// joined returns the errors that an error joins, or the error itself.
func joined(err error) []error {
	several, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	var errs []error
	for _, cause := range several.Unwrap() {
		errs = append(errs, joined(cause)...)
	}
	return errs
}

func (a *app) reportEvents(log *slog.Logger, err error) {
	if mistakes, ok := errors.AsType[diag.Diagnostics](err); ok {
		for _, m := range a.printed(mistakes) {
			log.Error(m.Message, "event", "config_fault", "path", m.Path, "place", m.Location(), "hint", m.Hint)
		}
		err = configError(mistakes)
	}
	attrs := []any{"event", "run_error", "status", exitStatus(err)}
	if class := classOf(err); class != "" {
		attrs = append(attrs, "class", class)
	}
	log.Error(a.messageOf(err), attrs...)
}

// configError summarizes the errors of a configuration.
func configError(mistakes diag.Diagnostics) error {
	return &usageError{wording.Counted(len(mistakes), "error") + "; no request was made"}
}
