package transport

import "golang.org/x/time/rate"

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
	parallel   int           // requests in flight; 0: any number
	shared     SharedPace    // has the rate and the holds, instead of limiter; nil: they are of this run only
	withinTurn bool
}

// NewPacer returns a pacer for the requests of one run.
func NewPacer(p Pace) *Pacer {
	out := &Pacer{pace: p, parallel: p.Parallel}
	if p.PerSecond > 0 {
		out.limiter = rate.NewLimiter(rate.Limit(p.PerSecond), max(p.Burst, 1))
	}
	return out
}

// NewSharedPacer returns a pacer for the requests of one run whose rate and holds are
// shared with other processes; with nil it is [NewPacer]. [Pace.Parallel] counts the
// requests of this run only.
func NewSharedPacer(p Pace, shared SharedPace) *Pacer {
	out := NewPacer(p)
	out.shared = shared
	return out
}

// WithinTurn returns a pacer for requests that are made while another request has its
// turn, and waits for them, such as the one for its token: they count for the rate, and
// are in flight instead of that request.
func (p *Pacer) WithinTurn() *Pacer {
	return &Pacer{pace: p.pace, limiter: p.limiter, shared: p.shared, withinTurn: true}
}

// unlimited reports whether no request has to wait.
func (p *Pacer) unlimited() bool { return p.limiter == nil && p.parallel == 0 }
