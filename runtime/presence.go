package runtime

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/rules"
)

// A presence notes which of the paths that jobs read of the items of their parents no item
// has had. If a job has had no partition, they are probably misspelt, and lists are missing
// because of it.
type presence struct {
	mu      sync.Mutex
	read    map[*compile.Job]bool       // items were read
	missing map[*compile.Job][][]string // paths that none of them had
}

func newPresence(jobs []*compile.Job) *presence {
	p := &presence{read: map[*compile.Job]bool{}, missing: map[*compile.Job][][]string{}}
	for _, job := range jobs {
		p.missing[job] = job.ItemNeeds
	}
	return p
}

// note notes what an item has.
func (p *presence) note(job *compile.Job, item any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.read[job] = true
	if len(p.missing[job]) == 0 {
		return
	}
	has := func(path []string) bool { return compile.HasPath(item, path) }
	p.missing[job] = slices.DeleteFunc(slices.Clone(p.missing[job]), has)
}

// save returns the paths that are still missing, by job, for a checkpoint.
func (p *presence) save() map[string][][]string {
	p.mu.Lock()
	defer p.mu.Unlock()
	saved := map[string][][]string{}
	for job := range p.read {
		saved[job.Set.Job.ID] = append([][]string{}, p.missing[job]...)
	}
	return saved
}

// restore takes up what save returned.
func (p *presence) restore(saved map[string][][]string, jobs map[string]*compile.Job) {
	for id, missing := range saved {
		if job := jobs[id]; job != nil {
			p.read[job], p.missing[job] = true, missing
		}
	}
}

// merge takes up what the items of another page have, as save returned it.
func (p *presence) merge(saved map[string][][]string, jobs map[string]*compile.Job) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for id, missing := range saved {
		job := jobs[id]
		if job == nil {
			continue
		}
		p.read[job] = true
		had := func(path []string) bool {
			return !slices.ContainsFunc(missing, func(one []string) bool { return slices.Equal(one, path) })
		}
		p.missing[job] = slices.DeleteFunc(slices.Clone(p.missing[job]), had)
	}
}

// finding returns the finding about a job; nil: there is none.
func (p *presence) finding(job *compile.Job) *Finding {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.read[job] || len(p.missing[job]) == 0 || slices.Contains(job.Set.IgnoredFindings, findingMissing) {
		return nil
	}
	var paths []string
	for _, path := range p.missing[job] {
		paths = append(paths, rules.FormatPath(job.Sources[0].Name, path))
	}
	return &Finding{ID: findingMissing, Message: fmt.Sprintf("no item of %s has %s, which %s reads; check the spelling",
		job.Parent.Set.Job.ID, strings.Join(paths, ", nor "), job.Set.Job.ID)}
}
