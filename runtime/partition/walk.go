package partition

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/runtime"
)

// A Walk runs jobs with all their partitions and their children. The order of pages does not depend
// on concurrency: each page of a partition is followed by the pages of the partitions for its
// items.
type Walk struct {
	runtime.Loop

	// Jobs holds the ids of the jobs that run; nil means all. A job outside the set that has a
	// child in it runs, but its items are not written.
	Jobs map[string]bool

	// Slots limits the partitions that run at once, across all trees. With nil or one slot, every
	// partition runs in its turn.
	Slots *Slots

	// Quota bounds the number of partitions of the run; nil means no limit. With a limit they run
	// one after another, so that it leaves out the same partitions in every run.
	Quota *Quota

	// Started is the value of now() in the rules of variables. If it is zero, that is the time at which each tree of jobs
	// starts.
	Started time.Time

	// Skipped receives the page on which a skipped partition failed, if the sink did not receive
	// that page; see [runtime.Result.FailedPage]. The page has no items and no checkpoint. Calls of
	// Skipped and of the sink come in the order of the pages. It may be nil.
	Skipped func(*runtime.Page)

	// Accept reports whether the run accepts how a rule ended a job. A job that it does not accept
	// counts as incomplete: see [runtime.Result.Refused]. If it is nil, every ending is accepted.
	Accept func(runtime.Result) bool

	omitsFailed bool // whether a page on which the run fails is left out, because another machine will request it again
}

// refuses reports whether the run does not accept how a rule ended a job.
func (w Walk) refuses(r runtime.Result) bool { return w.Accept != nil && r.Ended() && !w.Accept(r) }

// Run runs a job with all its partitions and its children. It passes their pages to the sink in the
// order of a run without concurrency. It returns the results of the job and its children, parents
// first, even if the error is not nil.
//
// The partitions that run ahead of their turn take [Walk.Slots], and [Walk.RunAll] one for that whose turn it is.
func (w Walk) Run(ctx context.Context, root *compile.Job, sink runtime.Sink) ([]runtime.Result, error) {
	ends, err := w.run(ctx, root, sink)
	return resultsOf(ends), err
}

// RunAll calls run for every root job, in their order, with the index of the job. run calls [Walk.Run]. The jobs run one
// after another in the goroutine of the caller, or, with several [Walk.Slots] and without a quota, as many at once as there
// are slots. RunAll begins no further job once stopped returns true, and returns when all have ended.
func (w Walk) RunAll(roots []*compile.Job, stopped func() bool, run func(root int)) {
	parallel := w.Slots.count() > 1 && w.Quota == nil
	var running sync.WaitGroup
	defer running.Wait()
	for i := range roots {
		w.Slots.take() // slot of the job whose turn it is
		runNext := func() {
			defer w.Slots.release()
			run(i)
		}
		switch {
		case stopped():
			w.Slots.release()
			return
		case parallel:
			running.Go(runNext)
		default:
			runNext() // the sink may belong to the goroutine of the caller
		}
	}
}

func (w Walk) run(ctx context.Context, root *compile.Job, sink runtime.Sink) ([]EndedResult, error) {
	w.Loop = w.WithDefaults()
	if len(root.For) == 0 && len(w.children(root)) == 0 && root.Spec().Emits {
		tally := newTally(w, root)
		list := runtime.List{Partition: runtime.Partition{Job: root}, From: w.Resume[root.ID()], Omits: w.omits(root)}
		end, err := w.RunList(ctx, list, func(ctx context.Context, d *runtime.Delivery) (bool, error) {
			if tally.jobs[root].keptStays {
				d.Page.Kept = w.KeptBefore[root.ID()]
			}
			return sink.Receive(ctx, d)
		})
		tally.end(list.Partition, endOf(end))
		return tally.conclude(err), err
	}
	t := newTree(w, root, sink)
	err := t.run(ctx)
	return t.tally.concludeTree(err), err
}

// omits returns [runtime.List.Omits] for the lists of a job.
func (w Walk) omits(job *compile.Job) func(*runtime.Page) bool {
	if !w.omitsFailed {
		return nil
	}
	return func(page *runtime.Page) bool { return !skipsOn(job, page) }
}

// selects reports whether the items of a job are written.
func (w Walk) selects(job *compile.Job) bool { return w.Jobs == nil || w.Jobs[job.ID()] }

// children returns the children of a job that run.
func (w Walk) children(job *compile.Job) []*compile.Job {
	return slices.DeleteFunc(slices.Clone(job.Children), func(child *compile.Job) bool { return len(w.below(child)) == 0 })
}

// below returns a job and the jobs below it that run, parents first.
func (w Walk) below(job *compile.Job) []*compile.Job {
	jobs := []*compile.Job{job}
	for _, child := range job.Children {
		jobs = append(jobs, w.below(child)...)
	}
	if len(jobs) == 1 && !w.selects(job) {
		return nil
	}
	return jobs
}

// leftOutOf returns a job that was not selected, so that its items are not written, and that reads
// values that the given job or one of its ancestors keeps: with new kept values, the next run would
// not read its items either. It returns nil if there is no such job.
func (w Walk) leftOutOf(job *compile.Job) *compile.Job {
	for ; job != nil; job = job.Parent {
		if len(job.Keeps) == 0 {
			continue
		}
		for _, descendant := range job.WithDescendants() {
			if !w.selects(descendant) && descendant.Spec().Emits {
				return descendant
			}
		}
	}
	return nil
}
