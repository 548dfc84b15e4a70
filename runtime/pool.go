package runtime

import (
	"slices"
	"sync"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/compile/language"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/keypath"
	"github.com/stopwhen/stopwhen/rules/lists"
	"github.com/stopwhen/stopwhen/runtime/document"
	"github.com/stopwhen/stopwhen/runtime/evidence"
	"github.com/stopwhen/stopwhen/runtime/spool"
)

// A workspace has the machine, the reader and the buffers for reading the pages of a job. Lists use it one after
// another, if their responses are read in the same way.
type workspace struct {
	job        *compile.Job // the last job that used it
	subject    *evidence.Subject
	readsPrev  bool // whether rules of the job read the page before
	readsFirst bool // whether they read the first page
	machine    language.Machine
	reader     *document.Reader
	head       []byte           // first bytes of the last body, for error messages
	bodies     [2]*spool.Buffer // bodies of this page and of the previous page, alternating
	converted  [2]*spool.Buffer // the same bodies after conversion to JSON
}

// newWorkspace returns a workspace that reads responses with the given options. It passes its warnings and notes
// to a run.
func newWorkspace(r *listRun, reading document.Options) workspace {
	reading.Warn = r.warn
	return workspace{
		reader: document.NewReader(reading), machine: language.Machine{Note: r.note},
		bodies: [2]*spool.Buffer{{}, {}}, converted: [2]*spool.Buffer{{}, {}},
	}
}

// readerOptions returns the options for reading the responses of a job.
func (l *Loop) readerOptions(job *compile.Job) document.Options {
	return document.Options{
		Paths: job.Needs.Body, Items: job.Needs.Items, Places: job.ItemRules.Places, Decode: job.Needs.Past, Ignore: job.Ruleset.Ignore,
		Key:       lists.Map(job.Spec().Key, keypath.Split),
		DataField: job.Spec().DataField, Members: job.ItemRules.ReadsKey(), Switches: job.Ruleset.Dialect.Switches(),
		MaxDepth: l.MaxDepth, MaxItems: l.MaxItems, MaxValueBytes: l.MaxValueBytes, Arriving: l.Arriving,
	}
}

// A Pool holds the readers and the buffers of lists that have ended, for later lists. It is safe for
// concurrent use. The zero Pool is empty.
type Pool struct {
	mu sync.Mutex
	// free has the least recently used first. They have only their workspaces, and yet are whole runs: a run is
	// a large struct, which the next list need not allocate, and the reader and the machine call the methods warn
	// and note of the run that they were made for.
	free []*listRun
}

const (
	maxPooled      = 64       // largest number of runs in a pool
	maxPooledBytes = 64 << 10 // largest size of a buffer in a pool
)

// get returns a run that has only its workspace, which suits a job. It prefers one that the job has used before.
func (p *Pool) get(l *Loop, job *compile.Job) *listRun {
	options := l.readerOptions(job)
	r := p.remove(func(w *workspace) bool { return w.job == job && w.reader.Suits(options) })
	if r == nil {
		r = p.remove(func(w *workspace) bool { return w.reader.Suits(options) })
	}
	if r == nil {
		r = &listRun{}
		r.workspace = newWorkspace(r, options)
	}
	if r.workspace.job != job {
		r.workspace.job, r.workspace.subject = job, evidence.NewSubject(job)
		a := job.Analysis()
		r.workspace.readsPrev, r.workspace.readsFirst = a.Reads(rules.ContextPrev), a.Reads(rules.ContextFirst)
	}
	return r
}

// remove removes and returns the last used run with a suitable workspace. It returns nil if there is no
// such run.
func (p *Pool) remove(suitable func(*workspace) bool) *listRun {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, r := range slices.Backward(p.free) {
		if suitable(&r.workspace) {
			p.free = slices.Delete(p.free, i, i+1)
			return r
		}
	}
	return nil
}

// put returns a run to the pool. It invalidates everything that the run has read.
func (p *Pool) put(r *listRun) {
	w := r.workspace
	w.reader.Close()
	for i := range w.bodies {
		w.bodies[i].Trim(maxPooledBytes)
		w.converted[i].Trim(maxPooledBytes)
	}
	w.machine.Observe, w.machine.Context = nil, nil
	*r = listRun{} // in place, see Pool.free
	r.workspace = w
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.free = append(p.free, r); len(p.free) > maxPooled {
		p.free = slices.Delete(p.free, 0, 1)
	}
}
