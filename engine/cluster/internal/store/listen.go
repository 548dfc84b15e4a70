package store

import (
	"context"
	"errors"
	"sync"

	"github.com/nats-io/nats.go"
)

// A listener hears what a connection has to say: what the server denies, and that the
// connection breaks. All stores of a connection share it.
type listener struct {
	denied denials
	link   link
}

var listeners sync.Map // *nats.Conn to *listener

// listen returns the listener of a connection. It is in front of the handlers that the
// connection has.
func listen(nc *nats.Conn) *listener {
	known, found := listeners.LoadOrStore(nc, &listener{})
	l := known.(*listener)
	if found {
		return l
	}
	l.link.renew()
	failed, broken, closed := nc.ErrorHandler(), nc.DisconnectErrHandler(), nc.ClosedHandler()
	nc.SetErrorHandler(func(nc *nats.Conn, sub *nats.Subscription, err error) {
		awaited := errors.Is(err, nats.ErrPermissionViolation) && l.denied.tell(err)
		if failed != nil && !awaited { // otherwise the request that was denied returns it
			failed(nc, sub, err)
		}
	})
	nc.SetDisconnectErrHandler(func(nc *nats.Conn, err error) {
		l.link.renew()
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

// A link has a context that ends when the connection breaks, and a new one after that.
type link struct {
	mu     sync.Mutex
	now    context.Context
	cancel context.CancelFunc
}

func (l *link) renew() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cancel != nil {
		l.cancel()
	}
	l.now, l.cancel = context.WithCancel(context.Background())
}

func (l *link) context() context.Context {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.now
}
