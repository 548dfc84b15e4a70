package transport

import (
	"context"
	"time"
)

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
