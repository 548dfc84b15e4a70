package workbench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/explain"
	"github.com/stopwhen/stopwhen/engine/recording"
	"github.com/stopwhen/stopwhen/engine/stress"
	"github.com/stopwhen/stopwhen/runtime/redact"
	"github.com/stopwhen/stopwhen/runtime/trace"
	"github.com/stopwhen/stopwhen/runtime/transport"
)

// Limits bound a run. The zero value has the default bounds.
type Limits struct {
	Pages  int                       `json:"pages,omitempty"` // most pages, over all jobs; 0 means 10 with a transport and 10,000 otherwise
	Jobs   []string                  `json:"jobs,omitempty"`  // ids of the jobs to run; empty means all
	Inputs map[string]any            `json:"inputs,omitempty"`
	Kept   map[string]map[string]any `json:"kept,omitempty"` // values of an earlier run, by job and name

	WithoutItems bool `json:"withoutItems,omitempty"` // leave out the items, because hiding their secrets takes most of the time
}

// The default numbers of pages.
const (
	maxLivePages = 10
	maxPages     = 10_000
)

// A Run says what the rules did on each page.
type Run struct {
	Pages []*Page            `json:"pages"` // in the order in which they came
	Jobs  []engine.JobResult `json:"jobs"`
	Error string             `json:"error,omitempty"` // why the run ended early
	Hint  string             `json:"hint,omitempty"`
	More  bool               `json:"more,omitempty"` // the limit of pages ended the run

	Played *recording.Played `json:"played,omitempty"` // replay only: the recorded requests that were made, and those missing
	Model  []string          `json:"model,omitempty"`  // simulation only: sentences that describe the API
	Row    *stress.Row       `json:"row,omitempty"`    // simulation only: how the list ended

	// Recording is a HAR archive of the responses of a transport or a case, without secrets; nil for other sources.
	Recording []byte `json:"-"`

	responses []*Response // of the pages
	unplayed  []*Response // of the requests in Played.Unplayed
}

// A Page is a page of a [Run].
type Page struct {
	Number int `json:"number"` // from 1, of all jobs together
	trace.Record

	Why   string            `json:"why"`   // why the list ends or goes on, in one sentence
	Items []json.RawMessage `json:"items"` // as they are written, without secrets; at most 1,000
}

// maxItems is the number of items of a page that a run shows.
const maxItems = 1000

// errEnough ends a run at its limit of pages.
var errEnough = errors.New("the run has reached its limit of pages")

// errNoRecording is the error of a replay without a recording.
var errNoRecording = errors.New("there is no recording of the API")

// Run runs the document. The error says that no run was begun: [engine.Diagnostics] if the text does not
// compile or an input is missing. An error during the run is part of the result.
func (d *Document) Run(ctx context.Context, from Source, limits Limits) (*Run, error) {
	return from.run(ctx, d, limits)
}

// An openSource is a source of real exchanges that is ready for one run.
type openSource struct {
	engine    *engine.Engine // without a transport
	transport http.RoundTripper
	clock     transport.Clock   // nil means the system clock
	player    *recording.Player // nil unless the source is a recording
	record    bool              // whether the exchanges are recorded

	recorder *recording.Recorder // nil unless the exchanges are recorded
	archive  bytes.Buffer        // output of the recorder
}

// run runs the engine of a document.
func (o *openSource) run(ctx context.Context, d *Document, limits Limits) (*Run, error) {
	if err := o.configure(limits); err != nil {
		return nil, err
	}
	r := o.start(limits)
	result, err := o.engine.With(engine.WithTransport(r.tap), engine.WithSkippedPages(r.skipped)).Run(ctx, r.page)
	if err := r.finish(o); err != nil {
		return nil, err
	}
	r.end(result, err)
	r.describe(d.explained())
	return r.Run, nil
}

// configure sets the options of the engine. The error says what a run needs.
func (o *openSource) configure(limits Limits) error {
	e := o.engine.With(engine.WithVerdictValues(), engine.WithAccept(engine.JobResult.Ended), engine.WithPrefetch(0),
		engine.WithParallelJobs(1),
		engine.WithKeepGoing(), engine.WithJobs(limits.Jobs...), engine.WithKept(limits.Kept), engine.WithTokenStore(nil))
	if limits.Inputs != nil {
		e = e.With(engine.WithInputs(limits.Inputs))
	}
	if o.clock != nil {
		e = e.With(engine.WithClock(o.clock))
	}
	o.engine = e
	return e.Check()
}

// start returns the builder of the run, and begins the recording.
func (o *openSource) start(limits Limits) *runBuilder {
	limit := limits.Pages
	if limit <= 0 && o.record && o.clock == nil { // a transport
		limit = maxLivePages
	} else if limit <= 0 {
		limit = maxPages
	}
	redactor := o.engine.Redactor()
	if o.record {
		o.recorder = recording.NewRecorder(&o.archive, recording.Options{Transport: o.transport, Clock: o.clock, Redactor: redactor})
		o.engine, o.transport = o.recorder.Record(o.engine), o.recorder
	}
	return &runBuilder{
		Run: &Run{Pages: []*Page{}}, tap: newTap(o.transport), redactor: redactor, most: limit, withoutItems: limits.WithoutItems,
	}
}

// A runBuilder collects the pages of a run.
type runBuilder struct {
	*Run
	tap      *tap
	redactor *redact.Redactor
	most     int

	withoutItems bool
}

// finish adds the recording, or the exchanges of a recording that were played and not played.
func (r *runBuilder) finish(o *openSource) error {
	if o.recorder != nil {
		if err := o.recorder.Close(); err != nil {
			return err
		}
		if o.recorder.Len() > 0 {
			r.Recording = o.archive.Bytes()
		}
	}
	if o.player != nil {
		played := o.player.Played()
		r.Played = &played
		for _, x := range o.player.Unplayed() {
			r.unplayed = append(r.unplayed, &Response{exchange: exchangeOf(x), redactor: r.redactor})
		}
	}
	return nil
}

// page adds a page.
func (r *runBuilder) page(_ context.Context, page *engine.Page) error {
	r.add(page.Record, page.Items)
	if len(r.Pages) >= r.most && page.Decision != engine.Stop {
		return errEnough
	}
	return nil
}

func (r *runBuilder) skipped(page *engine.Page) { r.add(page.Record, engine.Items{}) }

// add adds the record of a page with its items, and the exchange that gave it.
func (r *runBuilder) add(record trace.Record, items engine.Items) {
	p := &Page{Number: len(r.Pages) + 1, Record: record, Items: []json.RawMessage{}}
	for item := range items.All() {
		if r.withoutItems || len(p.Items) == maxItems {
			break
		}
		p.Items = append(p.Items, json.RawMessage(hiddenIn(r.redactor.JSON(string(bytes.TrimSpace(item))))))
	}
	r.Pages = append(r.Pages, p)
	exchanges := r.tap.taken()
	var last *exchange
	if len(exchanges) > 0 {
		last = exchanges[len(exchanges)-1]
	}
	r.responses = append(r.responses, &Response{exchange: last, redactor: r.redactor})
}

// end adds how the jobs ended.
func (r *runBuilder) end(result *engine.Result, err error) {
	r.Jobs = result.Jobs
	for _, job := range result.Jobs {
		if job.FailedPage != nil {
			r.add(*job.FailedPage, engine.Items{})
		}
	}
	r.More = errors.Is(err, errEnough)
	if err == nil || r.More {
		return
	}
	r.Error = r.redactor.Text(err.Error())
	if failed, ok := errors.AsType[*engine.Error](err); ok {
		r.Hint = r.redactor.Text(failed.Hint)
	}
}

// describe says why the list ended or went on after each page.
func (r *runBuilder) describe(x *explain.Explanation) {
	readers := map[string]Readers{}
	for i, p := range r.Pages {
		if _, known := readers[p.Job]; !known {
			readers[p.Job] = ReadersOf(x, p.Job)
		}
		p.Why, r.responses[i].readers = r.why(i), readers[p.Job]
	}
	for _, response := range r.unplayed {
		for i, p := range r.Pages {
			if made := r.responses[i].exchange; made != nil && sameAddress(made.address, response.exchange.address) {
				response.readers = readers[p.Job]
			}
		}
	}
}

// sameAddress reports whether two addresses differ at most in their queries.
func sameAddress(a, b string) bool {
	a, _, _ = strings.Cut(a, "?")
	b, _, _ = strings.Cut(b, "?")
	return a == b
}

func (r *Run) why(i int) string {
	p := r.Pages[i]
	switch {
	case p.Error != nil:
		return p.Error.Message
	case p.Decision == engine.Stop:
		var because []string
		for _, v := range p.Met() {
			because = append(because, v.Rule+": "+v.Because)
		}
		if because != nil {
			return "The list ends: " + strings.Join(because, "; ")
		}
		return fmt.Sprintf("The list ends: %s", p.Reason)
	}
	next := slices.IndexFunc(r.Pages[i+1:], func(other *Page) bool { return other.Job == p.Job })
	if next < 0 {
		return "No rule is met, so the list goes on."
	}
	request := r.Pages[i+1+next].Request
	return fmt.Sprintf("No rule is met, so the list goes on: %s %s", request.Method, request.URL)
}

// Response returns the response of a page, by its number. It returns nil if there is no such page, or nothing
// was requested for it.
func (r *Run) Response(number int) *Response {
	if number < 1 || number > len(r.responses) || r.responses[number-1].exchange == nil {
		return nil
	}
	return r.responses[number-1].shownOnce()
}

// Unplayed returns a recorded response that was not requested, by its position in Played.Unplayed. It returns nil if
// there is no such position.
func (r *Run) Unplayed(i int) *Response {
	if i < 0 || i >= len(r.unplayed) {
		return nil
	}
	return r.unplayed[i].shownOnce()
}
