package workbench

import (
	"sync"
	"sync/atomic"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/recording"
)

// A Document is a configuration that is being written. It never changes, and is safe for concurrent use.
type Document struct {
	Name      string
	Text      string
	Recording *recording.Recording // see [Document.WithRecording]

	bench   *Workbench
	good    *engine.Engine // of the latest text before this one that compiled; may be nil
	samples *samples       // of the recording
	lines   func() *lineTable

	outline   func() *outline
	directory func() *directory

	load   func() (*engine.Engine, error) // compiles the text once
	loaded *atomic.Pointer[engine.Engine] // the result of load, if it succeeded
}

// newDocument prepares what is computed when it is first asked for.
func newDocument(d Document) *Document {
	d.loaded = &atomic.Pointer[engine.Engine]{}
	d.lines = sync.OnceValue(func() *lineTable { return newLineTable(d.Text) })
	d.outline = sync.OnceValue(func() *outline { return newOutline(d.Text) })
	d.directory = sync.OnceValue(func() *directory { return newDirectory(d.outline()) })
	d.load = sync.OnceValues(func() (*engine.Engine, error) {
		e, err := d.bench.load(&d, engine.WithPlaceholders())
		if err != nil {
			return nil, err
		}
		d.loaded.Store(e)
		return e, nil
	})
	return &d
}

// With returns the document with another text.
func (d *Document) With(text string) *Document {
	next := *d
	next.Text = text
	if e := d.loaded.Load(); e != nil {
		next.good = e
	}
	return newDocument(next)
}

// Edited returns the document after edits: see [Apply].
func (d *Document) Edited(edits ...Edit) *Document { return d.With(Apply(d.Text, edits)) }

// engine returns the compiled text. If the text has a mistake, it returns the latest text before it that
// compiled, or nil, and reports false.
func (d *Document) engine() (e *engine.Engine, current bool) {
	if e, err := d.load(); err == nil {
		return e, true
	}
	return d.good, false
}
