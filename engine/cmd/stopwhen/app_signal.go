package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// catchSignals returns a context that SIGINT, SIGTERM or SIGHUP cancels. A second signal
// ends the process immediately, except for a repetition (see [eachSignal]). A SIGHUP that is
// ignored, as by nohup, stays ignored. SIGPIPE is ignored, so that a closed pipe is an error of
// writing.
func (a *app) catchSignals() (context.Context, func()) {
	signal.Ignore(syscall.SIGPIPE)
	remains := a.remains
	ctx, cancel := context.WithCancelCause(context.Background())
	abandoned := make(chan struct{})
	a.abandoned = abandoned
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(signals, syscall.SIGHUP)
	}
	go eachSignal(signals, func(s os.Signal, first bool) {
		status := 128 + int(s.(syscall.Signal))
		if !first {
			os.Exit(status)
		}
		cancel(&interruptedError{status: status, remains: remains})
		go a.endSoon(status, remains, abandoned)
	})
	return ctx, sync.OnceFunc(func() { signal.Stop(signals); close(signals); cancel(nil) })
}

// logged opens the log and catches signals while f runs.
func (a *app) logged(f func(ctx context.Context, logger *slog.Logger) error) error {
	logger, closeLog, err := a.openLog(nil, slog.LevelInfo)
	if err != nil {
		return err
	}
	defer closeLog()
	ctx, stop := a.catchSignals()
	defer stop()
	return f(ctx, logger)
}

// repeatTime is how long the same signal counts as a repetition. GNU timeout sends SIGTERM to
// the process and at once to its group.
const repeatTime = time.Second

// eachSignal calls f for each signal, until the channel is closed. It ignores repetitions of
// the first signal within repeatTime.
func eachSignal(signals <-chan os.Signal, f func(s os.Signal, first bool)) {
	s, open := <-signals
	if !open {
		return
	}
	first, received := s, time.Now()
	f(first, true)
	for s := range signals {
		if s != first || time.Since(received) >= repeatTime {
			f(s, false)
		}
	}
}

// signalError wraps an error that a signal caused; it returns others unchanged.
func signalError(ctx context.Context, err error) error {
	if cause, ok := errors.AsType[*interruptedError](context.Cause(ctx)); ok && err != nil {
		return &interruptedError{status: cause.status, remains: cause.remains, err: err}
	}
	return err
}

// interrupted returns the error of a command that a signal ended, or nil if no signal has arrived.
func interrupted(ctx context.Context) error { return signalError(ctx, context.Cause(ctx)) }

// waits records the calls that may block: a write to a pipe that nobody reads does not return,
// and neither does opening a named pipe. The zero value is ready to use.
type waits struct {
	began sync.Map // the keys are *time.Time: when each call began
}

// during makes a call that may block.
func (w *waits) during(call func() error) error {
	began := new(time.Now())
	w.began.Store(began, nil)
	defer w.began.Delete(began)
	return call()
}

// blocked reports whether a call has been blocked for at least d.
func (w *waits) blocked(d time.Duration) (blocked bool) {
	for began := range w.began.Range {
		blocked = blocked || time.Since(*began.(*time.Time)) >= d
	}
	return blocked
}

// guard returns a writer that records its writes for [app.endSoon].
func (a *app) guard(w io.Writer) io.Writer { return &guardedWriter{w, &a.waits} }

type guardedWriter struct {
	w     io.Writer
	waits *waits
}

func (g *guardedWriter) Write(p []byte) (n int, err error) {
	err = g.waits.during(func() error { n, err = g.w.Write(p); return err })
	return n, err
}

// A signal ends the command within a second: the run has noticeTime to notice it, and a
// write then has blockedTime to return. Only the exchange of a refresh token has longer:
// its response may have the only token that is still valid.
const (
	noticeTime  = 500 * time.Millisecond
	blockedTime = 300 * time.Millisecond
	renewalTime = 10 * time.Second
)

// endSoon is called after a signal. It abandons a run that does not notice the signal, by closing a channel, so
// that the outputs of the run can be completed, and ends the process if a write does not return.
// Committed pages remain, as after a kill.
func (a *app) endSoon(status int, remains string, abandoned chan<- struct{}) {
	time.Sleep(noticeTime)
	a.awaitRenewal()
	close(abandoned)
	for !a.waits.blocked(blockedTime) {
		time.Sleep(blockedTime / 8)
	}
	missing := "it is incomplete"
	if remains == pagesRemain {
		missing = "its last page is incomplete"
	}
	stopped := make(chan bool)
	go func() {
		fmt.Fprintln(a.stderr, "stopwhen: interrupted; the output is no longer being read, so "+missing)
		close(stopped)
	}()
	select {
	case <-stopped:
	case <-time.After(blockedTime / 4): // standard error is blocked, too
	}
	os.Exit(status)
}

// awaitRenewal waits until no refresh token is being exchanged and stored, for at most
// renewalTime.
func (a *app) awaitRenewal() {
	for end := time.Now().Add(renewalTime); a.renewals.blocked(0) && time.Now().Before(end); {
		time.Sleep(blockedTime / 8)
	}
}
