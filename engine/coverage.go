package engine

import (
	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/rules"
)

// JobCoverage tells what the tests of one job saw of its rules.
type JobCoverage struct {
	Job   string         `json:"job"`
	Tests int            `json:"tests"` // how many test this job
	Rules []RuleCoverage `json:"rules"` // in the order in which they are evaluated
}

// RuleCoverage counts what became of one rule in all tests.
type RuleCoverage struct {
	Rule      string       `json:"rule"`
	Source    string       `json:"source"`
	Origin    rules.Origin `json:"origin"`
	Condition bool         `json:"condition"`       // true or false; the others give values
	Guard     bool         `json:"guard,omitempty"` // against APIs that do not get on; never a gap
	Evaluated int          `json:"evaluated"`
	Met       int          `json:"met"` // of Evaluated; of a condition
	Gap       Gap          `json:"gap,omitempty"`
}

// Gap is what no test shows of a rule; empty: nothing is missing.
type Gap string

// The gaps.
const (
	NeverEvaluated Gap = "never evaluated"
	NeverTrue      Gap = "never true"
	NeverFalse     Gap = "never false"
)

// coverage collects what the rules of all jobs gave.
type coverage struct {
	evaluated, met map[*compile.Expression]int
	tests          map[*compile.Job]int
}

func newCoverage() *coverage {
	return &coverage{evaluated: map[*compile.Expression]int{}, met: map[*compile.Expression]int{}, tests: map[*compile.Job]int{}}
}

// see counts one value of a rule.
func (c *coverage) see(e *compile.Expression, v any) {
	c.evaluated[e]++
	if v == true {
		c.met[e]++
	}
}

// of is what was seen of a job's rules. The audit has none of them: it finds
// signs and stops nothing.
func (c *coverage) of(job *compile.Job, redact func(string) string) JobCoverage {
	out := JobCoverage{Job: job.Set.Job.ID, Tests: c.tests[job], Rules: []RuleCoverage{}}
	add := func(e *compile.Expression, condition bool) {
		r := RuleCoverage{Rule: e.Rule.ID, Source: redact(e.Rule.Source), Origin: e.Rule.Origin, Condition: condition, Guard: e.Rule.Guard, Evaluated: c.evaluated[e]}
		if condition {
			r.Met = c.met[e]
		}
		r.Gap = r.gap()
		out.Rules = append(out.Rules, r)
	}
	values := func(list []*compile.Expression) {
		for _, e := range list {
			add(e, false)
		}
	}
	values(job.Init)
	for _, list := range [][]*compile.Condition{job.Stops, job.OnErrors} {
		for _, s := range list {
			add(s.Expression, true)
		}
	}
	values(job.Next)
	values(job.Parts)
	values(job.Keeps)
	return out
}

func (r RuleCoverage) gap() Gap {
	switch {
	case r.Guard:
		return ""
	case r.Evaluated == 0:
		return NeverEvaluated
	case r.Condition && r.Met == 0:
		return NeverTrue
	case r.Condition && r.Met == r.Evaluated:
		return NeverFalse
	}
	return ""
}

// Both counts the conditions, guards aside, and those of them that were both
// true and false.
func (c JobCoverage) Both() (both, all int) {
	for _, r := range c.Rules {
		if !r.Condition || r.Guard {
			continue
		}
		if all++; r.Gap == "" {
			both++
		}
	}
	return both, all
}

// Gaps are the rules of which the tests do not show everything.
func (c JobCoverage) Gaps() []RuleCoverage {
	var gaps []RuleCoverage
	for _, r := range c.Rules {
		if r.Gap != "" {
			gaps = append(gaps, r)
		}
	}
	return gaps
}
