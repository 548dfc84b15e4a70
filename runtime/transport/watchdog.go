package transport

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/stopwhen/stopwhen/runtime/failure"
)

// The time limits of an exchange. A configured timeout replaces those of the headers and of
// the whole response.
const (
	headerTimeout = time.Minute      // until the response headers arrive
	idleTimeout   = time.Minute      // between two pieces of the body
	pageTimeout   = 10 * time.Minute // for the whole response
)

// A watchdog cancels an exchange that makes no progress: the headers do not
// arrive, the body stops, or the response takes too long.
type watchdog struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	idle   *time.Timer
	page   *time.Timer
}

// newWatchdog returns a watchdog and the context that it cancels. The timeout is that of
// the configuration; 0 is none.
func newWatchdog(parent context.Context, timeout time.Duration) (context.Context, *watchdog) {
	ctx, cancel := context.WithCancelCause(parent)
	w := &watchdog{ctx: ctx, cancel: cancel}
	header, page := stalled("no response within "+headerTimeout.String()), stalled("the response is not complete after "+pageTimeout.String())
	headersIn, pageIn := headerTimeout, pageTimeout
	if timeout > 0 {
		header = stalled(fmt.Sprintf("no complete response within %s (api.http.timeout)", timeout))
		page, headersIn, pageIn = header, timeout, timeout
	}
	w.idle = time.AfterFunc(headersIn, func() { cancel(header) })
	w.page = time.AfterFunc(pageIn, func() { cancel(page) })
	return ctx, w
}

func stalled(message string) error {
	return &failure.Error{Class: failure.Transient, Op: "request", Message: message}
}

// reading reports that the headers have arrived.
func (w *watchdog) reading() {
	w.idle.Stop()
	w.idle = time.AfterFunc(idleTimeout, func() { w.cancel(stalled("no more data of the body within " + idleTimeout.String())) })
}

// progress reports that a piece of the body has arrived.
func (w *watchdog) progress() { w.idle.Reset(idleTimeout) }

// stop ends the watch.
func (w *watchdog) stop() {
	w.idle.Stop()
	w.page.Stop()
	w.cancel(nil)
}

// cause returns why the watchdog cancelled the exchange, or err if it did not.
func (w *watchdog) cause(err error) error {
	if known := (*failure.Error)(nil); errors.As(context.Cause(w.ctx), &known) {
		return known
	}
	return err
}
