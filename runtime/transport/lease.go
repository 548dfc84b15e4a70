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

// A Lease is what requests are sent with for a while: the token that an API issued, or
// what a login returned. It does not change.
type Lease struct {
	Header [][2]string // names and values
	Query  [][2]string // names and values

	// Lists is whether a parameter that the request has too becomes a list with both
	// values, a[0] and a[1], at the end of the query, instead of replacing it.
	Lists bool

	// Secrets are hidden as soon as there is a lease. Their names stay the same from
	// lease to lease.
	Secrets map[string]string

	// Renew is when a new lease is obtained instead. The zero time is never: only a
	// response of status 401 says that the lease has ended.
	Renew time.Time
}

// Add adds a header or, otherwise, a parameter of the query. It is for a lease that is not
// in use yet.
func (l *Lease) Add(header bool, name, text string) {
	if header {
		l.Header = append(l.Header, [2]string{name, text})
		return
	}
	l.Query = append(l.Query, [2]string{name, text})
}

// address returns the address of a request with the parameters of the lease.
func (l *Lease) address(address string) string {
	var lists [][2]string
	for _, pair := range l.Query {
		without, had := cutQuery(address, pair[0])
		if !l.Lists || len(had) == 0 {
			address = WithQuery(address, [][2]string{pair})
			continue
		}
		address = without
		for i, text := range uniques(append(had, pair[1])) {
			lists = append(lists, [2]string{fmt.Sprintf("%s[%d]", pair[0], i), text})
		}
	}
	return WithQuery(address, lists)
}

// uniques returns the texts without those that occurred before.
func uniques(texts []string) []string {
	var out []string
	for _, text := range texts {
		if !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return out
}

// leases shares one lease among all requests of a client. It obtains a new one when
// there is none, when the last one is due, and when the API has refused it.
type leases struct {
	mu      sync.Mutex
	current *Lease
	pending *obtaining // nil while none is obtained
}

// obtaining is a call of [Auth.Obtain] that is under way.
type obtaining struct {
	done  chan struct{} // closed when it has ended
	lease *Lease
	err   error
	left  bool // the context of the caller ended, so the error says nothing to others
}

// get returns the lease for a request. refused is the lease that the API has refused,
// which is not returned again; it may be nil. All that wait for a new lease receive the
// same one, or the same error. A lease that has just been obtained is used even if it is
// already due.
func (l *leases) get(ctx context.Context, auth Auth, now func() time.Time, refused *Lease) (*Lease, error) {
	for {
		l.mu.Lock()
		if c := l.current; c != nil && c != refused && (c.Renew.IsZero() || now().Before(c.Renew)) {
			l.mu.Unlock()
			return c, nil
		}
		if l.pending == nil {
			mine := &obtaining{done: make(chan struct{})}
			l.pending = mine
			l.mu.Unlock()
			return l.obtain(ctx, auth, mine)
		}
		other := l.pending
		l.mu.Unlock()
		if err := waitFor(ctx, other.done); err != nil {
			return nil, err
		}
		if !other.left {
			return other.lease, other.err
		}
	}
}

// obtain obtains a lease for all that wait.
func (l *leases) obtain(ctx context.Context, auth Auth, mine *obtaining) (*Lease, error) {
	mine.lease, mine.err = auth.Obtain(ctx)
	mine.left = mine.err != nil && ctx.Err() != nil
	l.mu.Lock()
	defer l.mu.Unlock()
	if mine.err == nil {
		l.current = mine.lease
	}
	l.pending = nil
	close(mine.done)
	return mine.lease, mine.err
}

// lease returns the lease for a call to the configured origin. It is nil if the
// credentials do not expire.
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
	known := (*failure.Error)(nil)
	if !errors.As(err, &known) {
		return nil, err
	}
	copied := *known // others that waited receive it too
	copied.Err = errors.Join(errNoLease, err)
	return nil, &copied
}

// errNoLease marks an error that was already retried where it happened.
var errNoLease = errors.New("no credentials")

// refusesLease reports whether the API has refused the lease that the request had.
func (r *Response) refusesLease() bool { return r.Status == http.StatusUnauthorized && r.lease != nil }

// repeatWithNewLease reports whether the API has refused the lease of a response, for the
// first time in this call, and changes the call to be repeated with another lease.
func (c *Client) repeatWithNewLease(call *Call, r *Response) bool {
	if r == nil || !r.refusesLease() || call.refused != nil {
		return false
	}
	call.refused, call.Turn = r.lease, 0
	c.options.Log.Info("the API refused the token (status 401); the request is repeated once with a new one",
		"event", "token_refused", "job", call.Job, "page", call.Page, "url", c.show(call.URL))
	return true
}
