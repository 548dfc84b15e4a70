package pace

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// A serverClock tells the time of the server.
type serverClock struct {
	local  time.Time // when it was measured, by the machine's clock
	server time.Time // the server's time then
}

// timeAt returns the server's time when the machine's clock shows now.
func (p *Pace) timeAt(now time.Time) time.Time {
	c := p.clock.Load()
	return c.server.Add(now.Sub(c.local))
}

// serverTime returns the server's time now.
func (p *Pace) serverTime() time.Time { return p.timeAt(p.now()) }

const (
	clockKey   = "clock"
	samples    = 3  // measurements of the server's time, of which the fastest counts
	maxSamples = 20 // that are tried
)

// errNoSample says that other processes measured at the same time, again and again.
var errNoSample = errors.New("cannot measure the time of the server")

// measure measures the server's time. The server stamps an entry while this process waits for
// its confirmation: half of the time that this takes is the error.
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
