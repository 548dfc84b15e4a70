package workbench

import (
	"slices"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/recording"
	"github.com/stopwhen/stopwhen/rules/yaml"
)

// A Workbench opens configurations. It is safe for concurrent use.
type Workbench struct{ options []engine.Option }

// New returns a workbench. Configurations are loaded with the options, such as [engine.WithInputs]; runs
// that use a transport also need [engine.WithEnv]. In all other cases environment variables that no option sets
// have placeholders. JSON and YAML need no option.
func New(options ...engine.Option) *Workbench {
	formats := []engine.Option{
		engine.WithFormat(".yaml", yaml.Parse), engine.WithFormat(".yml", yaml.Parse), engine.WithFormat("", yaml.ParseByContent),
	}
	return &Workbench{options: append(formats, options...)}
}

// Open opens a text. The ending of its name says whether it is JSON or YAML; without an ending, its content
// does. The text is parsed on first use.
func (w *Workbench) Open(name, text string) *Document {
	return newDocument(Document{Name: name, Text: text, bench: w})
}

// load compiles a text.
func (w *Workbench) load(d *Document, options ...engine.Option) (*engine.Engine, error) {
	return engine.Load(d.Name, []byte(d.Text), slices.Concat(w.options, options)...)
}

// WithRecording returns the document with recorded responses of its API: they give completions and samples of
// values, and are the pages of [FromRecording]. A nil recording removes it.
func (d *Document) WithRecording(r *recording.Recording) *Document {
	next := *d
	next.Recording, next.samples = r, &samples{}
	return newDocument(next)
}
