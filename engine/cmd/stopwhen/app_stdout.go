package main

import (
	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/runtime/failure"
)

// checkStdout checks that standard output is open for writing. If it may be closed, a message names the
// data that it loses.
func (a *app) checkStdout(data string) error {
	closed, err := a.stdoutMayBeClosed()
	if closed {
		a.discarded = data
	}
	return err
}

// requireStdout checks that standard output is open for writing, for a run that saves its position. Only such
// a run is refused: its items would be lost, since the next run does not request them again. The check cannot
// be certain. A program that is started with a closed standard output finds /dev/null there, open for reading
// and writing, because the runtime of Go opens it; a shell that redirects to /dev/null opens it for writing
// only. Some programs that start others, such as Python with DEVNULL, open it like the runtime, so the two
// cannot be told apart.
func (a *app) requireStdout() error {
	closed, err := a.stdoutMayBeClosed()
	if closed {
		return stdoutError("standard output is closed, or it is /dev/null, opened for reading and writing")
	}
	return err
}

// stdoutError returns the error for a standard output that cannot be written.
func stdoutError(message string) error {
	return &engine.Error{
		Class: failure.IO, Message: message,
		Hint: "write the items to a directory with --out DIR, or discard them with --out /dev/null",
	}
}
