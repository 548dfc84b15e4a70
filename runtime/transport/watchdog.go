package transport

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
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
	ctx     context.Context
	cancel  context.CancelCauseFunc
	timeout time.Duration // that is configured; 0: none is
	end     time.Time     // when the response has to be complete
	next    *time.Timer   // until the exchange is cancelled, unless there is progress
	arrived atomic.Bool   // the headers have arrived
}

// newWatchdog returns a watchdog and the context that it cancels. The timeout is that of
// the configuration; 0 is none.
func newWatchdog(parent context.Context, timeout time.Duration) (context.Context, *watchdog) {
	w := &watchdog{timeout: timeout, end: time.Now().Add(cmp.Or(timeout, pageTimeout))}
	w.ctx, w.cancel = context.WithCancelCause(parent)
	w.next = time.AfterFunc(cmp.Or(timeout, headerTimeout), w.bark)
	return w.ctx, w
}

// progress reports that the headers or a piece of the body have arrived.
func (w *watchdog) progress() {
	w.arrived.Store(true)
	w.next.Reset(min(idleTimeout, time.Until(w.end)))
}

// bark cancels the exchange, and says why.
func (w *watchdog) bark() {
	var message string
	switch late := !time.Now().Before(w.end); {
	case late && w.timeout > 0:
		message = fmt.Sprintf("no complete response within %s (api.http.timeout)", w.timeout)
	case late:
		message = "the response is not complete after " + pageTimeout.String()
	case w.arrived.Load():
		message = "no more data of the body within " + idleTimeout.String()
	default:
		message = "no response within " + headerTimeout.String()
	}
	w.cancel(&failure.Error{Class: failure.Transient, Op: "request", Message: message})
}

// stop ends the watch.
func (w *watchdog) stop() {
	w.next.Stop()
	w.cancel(nil)
}

// cause returns why the watchdog cancelled the exchange, or err if it did not.
func (w *watchdog) cause(err error) error {
	if known := (*failure.Error)(nil); errors.As(context.Cause(w.ctx), &known) {
		return known
	}
	return err
}
