package runtime

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"time"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/value"
)

// scroll is the state of one job while it runs: the page context, and what has
// to be remembered between pages.
type scroll struct {
	Loop
	job      *compile.Job
	switches rules.Switches
	reader   *pageReader
	flags    []flag // that rules read
	machine  compile.Machine
	page     rules.Context
	result   Result
	started  time.Time
	restarts int
	most     int                                 // items of the largest page
	look     func(paths [][]string) (any, error) // further values of the last response
	parts    compile.Parts                       // of the next request
	arrived  string                              // URL of the last response, after redirects

	first     digest          // content of the first response
	last      reading         // of the last response
	exchanges map[digest]bool // requests with their responses
	order     []digest        // the last of them, in order
	head      []byte          // of the last response's body
	kept      *rules.Hints    // of the last response, if it came in the run before; nil: it did not
	ahead     *ahead          // nil: one page at a time
	buffers   [2]*Buffer      // for the bodies of this page and the one before, in turns
	reported  map[string]bool // warnings that were given
}

func newScroll(l Loop, job *compile.Job) *scroll {
	s := &scroll{Loop: l, job: job, flags: flagsOf(job), switches: rules.SwitchesOf(job.Set.Dialect), reported: map[string]bool{}, buffers: [2]*Buffer{{}, {}}}
	s.reader = newPageReader(job, s.switches, l, s.warn)
	s.result.Job, s.result.Kept = job.Set.Job.ID, l.Kept[job.Set.Job.ID]
	s.machine.Observe = l.Observe
	s.started = l.Clock.Now()
	s.begin()
	return s
}

// begin forgets all pages, for the first request of a scroll.
func (s *scroll) begin() {
	total := s.page.Total
	s.page = rules.Context{
		Limit: s.job.Set.Limit, Total: total, Kept: s.Kept[s.job.Set.Job.ID], Now: func() time.Time { return s.started },
		Job: rules.JobFacts{ID: s.job.Set.Job.ID, Endpoint: s.job.Set.Job.Endpoint, Params: s.public(s.job.Set.Job.Params)},
	}
	s.exchanges, s.order = map[digest]bool{}, nil
	s.last = reading{}
}

// errorAction is what an onError rule decided.
type errorAction struct {
	rule rules.Rule
	do   string // empty: no rule holds
	text string // the rule's message

	because string // the rule with the values that decided it
}

// fetch makes the exchange of one page, with its retries, or takes the one that
// was made ahead. The onError rules decide what becomes of an error response.
func (s *scroll) fetch(ctx context.Context, request rules.Request) (*Response, errorAction, time.Time, error) {
	var action errorAction
	began := s.Clock.Now()
	call, err := s.call(request)
	if err != nil {
		return nil, action, began, s.fault(ClassConfig, err)
	}
	decide := func(r *Response) Decision {
		action = s.onError(r)
		switch action.do {
		case "retry":
			return Decision{Do: "retry"}
		case "fail":
			return Decision{Do: "fail", Message: action.text}
		case "stop", "restart", "continue":
			return Decision{Do: "accept"}
		}
		return Decision{}
	}
	var response *Response
	if f := s.takeAhead(call); f != nil {
		began = f.began
		call = f.call
		call.counted = false // a repetition is a request of its own
		response, err = s.Client.settle(ctx, call, f.response, f.err, decide)
	} else {
		call.Into = s.buffer()
		response, err = s.Client.Do(ctx, call, decide)
	}
	if err != nil {
		if e, ok := err.(*Error); ok {
			e.Job, e.Page = s.result.Job, s.page.Page+1
		}
		return nil, action, began, err
	}
	if response.Status < 400 {
		action = errorAction{}
	}
	if action.do == "continue" {
		s.Log.Warn(fmt.Sprintf("Job '%s': %s", s.result.Job, action.text), "event", "warn", "code", "error_page", "job", s.result.Job, "page", s.page.Page+1)
	}
	s.arrived = response.URL
	return response, action, began, nil
}

// takeAhead is the exchange that was made ahead for a request; nil: there is none.
func (s *scroll) takeAhead(call Call) *flight {
	if s.ahead == nil {
		return nil
	}
	f, ok := s.ahead.take(call)
	if !ok {
		s.leaveAhead()
		return nil
	}
	s.ahead.free = append(s.ahead.free, s.buffers[1])
	s.buffers[0], s.buffers[1] = f.call.Into, s.buffers[0]
	return f
}

// leaveAhead goes on with one page at a time.
func (s *scroll) leaveAhead() {
	if s.ahead != nil {
		s.ahead.end()
		s.ahead = nil
	}
}

// buffer is for the next body: that of the page before the last.
func (s *scroll) buffer() *Buffer {
	s.buffers[0], s.buffers[1] = s.buffers[1], s.buffers[0]
	return s.buffers[0]
}

// say is the message of a condition that was met on a page.
func (s *scroll) say(stop *compile.Condition, page *rules.Context) string {
	if text := stop.Message.Text(&s.machine, page); text != "" {
		return text
	}
	return stop.Rule.ID + " holds: " + stop.Because(page)
}

// onError puts an error response to the onError rules; the first that holds decides.
func (s *scroll) onError(r *Response) errorAction {
	if len(s.job.OnErrors) == 0 {
		return errorAction{}
	}
	page := s.page
	page.Page++
	page.Items, page.Count, page.Body = nil, 0, nil
	page.Status, page.Header, page.Link = r.Status, headerOf(r), linkOf(r)
	if doc, err := ParseDocument(r.Body, s.job.Needs.Body, DocumentLimits{Depth: s.MaxDepth}); err == nil {
		page.Body, _ = Project(doc, s.job.Needs.Body)
	}
	for _, stop := range s.job.OnErrors {
		met, err := stop.EvalBool(&s.machine, &page)
		if err != nil {
			s.warn("onError."+stop.Rule.ID, fmt.Sprintf("rule %s: %v", stop.Rule.ID, err))
			continue
		}
		if met {
			return errorAction{rule: stop.Rule, do: stop.Rule.Do, text: s.say(stop, &page), because: s.Redactor.String(stop.Because(&page))}
		}
	}
	return errorAction{}
}

// call encodes a request.
func (s *scroll) call(request rules.Request) (Call, error) {
	dialect := s.job.Set.Dialect
	address, err := request.URL(dialect)
	if err != nil {
		return Call{}, err
	}
	body, kind, err := request.Payload(dialect)
	if err != nil {
		return Call{}, err
	}
	call := Call{Method: request.Verb(), URL: address, Body: body, Header: http.Header{}}
	if kind != "" {
		call.Header.Set("Content-Type", kind)
	}
	for _, m := range request.Headers {
		text, _ := value.Text(m.Value)
		call.Header.Set(m.Name, text)
	}
	return call, nil
}

// warn gives each warning of a scroll once.
func (s *scroll) warn(code, message string) {
	if s.reported[code] {
		return
	}
	s.reported[code] = true
	s.Log.Warn(fmt.Sprintf("Job '%s': %s", s.result.Job, message), "event", "warn", "code", code, "job", s.result.Job, "page", s.page.Page)
}

// elapsed is the scroll's running time in seconds, as its dialect counts them.
func (s *scroll) elapsed() float64 {
	now := s.Clock.Now()
	if s.switches.WholeSeconds {
		return float64(now.Unix() - s.started.Unix())
	}
	return math.Max(0, now.Sub(s.started).Seconds())
}

func headerOf(r *Response) func(string) any {
	return func(name string) any {
		if values := r.Header.Values(name); len(values) > 0 {
			return values[0]
		}
		return nil
	}
}
