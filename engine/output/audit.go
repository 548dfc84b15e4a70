package output

import (
	"fmt"
	"slices"

	"github.com/stopwhen/stopwhen/engine"
)

// findings are the findings about files, which belong to the results of their jobs.
type findings struct {
	jobs     []engine.JobResult // results of the jobs, each with all of its findings so far
	returned int                // number of jobs whose errors refusal has returned
}

// audit compares the files of a group with the files that they replace. It reports whether the run
// accepts the findings; otherwise the group must not be published. A finding about a file belongs to
// the first of its jobs.
func (p *Publisher) audit(g *group) bool {
	accepted := p.auditContract(g.unpublished())
	accepted = p.auditRows(g) && accepted
	for _, t := range g.targets {
		if t.file == nil || t.file.rows.Finished() || p.leavesOut(t) || !t.file.mayShrink() {
			continue
		}
		job, rows := t.jobs[0], t.file.rows
		accepted = p.find(job, p.engine.Auditor().AuditFile(job, rows.Name(), rows.RowCount(), t.file.replaces())) && accepted
	}
	return accepted
}

// auditRows audits the jobs of a group by how their items are written to files. It reports whether the run accepts them.
func (p *Publisher) auditRows(g *group) bool {
	accepted := true
	if p.options.Dir == "" {
		return accepted
	}
	for _, job := range g.jobs {
		accepted = p.find(job, p.engine.Auditor().AuditRows(p.ended[job], p.options.Merge)) && accepted
	}
	return accepted
}

// find adds a finding, which may be nil, to the result of a job that has ended, in place of one with the same id. It
// reports whether the run accepts the job with it.
func (p *Publisher) find(job string, found *engine.Finding) bool {
	if found == nil {
		return true
	}
	p.log.Warn(fmt.Sprintf("Job '%s': %s", job, found.Sentence()), "event", "suspect", "job", job, "finding", found.ID)
	ended := p.ended[job]
	ended.Job = job
	ended.Findings = slices.DeleteFunc(slices.Clone(ended.Findings), func(f engine.Finding) bool { return f.ID == found.ID })
	ended.Findings = append(ended.Findings, *found)
	ended.Refused = !p.engine.Auditor().Accepts(ended)
	p.ended[job] = ended
	p.findings.jobs = append(p.findings.jobs, ended)
	return !ended.Refused
}

// addFindings adds the findings about files to the results of their jobs. If the run refuses one
// of them, the next run begins where this run began.
func (p *Publisher) addFindings(result *engine.Result) error {
	for i := range result.Jobs {
		job := &result.Jobs[i]
		for _, found := range p.findings.jobs {
			switch {
			case found.Job == job.Job:
				job.Findings, job.Refused = found.Findings, job.Refused || found.Refused
				job.StartsOver = job.StartsOver || found.Refused
			case found.Refused && p.groups.share(found.Job, job.Job):
				job.StartsOver = true
			}
		}
	}
	return nil
}

// refusal returns the errors of the jobs that the run refuses for their files and that it has not
// returned before, or nil.
func (p *Publisher) refusal() error {
	found := p.findings.jobs[p.findings.returned:]
	p.findings.returned = len(p.findings.jobs)
	return engine.NewResult(found).Err()
}
