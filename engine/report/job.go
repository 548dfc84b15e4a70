package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/wording"
	"github.com/stopwhen/stopwhen/runtime/trace"
)

// A Job is the part of a run that belongs to one job.
type Job struct {
	ID string
	Totals
	Ends []Ends // how its partitions ended

	// Partitions has one element for a job without variables. For a job with variables, it has at
	// most 500 partitions, in the order of the trace: first the partitions that failed or may be
	// incomplete, then the others. At most the first ten have their pages.
	Partitions []*Partition

	open  *Partition        // partition that is being read
	byEnd map[string]*ended // by [Partition.End]
}

// Ends counts the partitions that ended in one way: see [Partition.End].
type Ends struct {
	End     string
	Count   int
	Omitted int // number of such partitions that are not among the partitions of the [Job]
}

// ended are the partitions that ended in one way.
type ended struct {
	count  int
	listed []*Partition // the first such partitions
	drawn  budget
}

// The limits of a report on a job with variables, which do not depend on the number of its
// partitions.
const (
	maxListed     = 500    // partitions, each with a row
	maxDrawn      = 10     // partitions of these that show their pages
	maxDrawnPages = 10_000 // pages of these partitions together; a single partition may have more
)

// A budget counts the partitions that keep their pages.
type budget struct{ partitions, pages int }

// spend lets a partition keep its pages, or drops them: the last page and the totals remain.
func (b *budget) spend(p *Partition) {
	if b.partitions > 0 && (b.partitions >= maxDrawn || b.pages+len(p.Pages) > maxDrawnPages) {
		p.Pages, p.Last.Verdicts, p.Last.Request = nil, nil, trace.Request{}
		return
	}
	b.partitions, b.pages = b.partitions+1, b.pages+len(p.Pages)
}

func (j *Job) add(page engine.Record) {
	if j.open == nil || !j.open.has(page) {
		j.close()
		j.open = &Partition{Values: page.Partition}
	}
	j.open.add(page)
}

// close ends the partition that is being read.
func (j *Job) close() {
	p := j.open
	if p == nil {
		return
	}
	j.open = nil
	j.Totals.merge(p.Totals)
	if j.byEnd == nil {
		j.byEnd = map[string]*ended{}
	}
	e := j.byEnd[p.Status()]
	if e == nil {
		e = &ended{}
		j.byEnd[p.Status()] = e
	}
	e.count++
	if len(e.listed) < maxListed {
		e.drawn.spend(p)
		e.listed = append(e.listed, p)
	}
}

// end completes the job when the trace has been read.
func (j *Job) end() {
	j.close()
	drawn := budget{}
	for _, name := range statuses {
		e := j.byEnd[string(name)]
		if e == nil {
			continue
		}
		listed := e.listed[:min(len(e.listed), maxListed-len(j.Partitions))]
		for _, p := range listed {
			if p.Pages != nil {
				drawn.spend(p)
			}
			p.followRules()
		}
		j.Partitions = append(j.Partitions, listed...)
		j.Ends = append(j.Ends, Ends{string(name), e.count, e.count - len(listed)})
	}
	j.byEnd = nil
}

// Partitioned reports whether the job has variables.
func (j *Job) Partitioned() bool { return j.Partitions[0].Values != nil }

// Count returns the number of partitions.
func (j *Job) Count() int {
	n := 0
	for _, e := range j.Ends {
		n += e.Count
	}
	return n
}

// DescribeEnd describes how the job ended.
func (j *Job) DescribeEnd() string {
	if !j.Partitioned() {
		return j.Partitions[0].DescribeEnd()
	}
	text := wording.Counted(j.Count(), "partition")
	if len(j.Ends) == 1 && j.Count() > 1 {
		return text + ", all " + j.Ends[0].End
	}
	var parts []string
	for _, e := range j.Ends {
		parts = append(parts, fmt.Sprintf("%d %s", e.Count, e.End))
	}
	return text + ": " + strings.Join(parts, ", ")
}

// Outcome returns the outcome of the job, which is the worst outcome of its partitions, or
// "unfinished" if the trace does not have it.
func (j *Job) Outcome() string {
	if !j.Partitioned() {
		return j.Partitions[0].Outcome()
	}
	switch worst := partitionStatus(j.Ends[0].End); worst {
	case skipped:
		return string(rules.Partial)
	case suspect:
		return string(rules.Complete)
	default:
		return string(worst)
	}
}

// suspect reports whether the audit has a finding about the job. The partitions with findings
// come before the complete ones.
func (j *Job) suspect() bool {
	return slices.ContainsFunc(j.Partitions, func(p *Partition) bool { return len(p.Last.Findings) > 0 })
}

// omitted describes the partitions without a row, and names the trace that has them. It is empty if
// all partitions have a row.
func (j *Job) omitted(traceName string) string {
	var parts []string
	for _, e := range j.Ends {
		if e.Omitted > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", e.Omitted, e.End))
		}
	}
	if parts == nil {
		return ""
	}
	return fmt.Sprintf("%s without a row here (%s); the trace (%s) has all pages",
		wording.Counted(j.Count()-len(j.Partitions), "more partition"), strings.Join(parts, ", "), traceName)
}

// undrawn describes how many partitions have a row but not their pages. It is empty if all have
// their pages.
func (j *Job) undrawn(traceName string) string {
	drawn := 0
	for _, p := range j.Partitions {
		if p.Pages != nil {
			drawn++
		}
	}
	if drawn == len(j.Partitions) {
		return ""
	}
	return fmt.Sprintf("Only the pages of %s are shown, incomplete ones first; the trace (%s) has all pages.",
		wording.Counted(drawn, "partition"), traceName)
}

// setLabels names the partitions of all jobs. Variables of a parent come before the
// variables of its children.
func (r *Run) setLabels() {
	fewest := map[string]int{} // for each variable, the fewest variables of any job that has it
	for _, j := range r.Jobs {
		for name := range j.Partitions[0].Values {
			if n := len(j.Partitions[0].Values); fewest[name] == 0 || n < fewest[name] {
				fewest[name] = n
			}
		}
	}
	for _, j := range r.Jobs {
		for _, p := range j.Partitions {
			p.Label = label(p.Values, func(name string) int { return fewest[name] })
		}
	}
}
