package stress

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime"
	"github.com/stopwhen/stopwhen/runtime/partition"
)

// A subject is a job of a suite, as the model needs it, with values for its variables.
type subject struct {
	suite   *Suite
	job     *compile.Job
	binding map[string]any      // nil for a job without variables
	watch   func(*runtime.Page) // receives the pages; may be nil
}

// run runs the job against an API. most is the maximum number of requests.
func (s *subject) run(ctx context.Context, a *api, most int) *run {
	job, r := s.job, newRun(most)
	a.job, r.apis, r.rowOf, r.rows = job, []*api{a}, a.rowOf, a.known
	r.apiOf = func(runtime.Partition) *api { return a }
	loop := s.suite.Walk(Environment{Transport: r, Clock: r})
	list := runtime.List{Partition: runtime.Partition{Job: job, Binding: s.binding}}
	end, err := loop.RunList(ctx, list, func(ctx context.Context, d *runtime.Delivery) (bool, error) {
		if s.watch != nil {
			s.watch(d.Page)
		}
		return true, r.receive(ctx, d.Page)
	})
	r.end, r.err = end.Result, err
	if partition.Skips(job, r.err) {
		r.end.Outcome, r.err = rules.Partial, nil
	}
	r.end.Refused = loop.Accept != nil && r.end.Ended() && !loop.Accept(r.end)
	r.results = []runtime.Result{r.end}
	return r
}

// plain returns a job as the model needs it: its responses are JSON, and all items are delivered as
// the API sends them, so that they can be counted.
func plain(job *compile.Job) *compile.Job {
	changed, set := *job, *job.Ruleset
	set.Job.Response = rules.ResponseFormat{Format: rules.FormatJSON}
	changed.Ruleset, changed.ItemRules = &set, compile.ItemRules{}
	return &changed
}

// withoutLimits returns a job without the limits of the user.
func withoutLimits(job *compile.Job) *compile.Job {
	changed := *job
	changed.Stops = slices.DeleteFunc(slices.Clone(job.Stops), isLimit)
	return &changed
}

// jobOf returns a job of a configuration as it runs against the model of the plan.
func (p *plan) jobOf(job *compile.Job) *compile.Job {
	if p.unlimited {
		job = withoutLimits(job)
	}
	return plain(job)
}

// isLimit reports whether a stopping rule is a limit of the user: the list may have more.
func isLimit(c *compile.Trigger) bool { return c.Rule.Outcome == rules.Limited && !c.Rule.Guard }

// sampleBinding returns values for the variables of a job.
func sampleBinding(job *compile.Job) map[string]any {
	if len(job.Ruleset.ForNames) == 0 {
		return nil
	}
	binding := map[string]any{}
	for j := job; j != nil; j = j.Parent {
		for _, s := range j.For {
			binding[s.Name] = sampleValue(j, s)
		}
	}
	return binding
}

func sampleValue(job *compile.Job, v compile.ForVariable) any {
	switch {
	case v.Items != "":
		var item any
		for i, path := range job.ItemPaths {
			item = place(cmp.Or[any](item, value.Object{}), path, fmt.Sprintf("sample%d", i+1))
		}
		return item
	case v.Window != nil:
		if !v.Window.Step.IsTime() {
			return map[string]any{"from": 0, "to": 1000}
		}
		return map[string]any{"from": keyStart, "to": keyStart.Add(30 * 24 * time.Hour)}
	case len(v.Constants) > 0:
		return v.Constants[0]
	}
	return "sample"
}

// A modelledJob is a subject with a plan for its model.
type modelledJob struct {
	subject
	*plan
	seed int // varies where behaviours happen

	findings []string // about the list of an ordinary API
	judged   bool     // whether findings are known
}

// model finds a plan for a job. The error says that no plan obtains the list.
func (s *Suite) model(ctx context.Context, job *compile.Job, rec recording) (*modelledJob, error) {
	modelled := subject{suite: s, job: plain(job), binding: sampleBinding(job)}
	p, err := modelled.planOf(ctx, rec)
	if err != nil && slices.ContainsFunc(job.Stops, isLimit) { // it may be shorter than a list of the model
		modelled.job = withoutLimits(modelled.job)
		if p, err = modelled.planOf(ctx, rec); p != nil {
			p.unlimited = true
		}
	}
	if err != nil {
		return nil, err
	}
	p.limited = job.Ruleset.Limit != nil || saysSize(job, p.pageSize)
	p.lines = job.Ruleset.Job.Response.Format.IsLines()
	return &modelledJob{subject: modelled, plan: p}, nil
}

// in returns the same job of another suite with the same model, or nil if that suite has no such job.
func (m *modelledJob) in(suite *Suite) *modelledJob {
	i := slices.IndexFunc(suite.Jobs, func(j *compile.Job) bool { return j.ID() == m.job.ID() })
	if i < 0 {
		return nil
	}
	other := *m
	other.judged = false
	other.suite, other.job = suite, m.jobOf(suite.Jobs[i])
	return &other
}

// row runs the job with behaviours, and judges the run.
func (m *modelledJob) row(ctx context.Context, all combination) (Row, *run) {
	r := m.runWith(ctx, all)
	return m.suite.judge(r, all, m.usual(ctx)), r
}

// usual returns the findings about the list of an ordinary API.
func (m *modelledJob) usual(ctx context.Context) []string {
	if !m.judged {
		m.findings, m.judged = m.runWith(ctx, combination{ordinary}).findings(), true
	}
	return m.findings
}

// runWith runs the job with behaviours. An endless run ends as the guard would end it, but earlier.
func (m *modelledJob) runWith(ctx context.Context, behaviours combination) *run {
	r := m.run(ctx, m.behaving(behaviours), maxJudgedRequests)
	if !r.stopped {
		return r
	}
	suite, err := m.suite.changed([]Change{{Path: append(keysOf(m.job.Ruleset.Path), "guards", "maxPages"), Value: endlessPages}})
	if err != nil {
		return r
	}
	other := m.in(suite)
	if guarded := other.run(ctx, other.behaving(behaviours), maxJudgedRequests); !guarded.stopped {
		guarded.stopped = true
		return guarded
	}
	return r
}

// behaving returns a model with behaviours.
func (m *modelledJob) behaving(behaviours combination) *api {
	n := m.ordinaryLength()
	for _, b := range behaviours {
		if b.items != nil {
			n = b.items(m.pageSize)
		}
	}
	a := m.api(n)
	a.job, a.seed = m.job, m.seed
	for _, b := range behaviours {
		if b.begin != nil {
			b.begin(a)
		}
		if b.reply != nil {
			a.effects = append(a.effects, b.reply)
		}
	}
	return a
}
