package cluster

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/stopwhen/stopwhen/engine/cluster/internal/store"
)

// mendAfter is for how long a worker misses the queue of a run until it prepares the queue
// again: whoever submits or cancels a run prepares it usually. Tests change it.
var mendAfter = 10 * time.Second

// A mender prepares the queues of runs again that are missing. A program may have died after
// it had removed the queue of an API, when another one had just submitted a run.
type mender struct {
	mu     sync.Mutex
	runs   map[string]store.Record // that go on
	missed map[string]time.Time    // runs without a queue, since when
}

// note notes the record of a run, or that it does not go on.
func (m *mender) note(stored store.Record) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.runs == nil {
		m.runs, m.missed = map[string]store.Record{}, map[string]time.Time{}
	}
	delete(m.missed, stored.Name)
	if goesOn(&stored) {
		m.runs[stored.Name] = stored
	} else {
		delete(m.runs, stored.Name)
	}
}

// overdue returns the records of the runs whose queues have been missing for long enough.
func (m *mender) overdue(queues []string) (overdue []store.Record) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for id, stored := range m.runs {
		var r record
		if decode(stored.Value, &r) != nil || slices.Contains(queues, r.Origin) {
			delete(m.missed, id)
			continue
		}
		since, known := m.missed[id]
		if !known {
			m.missed[id] = time.Now()
		} else if time.Since(since) >= mendAfter {
			delete(m.missed, id)
			overdue = append(overdue, stored)
		}
	}
	return overdue
}

// mend prepares the queues that are missing.
func (p *pool) mend(ctx context.Context, queues []string) {
	for _, stored := range p.mender.overdue(queues) {
		r, err := p.c.readRecord(stored)
		if err != nil { // another version takes care of it
			continue
		}
		if again, err := p.c.Run(ctx, r.ID()); err != nil || again.Phase() != Running {
			continue
		}
		if _, err := r.prepareQueue(ctx); err != nil {
			p.complain(r.ID(), "queue", "its queue is missing: "+err.Error())
			continue
		}
		p.c.log.Warn("run "+r.ID()+": its queue was missing and is there again", "event", "queue_mended", "run", r.ID())
	}
}
