package workbench

import (
	"sync"
	"sync/atomic"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/explain"
	"github.com/stopwhen/stopwhen/engine/recording"
	"github.com/stopwhen/stopwhen/engine/workbench/internal/syntax"
)

// A Document is a configuration that is being written. It never changes, and is safe for concurrent use.
type Document struct {
	Name      string
	Text      string
	Recording *recording.Recording // see [Document.WithRecording]

	bench        *Workbench
	lastCompiled *engine.Engine // latest earlier text that compiled, as an engine; may be nil
	samples      *samples       // of the recording
	lines        func() *lineTable

	outline   func() *outline
	nameIndex func() *nameIndex

	explained func() *explain.Explanation    // explanation of the text or, if it does not compile, of the last text that did; nil if none did
	load      func() (*engine.Engine, error) // compiles the text once
	loaded    *atomic.Pointer[engine.Engine] // the result of load, if it succeeded
}

// newDocument sets the functions that compute facts about a document on first use.
func newDocument(d Document) *Document {
	d.loaded = &atomic.Pointer[engine.Engine]{}
	d.lines = sync.OnceValue(func() *lineTable { return newLineTable(d.Text) })
	d.outline = sync.OnceValue(func() *outline { return newOutline(d.Text) })
	d.nameIndex = sync.OnceValue(func() *nameIndex { return newNameIndex(d.outline()) })
	d.explained = sync.OnceValue(func() *explain.Explanation {
		e, _ := d.engine()
		if e == nil {
			return nil
		}
		return e.Explain()
	})
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
		next.lastCompiled = e
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
	return d.lastCompiled, false
}

// IsConfiguration reports whether the text is, or may become, a configuration: it has a key of a configuration,
// or no key yet. Editors open other files in the same formats.
func (d *Document) IsConfiguration() bool {
	root := d.outline().root
	if root.Kind != syntax.Object || len(root.Inner) == 0 {
		return root.Kind != syntax.List
	}
	for _, key := range []string{"api", "config", "parameters"} {
		if root.Member(key) != nil {
			return true
		}
	}
	return len(root.Inner) == 1 && !root.Inner[0].Colon
}

// recordingKey is the key of the root that names the recording of a configuration.
const recordingKey = "x-recording"

// RecordingName returns the path of the recording that the text names under x-recording, or "".
func (d *Document) RecordingName() string {
	n := d.outline().root.Member(recordingKey)
	if n == nil {
		n = d.outline().config().Member(recordingKey)
	}
	if n == nil || n.Kind != syntax.Scalar {
		return ""
	}
	return n.Text
}

// RecordingKey returns the place of x-recording, or the beginning of the text.
func (d *Document) RecordingKey() Range {
	for _, root := range []*syntax.Node{d.outline().root, d.outline().config()} {
		if n := root.Member(recordingKey); n != nil && n.KeyStart >= 0 {
			return d.lines().span(n.KeyStart, n.KeyEnd)
		}
	}
	return Range{}
}
