package cluster

import (
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/rules/wording"
)

// problems holds the reasons of the last minutes why tasks do not go on. Each is logged once a
// minute and reported to the server for the status. The zero value is ready to use.
type problems struct {
	mu  sync.Mutex
	all map[problemKey]problem
}

// A problemKey groups problems that are logged together. kind is "" if all are of one kind.
type problemKey struct{ run, kind string }

// A problem is a reason why tasks of a run do not go on.
type problem struct {
	text         string
	since, until time.Time // times of the last log entry and of the end of reporting
	more         int       // number of occurrences since the last log entry
}

// logEvery is the time after which a problem is logged again.
const logEvery = time.Minute

// note records a problem, which is then reported for a while. It returns whether to log the
// problem, and the number of occurrences since it was last logged.
func (p *problems) note(key problemKey, text string, during time.Duration) (log bool, more int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now, known := time.Now(), p.all[key]
	if log = now.Sub(known.since) >= logEvery; log {
		more, known = known.more, problem{text: text, since: now}
	} else {
		known.more++
	}
	known.until = now.Add(during)
	if p.all == nil {
		p.all = map[problemKey]problem{}
	}
	p.all[key] = known
	return log, more
}

// current returns the latest problem of each run.
func (p *problems) current() map[string]string {
	p.mu.Lock()
	defer p.mu.Unlock()
	now, latest := time.Now(), map[string]time.Time{}
	maps.DeleteFunc(p.all, func(_ problemKey, current problem) bool { return now.After(current.until) })
	texts := map[string]string{}
	for key, problem := range p.all {
		if problem.until.After(latest[key.run]) {
			texts[key.run], latest[key.run] = problem.text, problem.until
		}
	}
	return texts
}

// latestProblem returns the latest problem of all runs, or "" if no run has a problem.
func latestProblem(lists ...*problems) string {
	var last problem
	run := ""
	for _, p := range lists {
		p.mu.Lock()
		for key, current := range p.all {
			if current.until.After(time.Now()) && current.until.After(last.until) {
				last, run = current, key.run
			}
		}
		p.mu.Unlock()
	}
	if run == "" {
		return ""
	}
	return "run " + run + ": " + last.text
}

// forget drops the problems of an ended run.
func (p *problems) forget(run string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	maps.DeleteFunc(p.all, func(key problemKey, _ problem) bool { return key.run == run })
}

// pauseRun records that this worker cannot run the tasks of a run, and pauses the run.
func (w *workerRun) pauseRun(run string, err error) {
	w.mu.Lock()
	if r := w.runs[run]; r != nil {
		r.avoidUntil = time.Now().Add(w.cluster.timing.pausedRun)
	}
	w.mu.Unlock()
	var attrs []any
	if l, ok := errors.AsType[*missingSettings](err); ok && l.remedy.InWords() {
		attrs = []any{"hint", l.remedy}
	}
	w.noteProblem(run, kindOf(err), fmt.Sprintf("this worker cannot run it: %v", err), attrs...)
}

// noteProblem logs a problem of this worker with a run, once a minute for all affected tasks, and
// reports it to the server for the status. The log has the attributes, too.
func (w *workerRun) noteProblem(run, kind, text string, attrs ...any) {
	log, more := w.problems.note(problemKey{run, kind}, text, problemFor)
	if !log {
		return
	}
	if more > 0 {
		text += fmt.Sprintf("; %s had this problem since it was logged last", wording.Counted(more, "other task"))
	}
	w.cluster.log.Error(fmt.Sprintf("run %s: %s", run, text), append(attrs, "event", "worker_problem", "run", run)...)
	select {
	case w.news <- struct{}{}:
	default: // a report is already due
	}
}

// kindOf returns a text that is equal for errors that differ only in their partition.
func kindOf(err error) string {
	if failed, ok := errors.AsType[*engine.Error](err); ok {
		return fmt.Sprintf("%s %s %d", failed.Class, failed.Op, failed.Status)
	}
	return err.Error()
}

// problemFor is how long a worker keeps reporting a problem.
const problemFor = 5 * time.Minute
