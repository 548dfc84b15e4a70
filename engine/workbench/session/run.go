package session

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/stress"
	"github.com/stopwhen/stopwhen/engine/workbench"
	"github.com/stopwhen/stopwhen/fixtures"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/rules/wording"
	"github.com/stopwhen/stopwhen/runtime/trace"
)

// A runView is a run without the details of its pages, which the browser requests one by one.
type runView struct {
	ID string `json:"id"`
	*workbench.Run
	Pages []cell `json:"pages"`
}

// A cell is a page of a run without its verdicts and items, except the verdicts that ended the list.
type cell struct {
	*workbench.Page
	Verdicts *struct{} `json:"verdicts,omitempty"` // nil: these take the place of the keys of the page
	Items    *struct{} `json:"items,omitempty"`
	Why      *struct{} `json:"why,omitempty"`

	Met []engine.Verdict `json:"met,omitempty"`
}

// A keptRun is a run with its document.
type keptRun struct {
	*workbench.Run
	document *workbench.Document
}

// keep keeps a run for later calls.
func (s *Session) keep(d *workbench.Document, run *workbench.Run) *runView {
	s.mu.Lock()
	defer s.mu.Unlock()
	kept := &keptRun{run, d}
	view := &runView{ID: s.runs.add(kept), Run: run, Pages: []cell{}}
	for _, page := range run.Pages {
		c := cell{Page: page}
		if page.Decision == trace.Stop {
			c.Met = page.Met()
		}
		view.Pages = append(view.Pages, c)
	}
	return view
}

// replay runs the text against the recording.
func (s *Session) replay(ctx context.Context, r request) (any, error) {
	d, err := s.open(r)
	if err != nil {
		return nil, err
	}
	limits := r.Limits
	limits.WithoutItems = true
	run, err := d.Run(ctx, workbench.FromRecording(), limits)
	if err != nil {
		return nil, err
	}
	return s.keep(d, run), nil
}

// A liveRun is a run that made requests, with their recording.
type liveRun struct {
	Run       *runView   `json:"run"`
	Recording *Recording `json:"recording,omitempty"`
}

// run makes requests to the API of a built-in case, or to the API of the configuration.
func (s *Session) run(ctx context.Context, r request) (any, error) {
	var source workbench.Source
	switch c, err := fixtures.Find(r.Case); {
	case r.Case != "" && err != nil:
		return nil, err
	case r.Case != "":
		source = workbench.FromCase(c)
	case s.live == nil:
		return nil, &workbench.Error{Message: "this page makes no requests", Hint: "open a recording of stopwhen record, or use stopwhen studio"}
	default:
		source = s.live()
	}
	d, err := s.open(r)
	if err != nil {
		return nil, err
	}
	run, err := d.Run(ctx, source, r.Limits)
	if err != nil {
		return nil, err
	}
	started := &liveRun{Run: s.keep(d, run)}
	if run.Recording != nil {
		name := strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(r.Name, ".json"), ".yaml"), ".yml") + ".har"
		if started.Recording, err = s.Record(name, run.Recording); err != nil {
			return nil, err
		}
	}
	return started, nil
}

// A pageDetail is a page with its response.
type pageDetail struct {
	Page     *workbench.Page     `json:"page"`
	Response *workbench.Response `json:"response"`
	Guards   []string            `json:"guards"` // ids of the guards among its verdicts
}

// page returns a page of a run.
func (s *Session) page(_ context.Context, r request) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	run, err := s.runs.get(r.Run)
	if err != nil {
		return nil, err
	}
	if r.Number < 1 || r.Number > len(run.Pages) {
		return nil, &workbench.Error{Message: "the run has no such page"}
	}
	page := *run.Pages[r.Number-1]
	page.Items = []json.RawMessage{} // the response has them
	isGuard, guards := run.document.Guards(), []string{}
	for _, v := range page.Verdicts {
		if isGuard[v.Rule] {
			guards = append(guards, v.Rule)
		}
	}
	return pageDetail{&page, run.Response(r.Number), guards}, nil
}

// unplayed returns a recorded response that a replay has not requested.
func (s *Session) unplayed(_ context.Context, r request) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	run, err := s.runs.get(r.Run)
	if err != nil {
		return nil, err
	}
	response := run.Unplayed(r.Number - 1)
	if response == nil {
		return nil, &workbench.Error{Message: "the recording has no such page"}
	}
	return response, nil
}

// An itemsView is a table of items, and their shape.
type itemsView struct {
	Count   int                  `json:"count"`
	Columns []string             `json:"columns"`
	Rows    [][]string           `json:"rows"`
	Clipped bool                 `json:"clipped"` // whether there are more rows
	Paths   []workbench.ReadPath `json:"paths"`
}

// The size of a table.
const (
	maxRows    = 200
	maxColumns = 60
	maxCell    = 300 // bytes
)

// items returns the items of a job.
func (s *Session) items(ctx context.Context, r request) (any, error) {
	s.mu.Lock()
	kept, err := s.runs.get(r.Run)
	s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	run := kept.Run
	if run.Played != nil { // a replay has left them out
		if run, err = kept.document.Run(ctx, workbench.FromRecording(), r.Limits); err != nil {
			return nil, err
		}
	}
	all := run.Items(r.Job)
	view := &itemsView{Count: all.Count, Columns: []string{}, Rows: [][]string{}, Paths: all.Paths}
	for _, page := range run.Pages {
		if page.Job != r.Job {
			continue
		}
		for _, item := range page.Items {
			if len(view.Rows) == maxRows {
				view.Clipped = true
				return view, nil
			}
			view.add(item)
		}
	}
	return view, nil
}

// add adds an item as a row. Any other item than an object has a single cell, in a column without a name.
func (v *itemsView) add(item json.RawMessage) {
	row := make([]string, len(v.Columns))
	put := func(name string, text []byte) {
		i := slices.Index(v.Columns, name)
		if i < 0 && len(v.Columns) < maxColumns {
			i = len(v.Columns)
			v.Columns, row = append(v.Columns, name), append(row, "")
			for j := range v.Rows {
				v.Rows[j] = append(v.Rows[j], "")
			}
		}
		if i >= 0 {
			row[i] = wording.Clip(cellText(text), maxCell)
		}
	}
	names, values := members(item)
	for i, name := range names {
		put(name, values[i])
	}
	if names == nil {
		put("", item)
	}
	v.Rows = append(v.Rows, row)
}

// members returns the members of an object in their order. It returns nil for any other value.
func members(item json.RawMessage) (names []string, values []json.RawMessage) {
	dec := json.NewDecoder(bytes.NewReader(item))
	if first, _ := dec.Token(); first != json.Delim('{') {
		return nil, nil
	}
	names = []string{}
	for dec.More() {
		name, _ := dec.Token()
		var text json.RawMessage
		if dec.Decode(&text) != nil {
			return names, values
		}
		names, values = append(names, name.(string)), append(values, text)
	}
	return names, values
}

// cellText returns a text without its quotes, and any other value as it is.
func cellText(text []byte) string {
	var plain string
	if json.Unmarshal(text, &plain) == nil && !bytes.Equal(bytes.TrimSpace(text), []byte("null")) {
		return plain
	}
	return string(text)
}

// sampleTest returns the text with a test to start from.
func (s *Session) sampleTest(_ context.Context, r request) (any, error) {
	d, err := s.open(r)
	if err != nil {
		return nil, err
	}
	sample, err := d.SampleTest()
	if err != nil {
		return nil, err
	}
	root, err := rules.ParseJSON(diag.NewSource("", "{"+sample+"}"))
	if err != nil {
		return nil, err
	}
	all, _ := value.Members(root)
	tests, _ := all.Get("tests")
	text, err := workbench.Changed(r.Text, []stress.Change{{Path: []string{"tests"}, Value: tests}})
	if err != nil {
		return nil, err
	}
	return changedText{text}, nil
}
