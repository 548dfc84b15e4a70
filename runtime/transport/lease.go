package transport

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/stopwhen/stopwhen/runtime/failure"
)

// A Lease holds the credentials of requests for a limited time: a token that an API issued, or the
// result of a login. It is immutable once in use.
type Lease struct {
	Header []Pair
	Query  []Pair

	// Lists determines how a parameter that the request also has is added: as a list with both
	// values, a[0] and a[1], at the end of the query. Otherwise it replaces the parameter of the
	// request.
	Lists bool

	// Secrets are hidden as soon as the lease exists. Their names stay the same from lease to
	// lease.
	Secrets map[string]string

	// Renew is the time at which a new lease is obtained. The zero time means never: then only a
	// response with status 401 ends the lease.
	Renew time.Time
}

// address returns the address of a request with the parameters of the lease.
func (l *Lease) address(address string) string {
	var lists []Pair
	for _, pair := range l.Query {
		stripped, found := cutQuery(address, pair.Name)
		if !l.Lists || len(found) == 0 {
			address = WithQuery(address, []Pair{pair})
			continue
		}
		address = stripped
		var values []string
		for _, text := range append(found, pair.Value) {
			if !slices.Contains(values, text) {
				lists = append(lists, Pair{fmt.Sprintf("%s[%d]", pair.Name, len(values)), text})
				values = append(values, text)
			}
		}
	}
	return WithQuery(address, lists)
}

// leases shares one lease among all requests of a client. It obtains a new lease for the first request,
// at the time of Renew, and when the API refuses the current lease.
type leases struct {
	mu      sync.Mutex
	current *Lease
	pending *leaseRequest // nil unless a lease is being obtained
}

// A leaseRequest is a call of [Credentials.Obtain] that has not returned.
type leaseRequest struct {
	done      chan struct{} // closed at its end
	lease     *Lease
	err       error
	abandoned bool // the caller gave up because its context ended, so the error does not apply to others
}

// get returns the lease for a request. refused is a lease that the API has refused, or nil; get
// does not return it again. All waiting requests receive the same new lease, or the same error. A
// lease that was just obtained is used even if its Renew time has passed.
func (l *leases) get(ctx context.Context, auth Credentials, now func() time.Time, refused *Lease) (*Lease, error) {
	for {
		l.mu.Lock()
		if c := l.current; c != nil && c != refused && (c.Renew.IsZero() || now().Before(c.Renew)) {
			l.mu.Unlock()
			return c, nil
		}
		if l.pending == nil {
			started := &leaseRequest{done: make(chan struct{})}
			l.pending = started
			l.mu.Unlock()
			return l.obtain(ctx, auth, started)
		}
		pending := l.pending
		l.mu.Unlock()
		if err := waitFor(ctx, pending.done); err != nil {
			return nil, err
		}
		if !pending.abandoned {
			return pending.lease, pending.err
		}
	}
}

// obtain obtains a lease for all waiting requests. They do not wait for a store or a transport that
// panics.
func (l *leases) obtain(ctx context.Context, auth Credentials, started *leaseRequest) (*Lease, error) {
	func() {
		started.err = failure.Exited()
		defer func() {
			started.err = failure.Recovered("", recover(), started.err)
			started.abandoned = started.err != nil && ctx.Err() != nil
			l.mu.Lock()
			defer l.mu.Unlock()
			if started.err == nil {
				l.current = started.lease
			}
			l.pending = nil
			close(started.done)
		}()
		started.lease, started.err = auth.Obtain(ctx)
	}()
	return started.lease, started.err
}

// lease returns the lease for a call to the configured origin, or nil if the credentials do not
// expire.
func (c *Client) lease(ctx context.Context, call Call) (*Lease, error) {
	if c.options.Auth.Obtain == nil {
		return nil, nil
	}
	lease, err := c.leases.get(ctx, c.options.Auth, c.options.Clock.Now, call.refused)
	if err == nil {
		for name, text := range lease.Secrets {
			c.options.Redactor.HideAs(name, text)
		}
		return lease, nil
	}
	known, ok := errors.AsType[*failure.Error](err)
	if !ok {
		return nil, err
	}
	return nil, known.With(func(e *failure.Error) { e.Err = errors.Join(errNoLease, err) })
}

// errNoLease marks an error that was already retried at its source.
var errNoLease = errors.New("no credentials")

// refusesLease reports whether the API has refused the lease of the request.
func (r *Response) refusesLease() bool { return r.Status == http.StatusUnauthorized && r.lease != nil }

// repeatWithNewLease reports whether the API has refused the lease of a response for the first time
// in this call. If so, it prepares the call to be repeated with another lease.
func (c *Client) repeatWithNewLease(call *Call, r *Response) bool {
	if r == nil || !r.refusesLease() || call.refused != nil {
		return false
	}
	call.refused = r.lease
	c.options.Log.Info("the API refused the token (status 401); the request is repeated once with a new one",
		"event", "token_refused", "job", call.Job, "page", call.Page, "url", c.show(call.URL))
	return true
}
