package runtime

import (
	"slices"
	"sync"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/compile/language"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/runtime/document"
	"github.com/stopwhen/stopwhen/runtime/evidence"
	"github.com/stopwhen/stopwhen/runtime/spool"
)

// A tools holds the reusable parts for reading the pages of a job: its machine, reader and buffers.
// Consecutive partitions share it, as do jobs whose responses are read in the same way.
type tools struct {
	job       *compile.Job // the job that used the tools last
	subject   *evidence.Subject
	machine   language.Machine
	reader    *document.Reader
	head      []byte           // first bytes of the last body, for error messages
	bodies    [2]*spool.Buffer // body of this page and of the last one, alternating
	converted [2]*spool.Buffer // the same bodies after conversion to JSON
}

// newTools returns tools that a run uses for the responses of a job. They pass their warnings and
// notes to that run.
func newTools(r *listRun, reading document.Options) tools {
	reading.Warn = r.warn
	return tools{
		reader: document.NewReader(reading), machine: language.Machine{Note: r.note},
		bodies: [2]*spool.Buffer{{}, {}}, converted: [2]*spool.Buffer{{}, {}},
	}
}

// readingOf returns the options for reading the responses of a job.
func (l *Loop) readingOf(job *compile.Job) document.Options {
	return document.Options{
		Paths: job.Needs.Body, Items: job.Needs.Items, Decode: job.Needs.Past, Ignore: job.Ruleset.Ignore, DataField: job.Spec().DataField,
		Members: job.Shape.ReadsKey(), Switches: rules.SwitchesOf(job.Ruleset.Dialect),
		MaxDepth: l.MaxDepth, MaxItems: l.MaxItems, MaxValueBytes: l.MaxValueBytes,
	}
}

// A Toolbox holds runs that have ended, so that many small lists share their memory and their
// tools. It is safe for concurrent use. The zero Toolbox is empty.
type Toolbox struct {
	mu   sync.Mutex
	free []*listRun // least recently used first; only their tools are set
}

const (
	keptRuns  = 64       // largest number of runs in a toolbox
	keptBytes = 64 << 10 // largest size of a buffer in a toolbox
)

// get returns a run with nothing but tools for a job, preferably those that the job used before.
func (b *Toolbox) get(l *Loop, job *compile.Job) *listRun {
	reading := l.readingOf(job)
	r := b.remove(func(t *tools) bool { return t.job == job && t.reader.Reads(reading) })
	if r == nil {
		r = b.remove(func(t *tools) bool { return t.reader.Reads(reading) })
	}
	if r == nil {
		r = &listRun{}
		r.tools = newTools(r, reading)
	}
	if r.tools.job != job {
		r.tools.job, r.tools.subject = job, evidence.NewSubject(job)
	}
	return r
}

// remove removes the run that was used last among those with suitable tools. It returns nil if
// there is no such run.
func (b *Toolbox) remove(suitable func(*tools) bool) *listRun {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, r := range slices.Backward(b.free) {
		if suitable(&r.tools) {
			b.free = slices.Delete(b.free, i, i+1)
			return r
		}
	}
	return nil
}

// put returns a run to the toolbox. It invalidates everything that the run has read.
func (b *Toolbox) put(r *listRun) {
	t := &r.tools
	t.reader.Close()
	for i := range t.bodies {
		t.bodies[i].Trim(keptBytes)
		t.converted[i].Trim(keptBytes)
	}
	t.machine.Observe, t.machine.Context = nil, nil
	*r = listRun{tools: r.tools}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.free = append(b.free, r); len(b.free) > keptRuns {
		b.free = slices.Delete(b.free, 0, 1)
	}
}
