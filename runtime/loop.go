package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/value"
)

// Loop is what a run is made with. It may run several jobs, one after another
// or at once.
type Loop struct {
	Client   *Client
	Clock    Clock        // nil: the system's
	Log      *slog.Logger // nil: silent
	Redactor *Redactor    // nil: nothing is secret
	MaxDepth int          // nesting of a response; 0: 512
	MaxItems int          // of a response; 0: a million
	Verdicts bool         // give every verdict its values, not those that were met alone

	Prefetch int // pages under way at a time, where no request reads a response; 0: one; AutoPrefetch: as many as help

	Resume map[string]json.RawMessage // where jobs go on, as [Page.Checkpoint] gave it; a job that had ended is not run again

	Kept map[string]map[string]any // what earlier runs kept, by job and name

	Observe func(e *compile.Expression, v any) // sees the value of every rule; nil: nobody
}

// Sink takes a job's pages, in order. An error ends the run.
type Sink func(context.Context, *Page) error

// Run runs a job to its end and hands every page to the sink. The result tells
// how far it came, also with an error, which is an [*Error] unless it is the
// sink's own. No item of a page leaves before the whole page was read and
// judged; a page whose rules fail is handed over all the same.
func (l Loop) Run(ctx context.Context, job *compile.Job, sink Sink) (Result, error) {
	s := newScroll(l.withDefaults(), job)
	defer s.release()
	state, request, err := job.Begin(&s.machine, &s.page)
	if err != nil {
		err = s.fault(ClassConfig, err)
		return s.ended(err), err
	}
	s.page.State = state
	if token := l.Resume[s.result.Job]; token != nil {
		more := false
		if request, more, err = s.resume(token); err != nil || !more {
			return s.result, err
		}
	}
	if s.ahead = newAhead(ctx, s, request); s.ahead == nil && l.Prefetch > 1 && job.Paged() {
		s.Log.Info(fmt.Sprintf("Job '%s' takes one page at a time: %s", s.result.Job, s.Redactor.String(job.Waits())), "event", "sequential", "job", s.result.Job)
	}
	for {
		end, next, err := s.step(ctx, request, sink)
		if err != nil || end {
			return s.ended(err), err
		}
		request = next
	}
}

// release gives back what the last pages stand in.
func (s *scroll) release() {
	if s.ahead != nil {
		s.ahead.end()
	}
	for _, b := range s.buffers {
		b.Release()
	}
}

// keep settles what the next run is told, once the list is complete.
func (s *scroll) keep() error {
	if s.result.Outcome != rules.Complete {
		return nil
	}
	kept, err := s.job.Keep(&s.machine, &s.page)
	if err != nil {
		return s.fault(ClassResponse, err)
	}
	if kept != nil {
		s.result.Kept = kept
	}
	return nil
}

// ended is the result; a run that ended with an error has failed.
func (s *scroll) ended(err error) Result {
	s.result.Seconds = s.seconds()
	if err != nil && s.result.Outcome != rules.Failed {
		s.result.Outcome, s.result.Reason, s.result.StoppedBy, s.result.Message = rules.Failed, "error", []string{}, s.Redactor.String(err.Error())
	}
	return s.result
}

func (l Loop) withDefaults() Loop {
	if l.Clock == nil {
		l.Clock = SystemClock
	}
	if l.Log == nil {
		l.Log = slog.New(slog.DiscardHandler)
	}
	if l.Redactor == nil {
		l.Redactor = NewRedactor(nil)
	}
	return l
}

// step obtains one page, judges it, hands it over, and makes the next request.
func (s *scroll) step(ctx context.Context, request rules.Request, sink Sink) (end bool, next rules.Request, err error) {
	response, action, began, err := s.fetch(ctx, request)
	if err != nil {
		return false, next, err
	}
	switch action.do {
	case "stop":
		return true, next, s.endOnError(ctx, request, response, action, began, sink)
	case "restart":
		return s.restart(action)
	}
	page, err := s.read(request, response, began)
	if err != nil {
		return false, next, err
	}
	if s.ahead != nil && !s.ahead.begun {
		first := s.page // signs looks further into the body
		s.ahead.learn(s.signs(&first).Total, first.Limit)
	}
	judged := s.judge(page)
	if judged == nil && page.Decision == Continue {
		next, judged = s.advance(page)
	}
	if judged == nil && page.Decision == Stop {
		judged = s.keep()
	}
	if judged != nil {
		page.fail(judged)
	}
	if page.Decision == Stop {
		page.Findings = s.audit(s.result.Items + page.Items.Len())
	}
	if err := s.hand(ctx, page, sink); err != nil {
		return false, next, err
	}
	s.result.Items += page.Items.Len()
	s.tell(page)
	if judged != nil {
		return false, next, judged
	}
	return page.Decision == Stop, next, s.outcome(page)
}

// hand gives a page to the sink.
func (s *scroll) hand(ctx context.Context, page *Page, sink Sink) error {
	page.checkpoint = func() (json.RawMessage, error) { return s.checkpoint(page) }
	defer func() { page.checkpoint = nil }()
	if err := sink(ctx, page); err != nil {
		return s.sinkFault(err)
	}
	return nil
}

// fail makes a page the last one, because a rule failed on it.
func (p *Page) fail(err error) {
	p.Decision, p.Outcome = Stop, rules.Failed
	if failed := (*compile.RuleError)(nil); errors.As(err, &failed) {
		p.StoppedBy = []string{failed.Rule.ID}
	}
}

// advance changes the state and makes the next request. Where there is none to
// make, the page is the last.
func (s *scroll) advance(page *Page) (rules.Request, error) {
	if !s.job.Paged() {
		s.stop(page, []string{"end"}, rules.Complete, "one page is all there is: the job is not paged")
		return rules.Request{}, nil
	}
	state, parts, more, err := s.job.Advance(&s.machine, &s.page)
	if err != nil {
		return rules.Request{}, s.fault(ClassResponse, err)
	}
	s.page.State, s.parts = state, parts
	if !more {
		s.stop(page, []string{"nextRequest"}, rules.Complete, fmt.Sprintf("the rules give no next request after page %d", page.Page))
		return rules.Request{}, nil
	}
	next, err := s.job.Apply(parts, s.arrived)
	if err != nil {
		return next, s.fault(ClassResponse, err)
	}
	s.overridden(next)
	return next, nil
}

// overridden warns of a link whose parameters the job's own take the place of.
func (s *scroll) overridden(next rules.Request) {
	if !s.job.Set.IncludeParams {
		return
	}
	for _, m := range rules.ParseQuery(next.Endpoint) {
		own, sent := next.Params.Get(m.Name)
		if _, ofJob := s.job.Set.Job.Params.Get(m.Name); !sent || !ofJob {
			continue
		}
		if text, ok := value.Text(own); ok && text != m.Value {
			s.warn("overridden "+m.Name, fmt.Sprintf("the link to the next page says %s=%v, but the job's own %s=%s takes its place (includeParams)", m.Name, m.Value, m.Name, text))
		}
	}
}

// outcome is the error of a scroll that ended as failed.
func (s *scroll) outcome(page *Page) error {
	if page.Decision != Stop || page.Outcome != rules.Failed {
		return nil
	}
	e := &Error{Class: ClassResponse, Job: s.result.Job, Page: page.Page, Op: "rule " + s.result.Reason, Message: s.result.Message}
	for _, stop := range s.job.Stops {
		if stop.Rule.ID == s.result.Reason && stop.Rule.Guard {
			e.Class, e.Hint = ClassPolicy, stop.Rule.Hint
		}
	}
	return e
}

// stop makes a page the last one.
func (s *scroll) stop(page *Page, by []string, outcome rules.Outcome, message string) {
	page.Decision, page.StoppedBy, page.Outcome = Stop, by, outcome
	s.finish(by, outcome, message)
}

// finish settles why the scrolling ended.
func (s *scroll) finish(by []string, outcome rules.Outcome, message string) {
	s.result.Outcome, s.result.StoppedBy, s.result.Reason, s.result.Message = outcome, by, by[0], s.Redactor.String(message)
}

// endOnError ends the scroll on an error response. The sink gets it as a last
// page without items, so that the trace tells what ended the list.
func (s *scroll) endOnError(ctx context.Context, request rules.Request, r *Response, action errorAction, began time.Time, sink Sink) error {
	by := []string{action.rule.ID}
	s.finish(by, action.rule.Outcome, action.text)
	page := &Page{Record: Record{
		Job: s.result.Job, Page: s.page.Page + 1, Request: s.sent(request), Status: r.Status, Verdicts: []Verdict{{Rule: action.rule.ID, Met: true, Because: action.because}},
		Decision: Stop, StoppedBy: by, Outcome: action.rule.Outcome, Attempts: r.Attempts,
		At: began.Sub(s.started).Milliseconds(), Millis: s.Clock.Now().Sub(began).Milliseconds(), Findings: s.audit(s.result.Items),
	}}
	kept := s.keep()
	if kept != nil {
		page.fail(kept)
	}
	if err := s.hand(ctx, page, sink); err != nil {
		return err
	}
	s.tellEnd()
	return kept
}

// restart begins anew after an error that says that the position is lost.
func (s *scroll) restart(action errorAction) (bool, rules.Request, error) {
	if s.restarts++; s.restarts > compile.MaxRestarts {
		return false, rules.Request{}, &Error{Class: ClassPolicy, Job: s.result.Job, Page: s.result.Pages + 1, Op: "rule " + action.rule.ID,
			Message: fmt.Sprintf("restarted %d times without coming to an end", compile.MaxRestarts)}
	}
	s.Log.Warn(fmt.Sprintf("Job '%s' begins anew: %s", s.result.Job, action.text), "event", "restart", "job", s.result.Job, "rule", action.rule.ID)
	s.begin()
	state, request, err := s.job.Begin(&s.machine, &s.page)
	if err != nil {
		err = s.fault(ClassConfig, err)
	}
	s.page.State = state
	s.leaveAhead()
	return false, request, err
}

// tell logs a page and, if it is the last, why the scrolling ended.
func (s *scroll) tell(page *Page) {
	s.Log.Debug(fmt.Sprintf("Job '%s' page %d: %d items", page.Job, page.Page, page.Count), "event", "page_ok", "job", page.Job, "page", page.Page,
		"items", page.Count, "bytes", page.Bytes, "ms", page.Millis, "url", page.Request.URL)
	if page.Decision == Stop && page.Outcome != rules.Failed {
		s.tellEnd()
	}
}

// tellEnd logs why the scrolling ended.
func (s *scroll) tellEnd() {
	r := s.result
	message := r.Message
	if !strings.HasPrefix(message, "Job '") {
		message = fmt.Sprintf("Job '%s' stopped: %s", r.Job, message)
	}
	s.Log.Info(message, "event", "stop", "job", r.Job, "page", s.page.Page, "rule", strings.Join(r.StoppedBy, ","), "outcome", r.Outcome)
}

// fault wraps an error of a rule or of reading with job and page.
func (s *scroll) fault(class Class, err error) error {
	e := &Error{Class: class, Job: s.result.Job, Page: s.page.Page, Err: err}
	if failed := (*compile.RuleError)(nil); errors.As(err, &failed) {
		e.Op = "rule " + failed.Rule.ID
		if errors.Is(err, compile.ErrBudget) {
			e.Class = ClassPolicy
		}
		e.Message = fmt.Sprintf("%v, in %s (%s)", failed.Err, failed.Rule.Source, failed.Rule.Origin)
	}
	return e
}

func (s *scroll) sinkFault(err error) error {
	if known := (*Error)(nil); errors.As(err, &known) {
		return err
	}
	return fmt.Errorf("job %s, page %d: %w", s.result.Job, s.page.Page, err)
}

func (s *scroll) seconds() float64 {
	return s.Clock.Now().Sub(s.started).Round(time.Millisecond).Seconds()
}
