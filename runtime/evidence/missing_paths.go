package evidence

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/compile/language"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/keypath"
	"github.com/stopwhen/stopwhen/runtime/trace"
)

// MissingPaths are the paths that child jobs read in the items of their parents and that no item
// has had. Such paths are probably misspelt: partitions are missing, their requests lack a parameter,
// or their items lack a value. The zero MissingPaths are empty.
type MissingPaths struct {
	mu      sync.Mutex
	missing map[*compile.Job][][]string // missing paths of the jobs for which items were read
}

// Note notes the paths that an item has. v holds the values at the paths that the job reads.
func (p *MissingPaths) Note(job *compile.Job, v any) {
	p.remove(job, func(path []string) bool { return language.HasPath(v, path) })
}

// Merge adds the result of Save for another page.
func (p *MissingPaths) Merge(saved map[string][][]string, jobs map[string]*compile.Job) {
	for id, missing := range saved {
		if job := jobs[id]; job != nil {
			p.remove(job, func(path []string) bool {
				return !slices.ContainsFunc(missing, func(one []string) bool { return slices.Equal(one, path) })
			})
		}
	}
}

// remove removes the paths of a job that an item has had.
func (p *MissingPaths) remove(job *compile.Job, isPresent func(path []string) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.missing == nil {
		p.missing = map[*compile.Job][][]string{}
	}
	missing, read := p.missing[job]
	if !read {
		missing = job.RequiredItemPaths
	}
	p.missing[job] = slices.DeleteFunc(append([][]string{}, missing...), isPresent)
}

// Save returns the paths that are still missing, by job, for a checkpoint.
func (p *MissingPaths) Save() map[string][][]string {
	p.mu.Lock()
	defer p.mu.Unlock()
	saved := map[string][][]string{}
	for job, missing := range p.missing {
		saved[job.ID()] = missing
	}
	return saved
}

// Finding returns the finding about a job, given the number of its partitions that ran, or nil. leavesOut reports whether the
// filter of the job, or of a descendant, has left out some of its items, and whether it has left out all. If a partition
// ran, a path counts only if its value is sent, added to items or read by such a filter: another condition may be about a path
// that items seldom have. The finding is evidence if such a path made a value nil in all requests, or, in the items of several
// partitions, a field, or if it let no item of these pass. A single parent may lack a path that others have.
func (p *MissingPaths) Finding(
	job *compile.Job, partitions int, leavesOut func(*compile.Job) (some, all bool), values NilCounts,
) *trace.Finding {
	p.mu.Lock()
	defer p.mu.Unlock()
	leavesSome := func(job *compile.Job) bool { some, _ := leavesOut(job); return some }
	leavesAll := func(job *compile.Job) bool { _, all := leavesOut(job); return all }
	var paths []string
	inAll := false
	for _, path := range p.missing[job] {
		a := job.Analysis()
		if partitions > 0 && !a.CopiesFromItem(path) && !a.FiltersByItem(path, leavesSome) {
			continue
		}
		paths = append(paths, keypath.Format(job.For[0].Name, path))
		isNil := func(e *language.Expression) bool { return values.always(e) && readsItem(job, e, path) }
		if slices.ContainsFunc(job.Computed, isNil) || partitions > 1 && (a.FillsFromItem(path) || a.FiltersByItem(path, leavesAll)) {
			inAll = true
		}
	}
	return AuditPartitions(job, rules.PartitionFacts{Absent: joinMissing(paths), AbsentInAll: inAll})
}

// lacks reports whether an expression reads a path that no item of the parent has.
func (p *MissingPaths) lacks(job *compile.Job, e *language.Expression) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.ContainsFunc(p.missing[job], func(path []string) bool { return readsItem(job, e, path) })
}

// readsItem reports whether an expression of a job reads a path of the items that the job runs for.
func readsItem(job *compile.Job, e *language.Expression, path []string) bool {
	whole := append([]string{job.For[0].Name}, path...)
	return e.ReadsFunc(func(r language.Read) bool {
		return r.Is(rules.ContextPartition) && slices.Equal(r.Path, whole)
	})
}

// NilCounts counts, by the id of a rule, the partitions in which the value that the rule computes for
// the request was nil. It has only the rules whose values every partition should have.
type NilCounts map[string]NilCount

// A NilCount counts the partitions that have computed a value, and the partitions in which it, or a part of it, was nil.
type NilCount struct {
	Nil   int   `json:"nil"`
	All   int   `json:"all"`
	InAll []int `json:"inAll,omitempty"` // the values in the expression that are nil in all: see [language.Expression.NilValues]
}

// plus returns the count of the partitions of two counts.
func (c NilCount) plus(other NilCount) NilCount {
	sum := NilCount{Nil: c.Nil + other.Nil, All: c.All + other.All, InAll: c.InAll}
	if c.All == 0 {
		sum.InAll = other.InAll
	} else if other.All > 0 {
		sum.InAll = slices.DeleteFunc(slices.Clone(c.InAll), func(v int) bool { return !slices.Contains(other.InAll, v) })
	}
	return sum
}

// NilCounts returns the count of one partition, given the values of [compile.Job.Computed]. The result must not be
// changed: partitions without nil share one.
func (s *Subject) NilCounts(values compile.ComputedValues) NilCounts {
	all, shared := s.noNil, true
	for i, e := range s.job.Computed {
		if _, expected := all[e.Rule.ID]; !expected {
			continue
		}
		lacking := e.NilValues(values[i])
		if lacking == nil {
			continue
		}
		if shared {
			all, shared = maps.Clone(all), false
		}
		all[e.Rule.ID] = NilCount{Nil: 1, All: 1, InAll: lacking}
	}
	return all
}

// noNilOf returns the count of a partition of a job in which no value is nil.
func noNilOf(job *compile.Job) (all NilCounts) {
	for _, e := range job.Computed {
		if job.Analysis().ExpectsValue(e) {
			all.add(NilCounts{e.Rule.ID: {All: 1}})
		}
	}
	return all
}

// add adds the count of other partitions.
func (v *NilCounts) add(other NilCounts) {
	for id, count := range other {
		if *v == nil {
			*v = NilCounts{}
		}
		(*v)[id] = (*v)[id].plus(count)
	}
}

// CountKept counts the values for the next run of a partition, given those that are nil, which count if the partition had items.
func (w *Watcher) CountKept(lacking []*language.Expression, hadItems bool) {
	w.nilValues = maps.Clone(w.nilValues) // partitions without nil share one
	for _, e := range w.list.subject.job.Keeps {
		switch isNil := slices.Contains(lacking, e); {
		case !isNil:
			w.nilValues.add(NilCounts{e.Rule.ID: {All: 1}})
		case hadItems:
			w.nilValues.add(NilCounts{e.Rule.ID: {All: 1, Nil: 1, InAll: []int{0}}})
		}
	}
}

// StaysFinding returns the finding that a value for the next run was nil in every partition that had items, so that it stays as it was
// before, and the next run obtains the items again, or nil. values are those for the next run.
func (v NilCounts) StaysFinding(job *compile.Job, before, values map[string]any) *trace.Finding {
	var lacking []*language.Expression
	for _, e := range job.Keeps {
		if v.always(e) {
			lacking = append(lacking, e)
		}
	}
	if lacking == nil {
		return nil
	}
	c := &rules.Context{Kept: before, Limit: job.Ruleset.Limit, Now: func() time.Time { return time.Time{} }}
	stays := job.Analysis().Repeats(c, values, lacking)
	if stays == "" {
		return nil
	}
	return AuditJob(job, trace.FindingStays, rules.ListFacts{KeptFacts: rules.KeptFacts{KeptStays: stays}})
}

// always reports whether a value, or a part of it, was nil in every partition.
func (v NilCounts) always(e *language.Expression) bool { return len(v[e.Rule.ID].InAll) > 0 }

// Findings returns the findings about values that were nil. A value that was nil in every partition
// is evidence, since each of them has requested another list than the configuration says; a value that
// was nil in some partitions is a hint, and so are several values of a literal of which each partition lacked another one. Paths of
// found are left out, because found reports them itself.
func (v NilCounts) Findings(job *compile.Job, found *MissingPaths) (findings []trace.Finding) {
	for _, e := range job.Computed {
		count := v[e.Rule.ID]
		if count.Nil == 0 || found.lacks(job, e) {
			continue
		}
		if f := AuditPartitions(job, rules.PartitionFacts{
			Nil: e.Rule.ID, NilSource: e.Rule.Source, NilParts: e.IsComposite(), NilIn: count.Nil, NilOf: count.All, NilInAll: v.always(e),
		}); f != nil {
			findings = append(findings, *f)
		}
	}
	return findings
}
