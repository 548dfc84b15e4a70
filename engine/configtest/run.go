package configtest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/wording"
	"github.com/stopwhen/stopwhen/runtime"
	"github.com/stopwhen/stopwhen/runtime/failure"
	"github.com/stopwhen/stopwhen/runtime/trace"
	"github.com/stopwhen/stopwhen/runtime/transport"
)

// A Suite holds the tests of a configuration and the jobs that they run.
type Suite struct {
	Tests      []rules.Test
	Jobs       []*compile.Job // in the order in which they run
	Source     *diag.Source   // source of the configuration; nil for a configuration built in Go
	BaseURL    *url.URL
	Redact     func(text string) string
	ExitStatus func(err error) int // returns the exit status of a run that ended with err

	// CheckInputs returns what is wrong with the inputs of a test.
	CheckInputs func(values map[string]any) diag.Diagnostics

	// Judge sets Refused in the result of a job, and returns an error if a run refuses how the job ended.
	Judge func(job *runtime.Result) error

	// Loop returns a loop that makes its requests in an environment, without the
	// credentials of the configuration.
	Loop func(Environment) runtime.Loop
}

// An Environment replaces the network and the time.
type Environment struct {
	Transport http.RoundTripper
	Clock     transport.Clock
	Kept      map[string]map[string]any // values that earlier runs kept, by job and name
	Inputs    map[string]any            // values of inputs, by name
}

// reportVersion is the version of a [Report] as JSON.
const reportVersion = 1

// A Report says how the tests of a configuration ended.
type Report struct {
	Version  int           `json:"version"` // version of the JSON; keys may be added to a version
	Tests    []Result      `json:"tests"`
	Coverage []JobCoverage `json:"coverage"` // coverage of each job, in the order in which the jobs run
}

// Failed counts the tests that failed.
func (r *Report) Failed() int {
	failed := 0
	for _, t := range r.Tests {
		if !t.OK {
			failed++
		}
	}
	return failed
}

// A Result says how one test ended.
type Result struct {
	Name        string         `json:"name"`
	Job         string         `json:"job"`
	Place       string         `json:"place,omitempty"` // place of the test, as file:line:column
	OK          bool           `json:"ok"`
	Differences []Difference   `json:"differences,omitempty"` // expectations that were not met
	Because     []string       `json:"because,omitempty"`     // the rules that decided on the last page, with the values they read
	Result      runtime.Result `json:"result"`
	Exit        int            `json:"exit"` // exit status that `stopwhen run` would have
	Requests    []string       `json:"requests"`
}

// A Difference is one expectation that was not met.
type Difference struct {
	Of      string `json:"of,omitempty"` // the key of expect; empty if Message says it all
	Want    string `json:"want,omitempty"`
	Got     string `json:"got,omitempty"`
	Message string `json:"message,omitempty"` // the problem, or its fix
}

// Run runs the tests. Each runs its job on the pages of the test and on its own
// clock, which begins with the year 2026, so that waiting takes no time and nothing
// reaches the network.
func (s *Suite) Run(ctx context.Context) *Report {
	report := &Report{Version: reportVersion, Tests: []Result{}, Coverage: []JobCoverage{}}
	seen := newCoverage()
	for _, t := range s.Tests {
		report.Tests = append(report.Tests, s.run(ctx, t, seen))
	}
	for _, job := range s.Jobs {
		report.Coverage = append(report.Coverage, seen.report(job, s.Redact))
	}
	return report
}

// run runs one test.
func (s *Suite) run(ctx context.Context, t rules.Test, seen *coverage) Result {
	out := Result{Name: t.Name, Job: t.Job, Place: s.Source.Location(t.Path), Requests: []string{}}
	index := slices.IndexFunc(s.Jobs, func(j *compile.Job) bool { return j.ID() == t.Job })
	if index < 0 {
		out.Differences = []Difference{{Message: fmt.Sprintf("job %s is not run: it is identical to an earlier job", t.Job)}}
		return out
	}
	job := s.Jobs[index]
	seen.tests[job]++
	for _, d := range s.CheckInputs(t.Inputs) {
		out.Differences = append(out.Differences, Difference{Message: d.Path + ": " + d.Message + " (see the key inputs of the test)"})
	}
	if out.Differences != nil {
		return out
	}
	trial := newTrial(s, job, t)
	trial.run(ctx, seen)
	out.Result, out.Exit, out.Requests = trial.result, s.ExitStatus(trial.err), append(out.Requests, trial.script.requests...)
	out.Because, out.Differences = trial.because(), trial.compare()
	out.OK = len(out.Differences) == 0
	return out
}

// A trial is one run of a job on the pages of a test.
type trial struct {
	suite  *Suite
	test   rules.Test
	job    *compile.Job
	script *script

	items  []json.RawMessage
	last   *trace.Record // record of the last page, or nil
	result runtime.Result
	err    error
}

func newTrial(s *Suite, job *compile.Job, t rules.Test) *trial {
	return &trial{suite: s, test: t, job: job, script: &script{
		answers: t.Pages, format: job.Spec().Response.Format, origin: s.BaseURL, redact: s.Redact,
		VirtualClock: transport.VirtualClock{Time: scriptStart},
	}}
}

func (t *trial) run(ctx context.Context, seen *coverage) {
	loop := t.suite.Loop(Environment{
		Transport: t.script, Clock: t.script, Kept: map[string]map[string]any{t.test.Job: t.test.Kept}, Inputs: t.test.Inputs,
	})
	loop.Evaluated = seen.add
	list := runtime.List{Partition: runtime.Partition{Job: t.job, Binding: t.test.Binding}}
	end, err := loop.RunList(ctx, list, func(_ context.Context, d *runtime.Delivery) (delivered bool, err error) {
		t.last = &d.Page.Record
		for item := range d.Page.Items.All() {
			t.items = append(t.items, bytes.Clone(item))
		}
		return true, nil
	})
	if t.result, t.err = end.Result, err; err == nil {
		t.err = t.suite.Judge(&t.result)
	}
}

func (t *trial) redact(text string) string { return t.suite.Redact(text) }

// because returns the rules that decided on the last page, one per line, with the
// values they read.
func (t *trial) because() []string {
	page, beyond := t.last, t.script.beyond != ""
	if page == nil || page.Decision == trace.Continue && !beyond {
		return nil
	}
	if page.Decision == trace.Continue {
		lines := []string{fmt.Sprintf("no rule stopped the list on page %d:", page.Page)}
		for _, v := range page.Verdicts {
			if !t.guard(v.Rule) {
				lines = append(lines, "  "+v.Rule+" is not met: "+reason(v))
			}
		}
		return lines
	}
	var lines []string
	stopped := func(by, why string) {
		lines = append(lines, fmt.Sprintf("stopped on page %d by %s: %s", page.Page, by, why))
	}
	for _, v := range page.Met() {
		stopped(v.Rule, reason(v))
	}
	if lines == nil {
		stopped(strings.Join(page.StoppedBy, " and "), t.redact(t.result.Message))
	}
	return lines
}

// reason says why a rule was met, or was not.
func reason(v trace.Verdict) string {
	if len(v.Missing) == 0 {
		return v.Because
	}
	return v.Because + " (the response does not have " + strings.Join(v.Missing, ", ") + ")"
}

func (t *trial) guard(id string) bool {
	return slices.ContainsFunc(t.job.Stops, func(s *compile.Trigger) bool { return s.Rule.ID == id && s.Rule.Guard })
}

// A script is the transport and the clock of a test: it answers with the test's
// pages in order, and reaches no network.
type script struct {
	answers                []rules.TestResponse
	format                 rules.Format // format of the responses of the job
	origin                 *url.URL
	redact                 func(string) string
	transport.VirtualClock // the delays of pages advance it, too

	requests []string // the requests in their order, without credentials
	beyond   string   // the first request after the last page; may be empty
}

// scriptStart is the time at which every test begins.
var scriptStart = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

// RoundTrip answers with the next page.
func (s *script) RoundTrip(r *http.Request) (*http.Response, error) {
	request, err := s.describe(r)
	if err != nil {
		return nil, err
	}
	if len(s.requests) >= len(s.answers) {
		s.beyond = request
		return nil, &failure.Error{Class: failure.Internal, Message: "the test has no more pages"}
	}
	answer := s.answers[len(s.requests)]
	s.requests = append(s.requests, request)
	s.Time = s.Time.Add(answer.After)
	body, contentType := bodyOf(answer, s.format)
	header := http.Header{"Content-Type": {contentType}, "Date": {s.Time.Format(http.TimeFormat)}}
	for name, values := range answer.Headers {
		header[http.CanonicalHeaderKey(name)] = values
	}
	return transport.NewResponse(r, cmp.Or(answer.Status, http.StatusOK), header, body), nil
}

// describe writes a request as expectations do: GET /v1/users?page=1, with the
// host only if it is not the configuration's, and followed by the body.
func (s *script) describe(r *http.Request) (string, error) {
	target := r.URL.RequestURI()
	if r.URL.Scheme != s.origin.Scheme || r.URL.Host != s.origin.Host {
		target = r.URL.String()
	}
	text := r.Method + " " + target
	if r.Body != nil {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return "", err
		}
		if len(body) > 0 {
			text += " " + string(body)
		}
	}
	return s.redact(text), nil
}

// problem describes a wrong number of requests, or returns "".
func (s *script) problem() string {
	pages, requested := len(s.answers), len(s.requests)
	switch {
	case s.beyond != "":
		return fmt.Sprintf("requests page %d (%s), but the test has %s", pages+1, s.beyond, wording.Counted(pages, "page"))
	case requested == pages:
		return ""
	}
	left := fmt.Sprintf("page %d was", pages)
	if requested+1 < pages {
		left = fmt.Sprintf("pages %d to %d were", requested+1, pages)
	}
	if requested == 0 {
		return fmt.Sprintf("stopped before page 1; %s never requested", left)
	}
	return fmt.Sprintf("stopped after page %d; %s never requested", requested, left)
}
