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
	job       *compile.Job
	machine   language.Machine
	reader    *document.Reader
	head      []byte                     // first bytes of the last body, for error messages
	warn      func(code, message string) // receives the warnings of the reader
	buffers   [2]*spool.Buffer           // body of this page and of the last one, alternating
	converted [2]*spool.Buffer           // the same bodies after conversion to JSON
	subject   *evidence.Subject
	inUse     run // the run that uses the tools
}

func newTools(job *compile.Job, reading document.Options) *tools {
	t := &tools{buffers: [2]*spool.Buffer{{}, {}}, converted: [2]*spool.Buffer{{}, {}}}
	reading.Warn = func(code, message string) { t.warn(code, message) }
	t.reader = document.NewReader(reading)
	t.serve(job)
	return t
}

// serve assigns the tools to a job, whose responses the reader must be able to read.
func (t *tools) serve(job *compile.Job) {
	t.job, t.subject = job, evidence.NewSubject(job)
}

// readingOf returns the options for reading the responses of a job.
func (l *Loop) readingOf(job *compile.Job) document.Options {
	return document.Options{
		Paths: job.Needs.Body, Items: job.Needs.Items, Decode: job.Needs.Past, Ignore: job.Set.Ignore, DataField: job.Spec().DataField,
		Members: job.Shape.ReadsKey(), Switches: rules.SwitchesOf(job.Set.Dialect),
		MaxDepth: l.MaxDepth, MaxItems: l.MaxItems, MaxValueBytes: l.MaxValueBytes,
	}
}

// A Toolbox holds the tools that no job of a run is using, so that many small lists share their
// allocations. It is safe for concurrent use. The zero Toolbox is empty.
type Toolbox struct {
	mu   sync.Mutex
	free []*tools // least recently used first
}

const (
	keptTools = 64       // largest number of tools in a toolbox
	keptBytes = 64 << 10 // largest size of a buffer in a toolbox
)

// get returns tools for a job, preferably those it used before.
func (b *Toolbox) get(l *Loop, job *compile.Job) *tools {
	reading := l.readingOf(job)
	t := b.remove(func(t *tools) bool { return t.job == job && t.reader.Reads(reading) })
	if t == nil {
		t = b.remove(func(t *tools) bool { return t.reader.Reads(reading) })
	}
	switch {
	case t == nil:
		t = newTools(job, reading)
	case t.job != job:
		t.serve(job)
	}
	return t
}

// remove removes the most recently used tools that are suitable. It returns nil if there are none.
func (b *Toolbox) remove(suitable func(*tools) bool) *tools {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, t := range slices.Backward(b.free) {
		if suitable(t) {
			b.free = slices.Delete(b.free, i, i+1)
			return t
		}
	}
	return nil
}

// put returns tools to the toolbox. It invalidates the run that used them and all that they read.
func (b *Toolbox) put(t *tools) {
	t.reader.Close()
	for i := range t.buffers {
		t.buffers[i].Trim(keptBytes)
		t.converted[i].Trim(keptBytes)
	}
	t.warn, t.machine.Observe, t.machine.Note, t.machine.Context = nil, nil, nil, nil
	t.inUse = run{}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.free = append(b.free, t); len(b.free) > keptTools {
		b.free = slices.Delete(b.free, 0, 1)
	}
}
