package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime"
)

// TestReport is what came of the tests of a configuration.
type TestReport struct {
	Tests    []TestResult  `json:"tests"`
	Coverage []JobCoverage `json:"coverage"` // of every job, in their order
}

// Failed counts the tests that failed.
func (r *TestReport) Failed() int {
	n := 0
	for _, t := range r.Tests {
		if !t.OK {
			n++
		}
	}
	return n
}

// TestResult is what came of one test.
type TestResult struct {
	Name        string       `json:"name"`
	Job         string       `json:"job"`
	Place       string       `json:"place,omitempty"` // file:line:column
	OK          bool         `json:"ok"`
	Differences []Difference `json:"differences,omitempty"` // why it failed
	Because     []string     `json:"because,omitempty"`     // what decided on the last page, with the values
	Result      JobResult    `json:"result"`
	Exit        int          `json:"exit"` // the status of `stopwhen run`
	Requests    []string     `json:"requests"`
}

// Difference is one thing that a test expects and that came otherwise.
type Difference struct {
	Of      string `json:"of,omitempty"` // the key of expect; empty: see Message
	Want    string `json:"want,omitempty"`
	Got     string `json:"got,omitempty"`
	Message string `json:"message,omitempty"` // what is wrong, or how to cure it
}

// Tests lists the names of the configuration's tests, in their order.
func (e *Engine) Tests() []string {
	names := make([]string, len(e.cfg.Tests))
	for i, t := range e.cfg.Tests {
		names[i] = t.Name
	}
	return names
}

// Test runs the tests that the configuration has: each runs its job on the pages
// that the test gives and on a clock of its own, so that waiting takes no time.
// There is no network in it, no request has credentials, and the transport,
// clock, logger and kept values of the engine are left alone.
func (e *Engine) Test(ctx context.Context) *TestReport {
	report := &TestReport{Tests: []TestResult{}, Coverage: []JobCoverage{}}
	seen := newCoverage()
	for _, t := range e.cfg.Tests {
		report.Tests = append(report.Tests, e.test(ctx, t, seen))
	}
	for _, job := range e.jobs {
		report.Coverage = append(report.Coverage, seen.of(job, e.Redactor().String))
	}
	return report
}

// test runs one test.
func (e *Engine) test(ctx context.Context, t rules.Test, seen *coverage) TestResult {
	out := TestResult{Name: t.Name, Job: t.Job, Place: e.cfg.Source.Location(t.Path), Requests: []string{}}
	at := slices.IndexFunc(e.jobs, func(j *compile.Job) bool { return j.Set.Job.ID == t.Job })
	if at < 0 {
		out.Differences = []Difference{{Message: fmt.Sprintf("job %s is not run: it is the same as one before it", t.Job)}}
		return out
	}
	job := e.jobs[at]
	seen.tests[job]++
	trial := newTrial(e, job, t)
	trial.run(ctx, seen)
	out.Result, out.Exit, out.Requests = trial.result, exitStatus(trial.err), append(out.Requests, trial.script.requests...)
	out.Because, out.Differences = trial.because(), trial.compare()
	out.OK = len(out.Differences) == 0
	return out
}

// trial is one run of a job on the pages of a test.
type trial struct {
	test   rules.Test
	job    *compile.Job
	loop   runtime.Loop
	script *script
	redact func(string) string

	items  []json.RawMessage
	last   *Record // of the last page; nil: none was obtained
	result JobResult
	err    error
}

func newTrial(e *Engine, job *compile.Job, t rules.Test) *trial {
	base, _ := url.Parse(e.cfg.BaseURL) // checked when it was loaded
	s := &script{answers: t.Pages, origin: base, redact: e.Redactor().String, now: scriptStart}
	cfg := *e.cfg
	cfg.Auth = nil
	scripted := e.With(WithTransport(s), WithClock(s), WithLogger(nil), WithVerdicts(), WithKept(map[string]map[string]any{t.Job: t.Kept}))
	scripted.cfg = &cfg
	scripted.settings.jitter = func(bound time.Duration) time.Duration { return bound }
	return &trial{test: t, job: job, loop: scripted.loop(), script: s, redact: e.Redactor().String}
}

func (t *trial) run(ctx context.Context, seen *coverage) {
	t.loop.Observe = seen.see
	t.result, t.err = t.loop.Run(ctx, t.job, func(_ context.Context, page *Page) error {
		t.last = &page.Record
		for item := range page.Items.All() {
			t.items = append(t.items, bytes.Clone(item))
		}
		return nil
	})
}

// because says what decided on the last page, a rule a line, with the values.
func (t *trial) because() []string {
	page, beyond := t.last, t.script.beyond != ""
	if page == nil || page.Decision == runtime.Continue && !beyond {
		return nil
	}
	if page.Decision == runtime.Continue {
		lines := []string{fmt.Sprintf("page %d did not stop it:", page.Page)}
		for _, v := range page.Verdicts {
			if !t.guard(v.Rule) {
				lines = append(lines, "  "+v.Rule+" is not met: "+reason(v))
			}
		}
		return lines
	}
	var lines []string
	for _, v := range page.Met() {
		lines = append(lines, fmt.Sprintf("stopped on page %d by %s: %s", page.Page, v.Rule, reason(v)))
	}
	if lines == nil {
		lines = []string{fmt.Sprintf("stopped on page %d by %s: %s", page.Page, strings.Join(page.StoppedBy, " and "), t.redact(t.result.Message))}
	}
	return lines
}

func reason(v runtime.Verdict) string {
	if len(v.Missing) == 0 {
		return v.Because
	}
	return v.Because + " (the response does not have " + strings.Join(v.Missing, ", ") + ")"
}

func (t *trial) guard(id string) bool {
	return slices.ContainsFunc(t.job.Stops, func(s *compile.Condition) bool { return s.Rule.ID == id && s.Rule.Guard })
}

// compare finds what came otherwise than the test expects. Where the run ended
// in a way that the test does not speak of, that alone is said.
func (t *trial) compare() []Difference {
	want := t.test.Expect
	if t.script.beyond != "" {
		return []Difference{{Message: t.script.problem()}}
	}
	expected := want.Error != "" || want.Exit != nil || want.Outcome != "" || want.Reason != "" || want.Message != ""
	if t.err != nil && !expected {
		return []Difference{{Message: "the run failed: " + t.redact(t.err.Error())}}
	}
	d := &differences{}
	if problem := t.script.problem(); problem != "" {
		d.list = append(d.list, Difference{Message: problem})
	}
	t.compareEnd(d, want)
	d.count("pages", want.Pages, t.result.Pages)
	d.count("items", want.Items, len(t.items))
	if want.List != nil {
		d.each("items", texts(want.List), t.redacted(texts(t.items)), func(want, got string) bool { return want == got })
	}
	if want.Requests != nil {
		d.each("requests", want.Requests, t.script.requests, sameRequest)
	}
	if want.Kept != nil {
		t.compareKept(d, want.Kept)
	}
	return d.list
}

// compareEnd compares how the run ended.
func (t *trial) compareEnd(d *differences, want rules.Expect) {
	r := t.result
	if want.StoppedBy != nil && !slices.Equal(want.StoppedBy, r.StoppedBy) {
		d.add("stoppedBy", listed(want.StoppedBy), listed(r.StoppedBy), t.unknown(want.StoppedBy...))
	}
	if want.Reason != "" && want.Reason != r.Reason {
		d.add("reason", want.Reason, r.Reason, t.unknown(want.Reason))
	}
	if want.Outcome != "" && want.Outcome != r.Outcome {
		d.add("outcome", string(want.Outcome), string(r.Outcome), t.failure())
	}
	if want.Message != "" && !strings.Contains(r.Message, want.Message) {
		d.add("message", "one with "+quoted(want.Message), quoted(t.redact(r.Message)), "")
	}
	if got := exitStatus(t.err); want.Exit != nil && *want.Exit != got {
		d.add("exit", fmt.Sprint(*want.Exit), fmt.Sprint(got), t.failure())
	}
	if want.Error != "" {
		switch got := t.failure(); {
		case got == "":
			d.add("error", "one with "+quoted(want.Error), "none", "")
		case !strings.Contains(got, want.Error):
			d.add("error", "one with "+quoted(want.Error), quoted(got), "")
		}
	}
	if want.Findings != nil {
		var got []string
		for _, f := range r.Findings {
			got = append(got, f.ID)
		}
		if !slices.Equal(want.Findings, got) {
			d.add("findings", listed(want.Findings), listed(got), "")
		}
	}
}

// failure is the error of the run, if it has one.
func (t *trial) failure() string {
	if t.err == nil {
		return ""
	}
	return t.redact(t.err.Error())
}

// unknown names an id that no rule of the job has.
func (t *trial) unknown(ids ...string) string {
	known := []string{"end", "nextRequest", "error"}
	for _, r := range t.job.Set.Rules {
		if r.Role == rules.Stop || r.Role == rules.OnError {
			known = append(known, r.ID)
		}
	}
	for _, id := range ids {
		if !slices.Contains(known, id) {
			return strings.TrimSuffix(fmt.Sprintf("job %s has no rule %s; %s", t.test.Job, id, diag.DidYouMean(id, known)), "; ")
		}
	}
	return ""
}

func (t *trial) compareKept(d *differences, want map[string]any) {
	names := slices.Collect(maps.Keys(want))
	for name := range t.result.Kept {
		if _, ok := want[name]; !ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		w, expected := want[name]
		g, kept := t.result.Kept[name]
		if a, b := jsonOf(w, expected), t.redact(jsonOf(g, kept)); a != b {
			d.add("kept."+name, a, b, "")
		}
	}
}

func jsonOf(v any, present bool) string {
	if !present {
		return nothing
	}
	text, err := value.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func (t *trial) redacted(list []string) []string {
	for i := range list {
		list[i] = t.redact(list[i])
	}
	return list
}

// sameRequest compares a request with what a test expects, which may leave the
// body out.
func sameRequest(want, got string) bool {
	if strings.Count(want, " ") == 1 {
		parts := strings.SplitN(got, " ", 3)
		got = strings.Join(parts[:min(len(parts), 2)], " ")
	}
	return want == got
}

func texts(list []json.RawMessage) []string {
	out := make([]string, len(list))
	for i, raw := range list {
		out[i] = string(raw)
	}
	return out
}

func listed(ids []string) string {
	if len(ids) == 0 {
		return nothing
	}
	return strings.Join(ids, ", ")
}

func quoted(text string) string { return fmt.Sprintf("%q", text) }

// nothing is what stands in a difference for what is not there.
const nothing = "nothing"

// differences collects them.
type differences struct{ list []Difference }

func (d *differences) add(of, want, got, message string) {
	d.list = append(d.list, Difference{Of: of, Want: want, Got: got, Message: message})
}

func (d *differences) count(of string, want *int, got int) {
	if want != nil && *want != got {
		d.add(of, fmt.Sprint(*want), fmt.Sprint(got), "")
	}
}

// each compares two lists and tells the first difference, and of the lengths.
func (d *differences) each(of string, want, got []string, same func(want, got string) bool) {
	if len(want) != len(got) {
		d.add(of, fmt.Sprint(len(want)), fmt.Sprint(len(got)), "")
	}
	for i := range max(len(want), len(got)) {
		w, g := nothing, nothing
		if i < len(want) {
			w = want[i]
		}
		if i < len(got) {
			g = got[i]
		}
		if w == nothing || g == nothing || !same(w, g) {
			d.add(fmt.Sprintf("%s[%d]", of, i), w, g, rewritten(w, g))
			return
		}
	}
}

// rewritten says that two items differ in how they are written alone.
func rewritten(want, got string) string {
	a, errA := canonical(want)
	b, errB := canonical(got)
	if errors.Join(errA, errB) == nil && a == b {
		return "the values are the same, but their order or spelling is not: items come out as the API sends them"
	}
	return ""
}

func canonical(text string) (string, error) {
	var v any
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		return "", err
	}
	out, err := json.Marshal(v)
	return string(out), err
}
