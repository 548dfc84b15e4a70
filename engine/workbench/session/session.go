// Package session is the workbench for one page of a browser: it keeps the recordings and the runs
// that the page works with, so that a call has only their ids.
//
// The page of the studio calls a [Session] over HTTP, and that of the playground in the browser.
package session

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"github.com/stopwhen/stopwhen/engine/recording"
	"github.com/stopwhen/stopwhen/engine/workbench"
	"github.com/stopwhen/stopwhen/fixtures"
)

// A Session answers the calls of one page. It is safe for concurrent use.
type Session struct {
	bench *workbench.Workbench
	live  func() workbench.Source // nil if runs cannot reach an API

	mu                sync.Mutex
	document          *workbench.Document
	documentRecording string             // id of the recording of document
	recordings        latest[*Recording] // recordings by id
	runs              latest[*keptRun]
}

// New returns a session. live returns the source of a run that makes requests; nil if no run can reach an API.
func New(bench *workbench.Workbench, live func() workbench.Source) *Session {
	return &Session{bench: bench, live: live, recordings: latest[*Recording]{prefix: "recording"}, runs: latest[*keptRun]{prefix: "run"}}
}

// Live returns a function for [New] whose runs send their requests through a transport.
func Live(t http.RoundTripper) func() workbench.Source {
	return func() workbench.Source { return workbench.FromTransport(t) }
}

// A Recording is a recording that the page has opened or made.
type Recording struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Exchanges int    `json:"exchanges"`
	Truncated bool   `json:"truncated,omitempty"` // whether the recording ends early
	Saved     bool   `json:"saved,omitempty"`     // whether it is in a file of that name

	Archive []byte               `json:"-"`
	tape    *recording.Recording // what Archive holds
}

// open returns the document of a call. What was known of earlier texts stays known.
func (s *Session) open(r request) (*workbench.Document, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.document == nil || s.document.Name != r.Name {
		s.document, s.documentRecording = s.bench.Open(r.Name, r.Text), ""
	}
	if s.document.Text != r.Text {
		s.document = s.document.With(r.Text)
	}
	if s.documentRecording != r.Recording {
		var tape *recording.Recording
		if r.Recording != "" {
			kept, err := s.recordings.get(r.Recording)
			if err != nil {
				return nil, err
			}
			tape = kept.tape
		}
		s.document, s.documentRecording = s.document.WithRecording(tape), r.Recording
	}
	return s.document, nil
}

// Record keeps a recording for later calls.
func (s *Session) Record(name string, archive []byte) (*Recording, error) {
	tape, err := recording.Read(bytes.NewReader(archive))
	if err != nil {
		return nil, &workbench.Error{
			Message: fmt.Sprintf("%s is not a recording: %v", name, err),
			Hint:    "open a HAR file, of stopwhen record or of the developer tools of a browser",
		}
	}
	kept := &Recording{Name: name, Exchanges: len(tape.Exchanges), Truncated: tape.Truncated, Archive: archive, tape: tape}
	s.mu.Lock()
	defer s.mu.Unlock()
	kept.ID = s.recordings.add(kept)
	return kept, nil
}

// Recorded returns a recording by its id.
func (s *Session) Recorded(id string) (*Recording, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.recordings.get(id)
}

func (s *Session) record(_ context.Context, r request) (any, error) {
	return s.Record(r.Name, []byte(r.Archive))
}

// A caseInfo is a built-in case in the list of all.
type caseInfo struct {
	Name  string `json:"name"`
	Title string `json:"title"`
}

// cases lists the built-in cases whose API answers at least once.
func (s *Session) cases(context.Context, request) (any, error) {
	list, err := fixtures.All()
	if err != nil {
		return nil, err
	}
	var out []caseInfo
	for _, c := range list {
		if len(c.Exchanges) > 0 && c.Kept == nil {
			out = append(out, caseInfo{c.Name, c.Title})
		}
	}
	return out, nil
}

// An OpenedCase is a built-in case: its configuration, and a recording of its API.
type OpenedCase struct {
	Case      string     `json:"case"` // name of the case
	Name      string     `json:"name"` // name of the configuration
	Text      string     `json:"text"`
	Recording *Recording `json:"recording,omitempty"`
	Notice    string     `json:"notice,omitempty"`
}

// OpenCase plays a built-in case, and keeps the recording.
func (s *Session) OpenCase(ctx context.Context, name string) (*OpenedCase, error) {
	c, err := fixtures.Find(name)
	if err != nil {
		return nil, &workbench.Error{Message: err.Error()}
	}
	opened := &OpenedCase{Case: c.Name, Name: c.ConfigName, Text: string(fixtures.Play(c).ConfigText())}
	run, err := s.bench.Open(opened.Name, opened.Text).Run(ctx, workbench.FromCase(c), workbench.Limits{})
	switch {
	case err != nil:
		opened.Notice = errorOf(err).Message
	case run.Recording != nil:
		if opened.Recording, err = s.Record(c.Name, run.Recording); err != nil {
			return nil, err
		}
	}
	return opened, nil
}

// exampleCase is the case whose API answers the example.
const exampleCase = "demo/flag-on-the-last-page"

//go:embed example.yaml
var exampleText string

// OpenExample opens the example: its list ends too early, and the recording has the pages that are missing.
func (s *Session) OpenExample(ctx context.Context) (*OpenedCase, error) {
	opened, err := s.OpenCase(ctx, exampleCase)
	if err != nil {
		return nil, err
	}
	opened.Name, opened.Text = "orders.yaml", exampleText
	return opened, nil
}

func (s *Session) playCase(ctx context.Context, r request) (any, error) {
	return s.OpenCase(ctx, r.Case)
}

// Secrets returns the parts of a configuration that are secrets.
func (s *Session) Secrets(name, text string) []workbench.ByteRange {
	return s.bench.Open(name, text).Secrets()
}

// withoutSecrets returns the text with stars in the place of secrets.
func (s *Session) withoutSecrets(_ context.Context, r request) (any, error) {
	var b strings.Builder
	end := 0
	for _, p := range s.Secrets(r.Name, r.Text) {
		b.WriteString(r.Text[end:p.Start] + "***")
		end = p.End
	}
	return changedText{b.String() + r.Text[end:]}, nil
}

// A changedText is the text of a configuration after a change.
type changedText struct {
	Text string `json:"text"`
}

// latest keeps the latest values by their ids.
type latest[T any] struct {
	prefix string
	made   int
	kept   []T
}

// maxLatest is the number of values that are kept. The browser refers only to the current and the previous one.
const maxLatest = 8

// add keeps a value, and returns its id.
func (l *latest[T]) add(v T) string {
	l.made++
	l.kept = append(l.kept, v)
	if len(l.kept) > maxLatest {
		l.kept = append([]T{}, l.kept[1:]...)
	}
	return fmt.Sprintf("%s-%d", l.prefix, l.made)
}

// get returns a value.
func (l *latest[T]) get(id string) (T, error) {
	var n int
	if _, err := fmt.Sscanf(id, l.prefix+"-%d", &n); err == nil && n > l.made-len(l.kept) && n <= l.made {
		return l.kept[len(l.kept)-1-(l.made-n)], nil
	}
	var none T
	return none, &workbench.Error{Message: fmt.Sprintf("there is no %s %q any more", l.prefix, id), Hint: "reload the page"}
}
