package stress

import (
	"context"
	"fmt"
	"slices"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/rules/value"
)

// A fixer tries remedies for one job. It retains the changed configurations, because several
// behaviours may need the same one.
type fixer struct {
	*modelledJob
	original *compile.Job           // the job of the configuration, from which the job of the model was made
	before   map[string]Verdict     // verdicts of the configuration as it stands, by behaviour
	known    map[string]*changedJob // changed jobs by changes; nil if the changes are invalid or lose the ordinary list
}

// A changedJob is a job after changes of the configuration, with which it obtains the ordinary list.
type changedJob struct {
	*modelledJob
	verdicts map[string]Verdict // verdicts of all behaviours; nil until they are needed
}

// fix returns the first remedy that helps against the behaviours of a run, or advice, or nil.
func (f *fixer) fix(ctx context.Context, behaviours combination, r *run) *Fix {
	stands, _ := value.Members(at(f.suite.Config, keysOf(f.original.Ruleset.Path)))
	l := &loss{
		plan: f.plan, job: f.original, size: r.apis[0].size, stopped: r.end.StoppedBy, current: stands,
		methods: f.suite.Methods, shared: f.shares(),
	}
	var advice *Fix
	for _, r := range remedies {
		if !slices.ContainsFunc(behaviours, func(b *Behaviour) bool { return slices.Contains(r.against, b.Name) }) {
			continue
		}
		if r.changes == nil {
			if advice == nil {
				advice = &Fix{Says: l.says(r.says)}
			}
			continue
		}
		changes := r.changes(l)
		changed := f.try(ctx, changes)
		if changed == nil {
			continue
		}
		v := changed.verdict(ctx, behaviours)
		if v != Complete && v != Reported {
			continue
		}
		if improves, costs, silenced := f.compare(ctx, changed, behaviours); silenced == nil {
			return &Fix{Says: l.says(r.says), Changes: changes, Verdict: v, Improves: improves, Costs: costs}
		}
	}
	if advice == nil {
		advice = &Fix{Says: noSetting}
	}
	return advice
}

// compare names the behaviours that have a better and a worse verdict with changes, except the behaviours that
// the changes are for. Behaviours that become SILENT are named separately: they make the changes unsafe.
func (f *fixer) compare(ctx context.Context, changed *changedJob, except combination) (improves, costs, silenced []string) {
	if changed.verdicts == nil {
		changed.verdicts = map[string]Verdict{}
		for name := range f.before {
			if b, err := find(name); err == nil {
				changed.verdicts[name] = changed.verdict(ctx, combination{b})
			}
		}
	}
	for _, b := range behaviours {
		name := b.Name
		v, tried := changed.verdicts[name]
		if !tried || slices.ContainsFunc(except, func(b *Behaviour) bool { return b.Name == name }) {
			continue
		}
		switch change := slices.Index(verdicts, v) - slices.Index(verdicts, f.before[name]); {
		case change > 0:
			improves = append(improves, name)
		case change < 0 && v == Silent:
			silenced = append(silenced, name)
		case change < 0:
			costs = append(costs, name)
		}
	}
	return improves, costs, silenced
}

// verdict puts a changed job under stress.
func (j *changedJob) verdict(ctx context.Context, all combination) Verdict {
	row, _ := j.row(ctx, all)
	return row.Verdict
}

// try returns the job after changes. It returns nil if there are no changes, if the changed configuration is
// invalid, or if its job does not obtain the ordinary list.
func (f *fixer) try(ctx context.Context, changes []Change) *changedJob {
	key := fmt.Sprint(changes)
	if changed, known := f.known[key]; known || changes == nil {
		return changed
	}
	f.known[key] = nil
	suite, err := f.suite.changed(changes)
	if err != nil {
		return nil
	}
	job := f.in(suite)
	if job == nil {
		return nil
	}
	if changed := (&changedJob{modelledJob: job}); changed.verdict(ctx, combination{ordinary}) == Complete {
		f.known[key] = changed
	}
	return f.known[key]
}

// shares reports whether another job has its list elsewhere, and the same pagination.
func (f *fixer) shares() bool {
	job := f.original
	list, _, _ := itemsOf(job, job.Analysis().Surface())
	return slices.ContainsFunc(f.suite.Jobs, func(j *compile.Job) bool {
		other, _, _ := itemsOf(j, j.Analysis().Surface())
		unnamed := j.Spec().DataField == nil || job.Spec().DataField == nil
		return j.ID() != job.ID() && j.Ruleset.Path == job.Ruleset.Path && (unnamed || !slices.Equal(other, list))
	})
}
