package pace

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// A serverClock tells the time of the server.
type serverClock struct {
	mu     sync.Mutex
	local  time.Time // when it was measured, by the machine's clock
	server time.Time // the server's time then
}

// time returns the server's time when the machine's clock shows now.
func (c *serverClock) time(now time.Time) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.server.Add(now.Sub(c.local))
}

func (c *serverClock) set(local, server time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.local, c.server = local, server
}

// serverTime returns the server's time now.
func (p *Pace) serverTime() time.Time { return p.clock.time(p.now()) }

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
	var local, server time.Time
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
			best, local, server = took, began.Add(took/2), entry.Created()
		}
		if taken++; taken == samples {
			break
		}
	}
	if taken == 0 {
		return errNoSample
	}
	p.clock.set(local, server)
	return nil
}
