package transport

import (
	"context"
	"time"

	"golang.org/x/time/rate"
)

// A Pace limits how many requests are made, whichever job makes them: pages, retries,
// redirects and tokens. The zero Pace limits nothing.
type Pace struct {
	PerSecond float64 // requests per second; 0: any number
	Burst     int     // requests that may be made at once after a rest; 0 is 1
	Parallel  int     // requests in flight; 0: any number
}

// SourcePerSecond is the [Event.Source] of a wait for [Pace.PerSecond].
const SourcePerSecond = "requestsPerSecond"

// A Pacer makes requests wait for their turn: one after another waits until fewer than
// Parallel requests are in flight and the rate allows another.
type Pacer struct {
	pace       Pace
	limiter    *rate.Limiter // nil: any rate
	shared     SharedPace    // has the rate and the holds, instead of limiter; nil: they are of this run only
	withinTurn bool
}

// NewPacer returns a pacer for the requests of one run.
func NewPacer(p Pace) *Pacer { return NewSharedPacer(p, nil) }

// NewSharedPacer returns a pacer for the requests of one run whose rate and holds are
// shared with other processes; with nil it is [NewPacer]. [Pace.Parallel] counts the
// requests of this run only.
func NewSharedPacer(p Pace, shared SharedPace) *Pacer {
	out := &Pacer{pace: p, shared: shared}
	if p.PerSecond > 0 {
		out.limiter = rate.NewLimiter(rate.Limit(p.PerSecond), max(p.Burst, 1))
	}
	return out
}

// WithinTurn returns a pacer for requests that are made while another request has its
// turn, and waits for them, such as the one for its token: they count for the rate, and
// are in flight instead of that request.
func (p *Pacer) WithinTurn() *Pacer {
	within := *p
	within.pace.Parallel, within.withinTurn = 0, true
	return &within
}

// unlimited reports whether no request has to wait.
func (p *Pacer) unlimited() bool { return p.limiter == nil && p.pace.Parallel == 0 }

// A SharedPace is kept by several processes that make requests to one API together: one
// schedule for [Pace.PerSecond], and what the API has said about when to retry. Its
// methods may be called by several goroutines.
//
// An implementation that cannot reach the other processes lets requests wait until it can,
// and says so in its own log: nothing is requested without a pace.
type SharedPace interface {
	// Reserve asks for the next free time for a request of a rate, which is above zero, and
	// returns at once. Requests receive their times in the order of the calls.
	Reserve(p Pace) Reservation

	// Hold returns the hold on a group of requests, which has any name. Requests with the same
	// name have the same hold, in all processes.
	Hold(name string) Hold
}

// A Reservation is the time for one request.
type Reservation interface {
	// Wait waits until the time is known, and returns how long it is until then, by the
	// machine's clock; at most zero is now. It returns the error of the context if that is
	// done first; then nothing is reserved.
	Wait(ctx context.Context) (time.Duration, error)

	// Cancel gives back the time that Wait has returned, as far as that is still possible: no
	// request is made at it.
	Cancel()
}

// A Hold keeps requests from an API that has said when to retry. When it is over, one
// request goes first. The others follow unless that one was told to wait again.
type Hold interface {
	// Begin begins a hold, or extends it. A shorter one changes nothing.
	Begin(wait time.Duration)

	// State returns how long a request has to wait, or a channel that is closed when it
	// should ask again, because another request goes first. It returns neither if the
	// request may be made.
	State() (wait time.Duration, changed <-chan struct{})

	// Enter begins a request, unless it has to wait. It reports whether it may be made, and
	// whether it is the first one after the hold, which has to leave when it has ended. The
	// error is that of the context.
	Enter(ctx context.Context) (first, ok bool, err error)

	// Leave ends the first request after a hold. If no other hold has begun meanwhile, all
	// requests may be made again.
	Leave()
}
