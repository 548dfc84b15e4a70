package output

import (
	"fmt"
	"maps"
	"slices"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/lists"
)

// results has the results of the jobs that are complete, with the findings about their files.
type results struct {
	*run
	ended map[string]engine.JobResult // by job
	found []string                    // jobs with such findings
}

// has reports whether a job is complete.
func (rs *results) has(job string) bool { _, ended := rs.ended[job]; return ended }

// end records that a job is complete. It reports whether that is new.
func (rs *results) end(job engine.JobResult) bool {
	ended := rs.has(job.Job)
	if !ended {
		rs.ended[job.Job] = job
	}
	return !ended
}

// jobs returns the complete jobs.
func (rs *results) jobs() []string { return slices.Sorted(maps.Keys(rs.ended)) }

// of returns the result of a complete job, or an empty one.
func (rs *results) of(job string) engine.JobResult { return rs.ended[job] }

// accepted reports whether a job is complete, and the run accepts it.
func (rs *results) accepted(job string) bool { return rs.has(job) && !rs.ended[job].Refused }

// leavesOut reports whether the limit on the partitions of the run left out all partitions of the jobs of a file, so that
// its rows are unknown.
func (rs *results) leavesOut(jobs []string) bool {
	return !slices.ContainsFunc(jobs, func(job string) bool {
		ended := rs.ended[job]
		return ended.Outcome != rules.Limited || ended.Partitions == nil || ended.Partitions.Count > 0
	})
}

// find adds a finding, which may be nil, to the result of a job that has ended, in place of one with the same id. It
// reports whether the run accepts the job with it.
func (rs *results) find(job string, found *engine.Finding) bool {
	if found == nil {
		return true
	}
	ended := rs.ended[job]
	logged := func(f engine.Finding) bool { return f.ID == found.ID && f.Message == found.Message } // as a hint about the list
	if !slices.ContainsFunc(ended.Findings, logged) {
		rs.log.Warn(fmt.Sprintf("Job '%s': %s", job, found.Sentence()), "event", "suspect", "job", job, "finding", found.ID)
	}
	ended.Job = job
	ended.Findings = slices.DeleteFunc(slices.Clone(ended.Findings), func(f engine.Finding) bool { return f.ID == found.ID })
	ended.Findings = append(ended.Findings, *found)
	ended.Refused = !rs.engine.Auditor().Accepts(ended)
	rs.ended[job] = ended
	rs.found = lists.AppendNew(rs.found, job)
	return !ended.Refused
}

// addTo adds the findings about files to the results of their jobs. If the run refuses one
// of them, the next run begins where this run began, also for the jobs that share a group with its job.
func (rs *results) addTo(result *engine.Result, share func(one, other string) bool) {
	for i := range result.Jobs {
		job := &result.Jobs[i]
		for _, name := range rs.found {
			switch found := rs.ended[name]; {
			case found.Job == job.Job:
				job.Findings, job.Refused = found.Findings, job.Refused || found.Refused
				job.StartsOver = job.StartsOver || found.Refused
			case found.Refused && share(found.Job, job.Job):
				job.StartsOver = true
			}
		}
	}
}

// refused returns the errors of the jobs that the run refuses for their files, or nil.
func (rs *results) refused() error {
	var found []engine.JobResult
	for _, name := range rs.found {
		found = append(found, rs.ended[name])
	}
	return engine.NewResult(found).Err()
}
