package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
)

// catchSignals returns a context that SIGINT or SIGTERM cancels. A second signal
// ends the process immediately. SIGPIPE is ignored, so that a closed pipe is an
// error of writing.
func catchSignals() (context.Context, func()) {
	signal.Ignore(syscall.SIGPIPE)
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	go func() {
		for first := true; ; first = false {
			s, open := <-signals
			if !open {
				return
			}
			status := 128 + int(s.(syscall.Signal))
			if !first {
				os.Exit(status)
			}
			cancel(&interruptedError{status: status})
		}
	}()
	return ctx, func() { signal.Stop(signals); close(signals); cancel(nil) }
}

// signalError wraps an error that a signal caused; it returns others unchanged.
func signalError(ctx context.Context, err error) error {
	if cause := (*interruptedError)(nil); err != nil && errors.As(context.Cause(ctx), &cause) {
		return &interruptedError{status: cause.status, err: err}
	}
	return err
}
