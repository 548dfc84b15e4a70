//go:build unix

package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const sigCont = syscall.SIGCONT

// A blow is one way to break something.
type blow struct {
	weight int
	strike func(r *round, ctx context.Context) error
}

var blows = []blow{
	{5, (*round).killWorker},
	{3, (*round).freezeWorker},
	{3, (*round).stopWorker},
	{2, (*round).addWorker},
	{1, (*round).killHub},
	{3, (*round).killCollector},
	{2, (*round).submitAgain},
	{4, (*round).queueAgain},
}

// breakSomething strikes one blow.
func (r *round) breakSomething(ctx context.Context) error {
	total := 0
	for _, b := range blows {
		total += b.weight
	}
	at := r.random.IntN(total)
	for _, b := range blows {
		if at -= b.weight; at < 0 {
			return b.strike(r, ctx)
		}
	}
	return nil
}

// worker returns one of those that are not frozen; nil: there is none.
func (r *round) worker() *process {
	if len(r.workers) == 0 {
		return nil
	}
	w := r.workers[r.random.IntN(len(r.workers))]
	if _, frozen := r.frozen[w]; frozen {
		return nil
	}
	return w
}

func (r *round) killWorker(context.Context) error {
	if w := r.worker(); w != nil {
		r.counts.add("worker killed")
		w.signal(syscall.SIGKILL)
	}
	return nil
}

// freezeWorker stops a worker until its tasks have been given to others.
func (r *round) freezeWorker(context.Context) error {
	w := r.worker()
	if w == nil || len(r.frozen) > 1 {
		return nil
	}
	r.counts.add("worker frozen")
	w.signal(syscall.SIGSTOP)
	r.frozen[w] = time.Now().Add(ackWait + time.Duration(200+r.random.IntN(1500))*time.Millisecond)
	return nil
}

// stopWorker tells a worker to stop: it hands back its tasks.
func (r *round) stopWorker(context.Context) error {
	if w := r.worker(); w != nil {
		r.counts.add("worker stopped")
		w.signal(syscall.SIGTERM)
	}
	return nil
}

func (r *round) addWorker(context.Context) error {
	if len(r.workers) >= largest {
		return nil
	}
	r.counts.add("worker added")
	return r.hire()
}

// killHub ends the server, which is started again a little later.
func (r *round) killHub(context.Context) error {
	const most = 2
	if r.restarts == most {
		return nil
	}
	r.restarts++
	how := syscall.SIGKILL
	if r.random.IntN(2) == 0 {
		how = syscall.SIGTERM
	}
	r.counts.add("server restarted")
	r.hub.signal(how)
	r.hubStarts = time.Now().Add(time.Duration(r.random.IntN(500)) * time.Millisecond)
	<-r.hub.ended
	return nil
}

func (r *round) killCollector(context.Context) error {
	r.counts.add("collector killed")
	r.collector.signal(syscall.SIGKILL)
	return nil
}

func (r *round) submitAgain(ctx context.Context) error {
	r.counts.add("submitted again")
	return r.submit(ctx)
}

// queueAgain queues a task that was queued before, whether it has ended or not, and takes
// note of one for later.
func (r *round) queueAgain(ctx context.Context) error {
	try, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	s, err := r.js.Stream(try, workStreamName)
	if err != nil {
		return nil // the server is starting
	}
	at := s.CachedInfo().State
	for seq := at.FirstSeq; seq <= at.LastSeq && seq < at.FirstSeq+50; seq++ {
		if m, err := s.GetMsg(try, seq); err == nil {
			r.tasks = append(r.tasks, m)
		}
	}
	const atOnce = 10
	for range min(atOnce, len(r.tasks)) {
		again := r.tasks[r.random.IntN(len(r.tasks))]
		_, err := r.js.PublishMsg(try, &nats.Msg{Subject: again.Subject, Data: again.Data}, jetstream.WithRetryAttempts(0))
		if err != nil {
			return nil
		}
		r.counts.add("task queued again")
	}
	return nil
}

// repair checks that the partitions are set aside that the API lets fail, and no others.
// Then it repairs the API, and retries them.
func (r *round) repair(ctx context.Context, o outcome) error {
	if len(r.api.failing) == 0 {
		return errors.New("the run failed: " + o.Error)
	}
	if err := r.checkFailures(ctx); err != nil {
		return err
	}
	if err := os.Remove(filepath.Join(r.dir, "collected", "outcome")); err != nil {
		return err
	}
	r.api.repair()
	r.until = time.Now().Add(stormTime / 2)
	if _, err := r.run.Retry(ctx); err != nil {
		return err
	}
	r.counts.add("retry")
	return r.startCollector()
}
