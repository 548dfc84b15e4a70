package cluster

import (
	"maps"
	"sync"
	"time"
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
