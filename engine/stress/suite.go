package stress

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime/partition"
	"github.com/stopwhen/stopwhen/runtime/transport"
)

// A Suite holds the jobs of a configuration that are put under stress.
type Suite struct {
	Jobs       []*compile.Job // jobs that run, in order
	ExitStatus func(err error) int

	// Walk returns a walk that makes its requests in an environment, without the
	// credentials of the configuration.
	Walk func(Environment) partition.Walk

	Config  value.Object   // values of the configuration, without the outer key parameters
	Methods []rules.Method // methods that the configuration may have

	// With returns the suite of another configuration. The error says that it is invalid.
	With func(config value.Object) (*Suite, error)
}

// An Environment replaces the network and the time.
type Environment struct {
	Transport http.RoundTripper
	Clock     transport.Clock
}

// Run puts every job under stress.
func (s *Suite) Run(ctx context.Context, o Options) (*Report, error) {
	report := &Report{Version: reportVersion, Seed: o.Seed, Depth: o.depth(), Jobs: []JobReport{}}
	plans := map[string]*plan{} // plans by job, without the jobs that have no plan
	for _, job := range s.Jobs {
		jobReport, err := s.stressJob(ctx, job, o)
		if err != nil {
			return report, err
		}
		if report.Jobs = append(report.Jobs, jobReport); jobReport.modelled != nil {
			plans[jobReport.Job] = jobReport.modelled.plan
		}
	}
	for i, job := range s.Jobs {
		if job.Parent != nil {
			continue
		}
		j := &report.Jobs[i]
		tree, rows, why := s.stressTree(ctx, job, plans)
		j.Rows, j.tree = append(j.Rows, rows...), tree
		if why != "" {
			j.Left = append(j.Left, LeftOut{partitions, why})
		}
	}
	return report, ctx.Err()
}

// stressJob puts one job under stress.
func (s *Suite) stressJob(ctx context.Context, job *compile.Job, o Options) (JobReport, error) {
	report := JobReport{Job: job.ID(), Rows: []Row{}}
	rec := recordingOf(job, o.Recording)
	m, err := s.model(ctx, job, rec)
	if err != nil {
		report.Unknown = err.Error()
		if rec.missing != "" {
			report.Unknown += ". " + strings.TrimSuffix(rec.says(), ".")
		}
		return report, ctx.Err()
	}
	m.seed = o.Seed
	report.Model, report.modelled = m.sentences(), m
	if says := rec.says(); says != "" {
		report.Model = append(report.Model, says)
	}
	before := map[string]Verdict{}
	lost := map[int]*run{} // runs that need a fix, by the index of their rows
	for _, b := range combined(o.depth()) {
		if why := b.missing(m.plan); why != "" {
			if len(b) == 1 {
				report.Left = append(report.Left, LeftOut{b[0].Name, why})
			}
			continue
		}
		row, r := m.row(ctx, b)
		if ctx.Err() != nil {
			return report, ctx.Err()
		}
		if row.Verdict == Silent && !o.WithoutFixes {
			lost[len(report.Rows)] = r
		}
		if len(b) == 1 {
			before[row.Behaviour] = row.Verdict
		}
		report.Rows = append(report.Rows, row)
	}
	report.fixer = &fixer{modelledJob: m, original: job, before: before, known: map[string]*changedJob{}}
	for i, r := range lost {
		if report.Rows[i].Fix = report.fixer.fix(ctx, combinationOf(report.Rows[i].Behaviour), r); ctx.Err() != nil {
			return report, ctx.Err()
		}
	}
	return report, nil
}

// judge returns the row of a run with behaviours. usual are the findings about the list of an ordinary API, which
// say nothing about a loss.
func (s *Suite) judge(r *run, behaviours combination, usual []string) Row {
	served, missing, duplicated := r.tally()
	row := Row{
		Behaviour: behaviours.name(), Group: behaviours[0].Group, Says: behaviours.says(), Requests: r.requests,
		Served: served, Obtained: served - missing, Missing: missing, Duplicated: duplicated, Findings: r.findings(),
		Outcome: string(r.end.Outcome), Reason: r.end.Reason, Exit: s.ExitStatus(cmp.Or(r.err, r.refused())), Why: r.why(),
	}
	lost, guarded := missing+duplicated > 0, r.guarded()
	telling := slices.ContainsFunc(row.Findings, func(id string) bool { return !slices.Contains(usual, id) })
	bad := row.Exit != 0 || !guarded && r.end.Outcome != rules.Complete
	switch {
	case lost && !bad && !r.stopped && !telling:
		row.Verdict = Silent
	case r.stopped && missing == 0, guarded && !lost:
		row.Verdict = Endless
	case lost || bad:
		row.Verdict = Reported
	default:
		row.Verdict = Complete
	}
	return row
}
