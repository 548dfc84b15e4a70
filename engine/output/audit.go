package output

import (
	"fmt"
	"slices"

	"github.com/stopwhen/stopwhen/engine"
)

// audit compares the files of a group with those that they replace. It reports whether the run
// accepts what it finds; otherwise the group must not be published. A finding about a file belongs
// to the first of its jobs.
func (p *Publisher) audit(g *group) bool {
	accepted := p.auditContract(g.unpublished())
	for _, t := range g.targets {
		if t.file == nil || t.file.rows.Published() || !t.file.mayShrink() {
			continue
		}
		job, rows := t.jobs[0], t.file.rows
		accepted = p.find(job, p.engine.Auditor().AuditFile(job, rows.Name(), rows.Lines(), t.file.replaces())) && accepted
	}
	return accepted
}

// find adds a finding, which may be nil, to the result of a job that has ended. It reports whether the run
// accepts the job with it.
func (p *Publisher) find(job string, found *engine.Finding) bool {
	if found == nil {
		return true
	}
	p.log.Warn(fmt.Sprintf("Job '%s': %s", job, found.Sentence()), "event", "suspect", "job", job, "finding", found.ID)
	ended := p.ended[job]
	ended.Job, ended.Findings = job, append(slices.Clip(ended.Findings), *found)
	ended.Refused = !p.engine.Auditor().Accepts(ended)
	p.ended[job] = ended
	p.found = append(p.found, ended)
	return !ended.Refused
}

// addFindings adds the findings about files to the results of their jobs. If the run refuses one
// of them, the next run begins where this one did.
func (p *Publisher) addFindings(result *engine.Result) error {
	for i := range result.Jobs {
		job := &result.Jobs[i]
		for _, found := range p.found {
			switch {
			case found.Job == job.Job:
				job.Findings, job.Refused = found.Findings, job.Refused || found.Refused
				job.Repeats = job.Repeats || found.Refused
			case found.Refused && p.sharesGroup(found.Job, job.Job):
				job.Repeats = true
			}
		}
	}
	return nil
}

// sharesGroup reports whether files of two jobs are published together.
func (p *Publisher) sharesGroup(one, other string) bool {
	return slices.ContainsFunc(p.groups[one], func(g *group) bool { return slices.Contains(g.jobs, other) })
}

// refusal returns the errors of the jobs that the run refuses for their files and that it has not
// returned before, or nil.
func (p *Publisher) refusal() error {
	found := p.found[p.told:]
	p.told = len(p.found)
	return engine.NewResult(found).Err()
}
