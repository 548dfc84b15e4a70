package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// catchSignals returns a context that SIGINT or SIGTERM cancels. A second signal
// ends the process immediately. SIGPIPE is ignored, so that a closed pipe is an
// error of writing.
func (a *app) catchSignals() (context.Context, func()) {
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
			go a.exitIfBlocked(status)
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

// guardedWriter knows for how long a write has been waiting: to a pipe that
// nobody reads, a write does not return.
type guardedWriter struct {
	io.Writer
	since *atomic.Int64 // when the write began, in nanoseconds; 0: none
}

// guardedWriters are the writers that [app.exitIfBlocked] looks at.
type guardedWriters struct {
	mu      sync.Mutex
	writers []*guardedWriter
}

// blocked reports whether a write does not return.
func (g *guardedWriters) blocked() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.ContainsFunc(g.writers, func(w *guardedWriter) bool {
		since := w.since.Load()
		return since != 0 && time.Since(time.Unix(0, since)) >= blockedTime
	})
}

// guard returns a writer whose writes are known to [app.exitIfBlocked].
func (a *app) guard(w io.Writer) io.Writer {
	g := &guardedWriter{w, &atomic.Int64{}}
	a.guarded.mu.Lock()
	defer a.guarded.mu.Unlock()
	a.guarded.writers = append(a.guarded.writers, g)
	return g
}

func (g *guardedWriter) Write(p []byte) (int, error) {
	g.since.Store(time.Now().UnixNano())
	defer g.since.Store(0)
	return g.Writer.Write(p)
}

// blockedTime is how long a write may wait after a signal. A signal ends a run within a
// second.
const blockedTime = 400 * time.Millisecond

// exitIfBlocked is called after a signal. It ends the process when a write does not
// return. What was committed remains, as after a kill.
func (a *app) exitIfBlocked(status int) {
	for !a.guarded.blocked() {
		time.Sleep(blockedTime / 8)
	}
	told := make(chan bool)
	go func() {
		fmt.Fprintln(a.stderr, "stopwhen: interrupted; nobody reads the output, so its last page is incomplete")
		close(told)
	}()
	select {
	case <-told:
	case <-time.After(blockedTime / 4): // standard error is blocked, too
	}
	os.Exit(status)
}
