package evidence

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/compile/language"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/runtime/trace"
)

// A Presence notes which of the paths that jobs read of the items of their parents no item
// has had. If a job has had no partition, they are probably misspelt, and lists are missing
// because of it.
type Presence struct {
	mu      sync.Mutex
	read    map[*compile.Job]bool       // items were read
	missing map[*compile.Job][][]string // paths that none of them had
}

// NewPresence returns a presence for jobs of which no item was read.
func NewPresence(jobs []*compile.Job) *Presence {
	p := &Presence{read: map[*compile.Job]bool{}, missing: map[*compile.Job][][]string{}}
	for _, job := range jobs {
		p.missing[job] = job.ItemNeeds
	}
	return p
}

// Note notes what an item has.
func (p *Presence) Note(job *compile.Job, item any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.read[job] = true
	if len(p.missing[job]) == 0 {
		return
	}
	has := func(path []string) bool { return language.HasPath(item, path) }
	p.missing[job] = slices.DeleteFunc(slices.Clone(p.missing[job]), has)
}

// Save returns the paths that are still missing, by job, for a checkpoint.
func (p *Presence) Save() map[string][][]string {
	p.mu.Lock()
	defer p.mu.Unlock()
	saved := map[string][][]string{}
	for job := range p.read {
		saved[job.Set.Job.ID] = append([][]string{}, p.missing[job]...)
	}
	return saved
}

// Restore takes up what Save returned.
func (p *Presence) Restore(saved map[string][][]string, jobs map[string]*compile.Job) {
	for id, missing := range saved {
		if job := jobs[id]; job != nil {
			p.read[job], p.missing[job] = true, missing
		}
	}
}

// Merge takes up what the items of another page have, as Save returned it.
func (p *Presence) Merge(saved map[string][][]string, jobs map[string]*compile.Job) {
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

// Finding returns the finding about a job; nil: there is none.
func (p *Presence) Finding(job *compile.Job) *trace.Finding {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.read[job] || len(p.missing[job]) == 0 || slices.Contains(job.Set.IgnoredFindings, findingMissing) {
		return nil
	}
	var paths []string
	for _, path := range p.missing[job] {
		paths = append(paths, rules.FormatPath(job.Sources[0].Name, path))
	}
	return &trace.Finding{ID: findingMissing, Message: fmt.Sprintf("no item of %s has %s, which %s reads; check the spelling",
		job.Parent.Set.Job.ID, strings.Join(paths, ", nor "), job.Set.Job.ID)}
}
