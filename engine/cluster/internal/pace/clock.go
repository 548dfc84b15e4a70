package pace

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// A serverClock maps the machine's clock to the server's.
type serverClock struct {
	local  time.Time // time of the measurement by the machine's clock
	server time.Time // time of the measurement by the server's clock
}

// timeAt returns the server's time when the machine's clock shows now.
func (p *Pace) timeAt(now time.Time) time.Time {
	c := p.clock.Load()
	return c.server.Add(now.Sub(c.local))
}

// serverTime returns the server's time now.
func (p *Pace) serverTime() time.Time { return p.timeAt(p.now()) }

// Now returns the server's time.
func (p *Pace) Now() time.Time { return p.serverTime() }

const (
	clockKey   = "clock"
	samples    = 3  // number of measurements of the server's time; the fastest counts
	maxSamples = 20 // maximum number of attempts
)

// errNoSample means that other processes kept measuring at the same time.
var errNoSample = errors.New("cannot measure the time of the server")

// measure measures the server's time. The server stamps an entry while this process waits for its
// confirmation; the maximum error is half of the waiting time.
func (p *Pace) measure(ctx context.Context, kv jetstream.KeyValue) error {
	best, taken := time.Duration(-1), 0
	var clock serverClock
	for range maxSamples {
		began := p.now()
		revision, err := kv.Put(ctx, clockKey, nil)
		if err != nil {
			return err
		}
		took := p.now().Sub(began)
		entry, err := kv.Get(ctx, clockKey)
		if err != nil && !errors.Is(err, jetstream.ErrKeyNotFound) { // a replica may not have it yet
			return err
		}
		if err != nil || entry.Revision() != revision {
			continue
		}
		if best < 0 || took < best {
			best, clock = took, serverClock{began.Add(took / 2), entry.Created()}
		}
		if taken++; taken == samples {
			break
		}
	}
	if taken == 0 {
		return errNoSample
	}
	p.clock.Store(&clock)
	return nil
}
