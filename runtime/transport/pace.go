package transport

import (
	"context"
	"time"

	"golang.org/x/time/rate"
)

// A Pace limits the requests of all jobs together: pages, retries, redirects and tokens. The zero
// Pace sets no limit.
type Pace struct {
	PerSecond float64 // requests per second; 0 means no limit
	Burst     int     // number of requests at once after a pause; 0 means 1
	Parallel  int     // requests in flight; 0 means no limit
}

// SourcePerSecond is the [Event.Source] of a wait for [Pace.PerSecond].
const SourcePerSecond = "requestsPerSecond"

// A Pacer makes requests wait for their turn, one after another, until fewer than Parallel requests
// are in flight and the rate allows another.
type Pacer struct {
	pace       Pace
	limiter    *rate.Limiter // nil means no rate
	shared     SharedPace    // rate and holds in place of limiter; nil if they are not shared
	withinTurn bool
}

// NewPacer returns a pacer for the requests of one run.
func NewPacer(p Pace) *Pacer { return NewSharedPacer(p, nil) }

// NewSharedPacer returns a pacer for the requests of one run whose rate and holds are shared with
// other processes. With a nil SharedPace it is [NewPacer]. [Pace.Parallel] counts only the requests
// of this run.
func NewSharedPacer(p Pace, shared SharedPace) *Pacer {
	out := &Pacer{pace: p, shared: shared}
	if p.PerSecond > 0 {
		out.limiter = rate.NewLimiter(rate.Limit(p.PerSecond), max(p.Burst, 1))
	}
	return out
}

// WithinTurn returns a pacer for requests that another request waits for during its turn, such as
// the request for its token. They count against the rate, and are in flight in place of that
// request.
func (p *Pacer) WithinTurn() *Pacer {
	within := *p
	within.pace.Parallel, within.withinTurn = 0, true
	return &within
}

// unlimited reports whether requests never wait.
func (p *Pacer) unlimited() bool { return p.limiter == nil && p.pace.Parallel == 0 }

// A SharedPace coordinates several processes that make requests to one API. They share one schedule
// for [Pace.PerSecond], and the waits that the API asks for. Its methods may be called by several
// goroutines.
//
// An implementation that cannot reach the other processes makes requests wait until it can, and
// logs that: no request is made without a pace.
type SharedPace interface {
	// Reserve asks for the next free time for a request, at a rate above zero, and returns at once.
	// Requests receive their times in the order of the calls.
	Reserve(p Pace) Reservation

	// Hold returns the hold with a name, which may be any text. Requests with the same name share a
	// hold, in all processes.
	Hold(name string) Hold
}

// A Reservation is the time for one request.
type Reservation interface {
	// Wait waits until the time is known, and returns the duration until that time by the machine's
	// clock; zero or less means now. If the context is done first, Wait returns its error, and
	// nothing is reserved.
	Wait(ctx context.Context) (time.Duration, error)

	// Cancel returns the time that Wait has returned, if that is still possible, because no request
	// will use it.
	Cancel()
}

// A Hold stops requests to an API that has said when to retry. When the hold ends, one request goes
// first. The others follow unless that request was told to wait again.
type Hold interface {
	// Begin begins a hold, or extends it. It does not shorten a hold.
	Begin(wait time.Duration)

	// State returns how long a request must wait. If another request goes first, it returns a channel
	// instead, which is closed when the request should ask again. If the request may be made, it
	// returns 0 and nil.
	State() (wait time.Duration, changed <-chan struct{})

	// Enter begins a request, unless it must wait. ok reports whether the request may be made, and
	// first whether it is the first request after the hold, which must call Leave when it has ended.
	// The error is the error of the context.
	Enter(ctx context.Context) (first, ok bool, err error)

	// Leave ends the first request after a hold. If no other hold has begun in the meantime, all
	// requests may go again.
	Leave()
}
