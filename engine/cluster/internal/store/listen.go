package store

import (
	"context"
	"sync"

	"github.com/nats-io/nats.go"
)

// A listener ends waits for answers that will never arrive, because the connection is broken or
// the server has denied a request about the stream. All stores of a connection share one listener.
type listener struct {
	mu    sync.Mutex
	waits map[*wait]bool
}

// A wait is a wait for an answer about a stream.
type wait struct {
	stream string
	cancel context.CancelCauseFunc
}

var listeners sync.Map // maps *nats.Conn to *listener

// listen returns the listener of a connection. The listener calls the existing handlers of the
// connection.
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
		// A request that waits returns the denial itself.
		if failed != nil && !awaited {
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

// await returns a context for requests about a stream. The context also ends, with the cause, when
// the server is not going to answer them. The returned function ends the wait.
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

// end ends the waits for the streams that concerns selects. It reports whether there were any.
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
