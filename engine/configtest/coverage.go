package configtest

import (
	"slices"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/compile/language"
	"github.com/stopwhen/stopwhen/rules"
)

// JobCoverage describes which rules of a job its tests cover.
type JobCoverage struct {
	Job   string         `json:"job"`
	Tests int            `json:"tests"` // that test this job
	Rules []RuleCoverage `json:"rules"` // in the order in which they are evaluated
}

// RuleCoverage counts the evaluations of one rule in all tests.
type RuleCoverage struct {
	Rule      string       `json:"rule"`
	Source    string       `json:"source"`
	Origin    rules.Origin `json:"origin"`
	Condition bool         `json:"condition"`       // true or false; other rules give values
	Guard     bool         `json:"guard,omitempty"` // a guard against APIs that make no progress; never a gap
	Evaluated int          `json:"evaluated"`
	Met       int          `json:"met"` // how often a condition was true
	Gap       Gap          `json:"gap,omitempty"`
}

// A Gap is a result of a rule that no test shows; "" means that there is no gap.
type Gap string

// The gaps.
const (
	NeverEvaluated Gap = "never evaluated"
	NeverTrue      Gap = "never true"
	NeverFalse     Gap = "never false"
)

// coverage counts the values of all rules.
type coverage struct {
	evaluated, met map[*language.Expression]int
	tests          map[*compile.Job]int
}

func newCoverage() *coverage {
	return &coverage{evaluated: map[*language.Expression]int{}, met: map[*language.Expression]int{}, tests: map[*compile.Job]int{}}
}

// add counts one value of a rule.
func (c *coverage) add(e *language.Expression, v any) {
	c.evaluated[e]++
	if v == true {
		c.met[e]++
	}
}

// report returns the coverage of a job's rules. Audit rules are left out: they
// stop nothing.
func (c *coverage) report(job *compile.Job, redact func(string) string) JobCoverage {
	out := JobCoverage{Job: job.ID(), Tests: c.tests[job], Rules: []RuleCoverage{}}
	conditions := []*language.Expression{}
	for _, s := range slices.Concat(job.Stops, job.OnErrors) {
		conditions = append(conditions, s.Expression)
	}
	for _, e := range slices.Concat(job.Init, conditions, job.Next, job.Parts, job.Keeps) {
		r := RuleCoverage{
			Rule: e.Rule.ID, Source: redact(e.Rule.Source), Origin: e.Rule.Origin, Guard: e.Rule.Guard,
			Condition: e.Rule.Role == rules.RoleStop || e.Rule.Role == rules.RoleOnError, Evaluated: c.evaluated[e],
		}
		if r.Condition {
			r.Met = c.met[e]
		}
		r.Gap = r.gap()
		out.Rules = append(out.Rules, r)
	}
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

// Both returns how many of the conditions that are not guards were true on one page and false on
// another, and how many there are.
func (c JobCoverage) Both() (both, total int) {
	for _, r := range c.Rules {
		if !r.Condition || r.Guard {
			continue
		}
		total++
		if r.Gap == "" {
			both++
		}
	}
	return both, total
}

// Gaps returns the rules that the tests do not show completely.
func (c JobCoverage) Gaps() []RuleCoverage {
	var gaps []RuleCoverage
	for _, r := range c.Rules {
		if r.Gap != "" {
			gaps = append(gaps, r)
		}
	}
	return gaps
}
