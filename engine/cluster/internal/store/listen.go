package store

import (
	"context"
	"sync"

	"github.com/nats-io/nats.go"
)

// A listener knows who waits for an answer of the server, and tells them when there will be
// none: the connection has broken, or the server has denied a request about their stream. All
// stores of a connection share it.
type listener struct {
	mu    sync.Mutex
	waits map[*wait]bool
}

// A wait is for an answer about a stream.
type wait struct {
	stream string
	cancel context.CancelCauseFunc
}

var listeners sync.Map // *nats.Conn to *listener

// listen returns the listener of a connection. It is in front of the handlers that the
// connection has.
func listen(nc *nats.Conn) *listener {
	known, found := listeners.LoadOrStore(nc, &listener{waits: map[*wait]bool{}})
	l := known.(*listener)
	if found {
		return l
	}
	failed, broken, closed := nc.ErrorHandler(), nc.DisconnectErrHandler(), nc.ClosedHandler()
	nc.SetErrorHandler(func(nc *nats.Conn, sub *nats.Subscription, err error) {
		denied := denialOf(err)
		awaited := denied != nil && l.end(denied, denied.isAbout)
		if failed != nil && !awaited { // otherwise the request that was denied returns it
			failed(nc, sub, err)
		}
	})
	nc.SetDisconnectErrHandler(func(nc *nats.Conn, err error) {
		l.end(nats.ErrDisconnected, func(string) bool { return true })
		if broken != nil {
			broken(nc, err)
		}
	})
	nc.SetClosedHandler(func(nc *nats.Conn) {
		listeners.Delete(nc)
		if closed != nil {
			closed(nc)
		}
	})
	return l
}

// await returns a context for requests about a stream. It also ends, with the cause, when the
// server will not answer them. The function ends the wait.
func (l *listener) await(ctx context.Context, stream string) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	w := &wait{stream, cancel}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waits[w] = true
	return ctx, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.waits, w)
		cancel(nil)
	}
}

// end ends the waits for some streams. It reports whether there are any.
func (l *listener) end(cause error, concerns func(stream string) bool) (awaited bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for w := range l.waits {
		if concerns(w.stream) {
			awaited = true
			w.cancel(cause)
		}
	}
	return awaited
}
