package rules

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/keypath"
	"github.com/stopwhen/stopwhen/rules/lists"
)

// Lowered is a configuration as rules.
type Lowered struct {
	Jobs            []*Ruleset // in the order of the jobs
	UnusedScrollers []*Ruleset // the rules of scrollers that no job uses, compiled only to be checked
}

// Lower turns the configuration into one [Ruleset] per job. It reports all mistakes
// and warnings of the pagination objects, which [Decode] has read, in order of
// position.
func (c *Config) Lower() (*Lowered, diag.Diagnostics) {
	l := newLowerer(c)
	l.diags = c.pagingDiags.Clone()
	out := &Lowered{}
	total := 0
	for _, job := range c.Jobs {
		set := l.lowerJob(job)
		if total += len(set.Rules); total > maxRules {
			l.diags.Errorf(diag.Value(diag.Join(c.path, "config.jobs")), "the jobs have more than %d rules in all", maxRules).
				WithHint("extract them with several configurations")
			break
		}
		out.Jobs = append(out.Jobs, set)
	}
	l.linkPartitions(out.Jobs)
	l.reportUnused(c.pagination)
	out.UnusedScrollers = l.unusedPaginations(c.pagination, "")
	return out, l.diags.Diagnostics().Unique()
}

// maxRules limits the number of rules that all jobs of a configuration have together.
const maxRules = 250_000

// lowerer makes the rulesets of one configuration.
type lowerer struct {
	cfg      *Config
	diags    *diag.Collector
	dialect  Dialect
	switches Switches

	positions map[string]diag.Position // the positions of config paths
	used      map[*pagination]bool     // paginations of jobs
}

func newLowerer(c *Config) *lowerer {
	return &lowerer{
		cfg: c, diags: diag.NewCollector(c.Source), dialect: c.Dialect,
		switches: c.Dialect.Switches(), positions: make(map[string]diag.Position, len(c.Jobs)), used: map[*pagination]bool{},
	}
}

// lowerJob makes the ruleset of a job. The rules of one role are evaluated in the order in which they are
// added here, except for splitWhen: see addForRules.
func (l *lowerer) lowerJob(job Job) *Ruleset {
	set := l.newRuleset()
	set.Job = job
	set.ItemsFrom = l.itemsFrom(job)
	l.addJobRequest(set)
	l.addJobPagination(set)
	l.addIncrement(set)
	l.addItemRules(set)
	l.keepStart(set)
	l.addKeepFor(set)
	l.checkPartitionPolicy(job)
	addAuditRules(set)
	l.addIgnoredErrors(set)
	return set
}

// itemsFrom returns the origin of the path of the items: the format of the responses, where each line is
// an item, or dataField. It is zero if neither says where the items are.
func (l *lowerer) itemsFrom(job Job) Origin {
	switch {
	case job.Response.Format.IsLines():
		return l.configured(job.Response.path)
	case job.DataField != nil:
		return l.configured(diag.Join(job.path, "dataField"))
	}
	return Origin{}
}

// newRuleset returns a ruleset without rules.
func (l *lowerer) newRuleset() *Ruleset {
	inputs := lists.Map(l.cfg.Inputs, func(in Input) string { return in.Name })
	return &Ruleset{Dialect: l.cfg.Dialect, IncludeParams: true, InputNames: inputs}
}

// addJobPagination adds the rules of the pagination of a job, which is its own pagination or that of the
// api. If the api has method multiple, the job's own pagination is like a scroller.
func (l *lowerer) addJobPagination(set *Ruleset) {
	shared, jobPagination := l.cfg.pagination, set.Job.pagination
	switch {
	case jobPagination == nil && shared != nil:
		l.addPagination(set, shared, nil)
	case jobPagination == nil:
	case jobPagination.method.Name == Multiple:
		l.diags.Errorf(diag.Value(diag.Join(jobPagination.path, "method")), "the pagination of a job cannot have method %s", Multiple).
			WithHint("write here how this job pages, or move the scrollers into api.pagination and name one of them with scroller")
	case shared != nil && shared.method.Name == Multiple:
		l.reportPaginationAndScroller(set.Job)
		l.addPagination(set, jobPagination, &pager{lowerer: l, pagination: shared, set: set})
	default:
		l.reportPaginationAndScroller(set.Job)
		l.addPagination(set, jobPagination, nil)
	}
}

// reportPaginationAndScroller reports a job that has a pagination and names a scroller, with the places
// of both.
func (l *lowerer) reportPaginationAndScroller(job Job) {
	if job.scroller == "" {
		return
	}
	origin := l.configured(diag.Join(job.path, "scroller"))
	const message = "job %s has a pagination and names a scroller, %q (%s)"
	l.diags.Errorf(diag.Value(job.pagination.path), message, cmp.Or(job.ID, job.label()), job.scroller, origin).
		WithHint("remove one of them")
}

// addPagination adds the rules of a pagination. The rules of a pagination with method multiple apply to each
// of its scrollers.
func (l *lowerer) addPagination(set *Ruleset, p *pagination, outer *pager) {
	level := &pager{lowerer: l, pagination: p, set: set, outer: outer}
	l.used[p] = true
	if p.method.Name != Multiple {
		level.build()
		return
	}
	if s, ok := l.chooseScroller(p, set.Job); ok {
		set.Scroller = s.Name
		if inner := l.paginationOf(s); inner != nil {
			l.addPagination(set, inner, level)
		}
	}
}

// chooseScroller returns the scroller of a job. It reports false if the job has no scroller.
func (l *lowerer) chooseScroller(p *pagination, job Job) (setting, bool) {
	name, path := job.scroller, diag.Join(job.path, "scroller")
	if name == "" {
		name, path = p.settings.get("default").text(), p.settings.get("default").path()
	}
	scrollers := p.settings.get("scrollers").list()
	if name == "" || len(scrollers) == 0 {
		return setting{}, false
	}
	var known []string
	for _, s := range scrollers {
		if s.Name == name {
			return s, true
		}
		known = append(known, s.Name)
	}
	nearest(l.diags.Errorf(diag.Value(path), "unknown scroller %q", name), name, known)
	return setting{}, false
}

// paginationOf returns the pagination of a scroller of method multiple. It returns nil if the scroller
// cannot be used.
func (l *lowerer) paginationOf(s setting) *pagination {
	p := s.pagination()
	if p == nil || p.method.Name != Multiple || l.switches.nestedMultiple {
		return p
	}
	l.diags.Errorf(diag.Value(diag.Join(s.path(), "method")), "a scroller cannot have method %s itself", Multiple).
		WithHint("move its scrollers next to this one")
	return nil
}

// addIncrement adds the rule that keeps the value of incremental.
func (l *lowerer) addIncrement(set *Ruleset) {
	i := set.Job.increment
	if i == nil {
		return
	}
	if slices.Contains(set.KeptNames, i.name) {
		l.diags.Errorf(diag.Value(i.cursor), "the pagination keeps a value %q already", i.name).
			WithHint("remove it from keep, or write both as keep and params")
		return
	}
	set.KeptNames = append(set.KeptNames, i.name)
	set.Rules = append(set.Rules, Rule{
		ID: "keep." + i.name, Role: RoleKeep, Target: i.name, Source: i.keep, Clause: "is", Origin: l.configured(i.path),
	})
}

// addItemRules adds the rules that are evaluated for each item.
func (l *lowerer) addItemRules(set *Ruleset) {
	job := &set.Job
	if job.Filter != "" {
		set.Rules = append(set.Rules, Rule{
			ID: "filter", Role: RoleFilter, Source: job.Filter, Clause: job.Filter,
			Origin: l.configured(diag.Join(job.path, "filter")),
		})
	}
	for _, f := range job.Fields {
		rule := Rule{
			ID: "fields." + f.Name, Role: RoleSet, Target: keypath.Join(f.Keys...), Source: f.Source, Clause: "is",
			Origin: l.configured(cmp.Or(f.path, diag.Join(diag.Join(job.path, "fields"), f.Name))),
		}
		if f.Source == "" {
			rule.Role, rule.Source, rule.Clause = RoleRemove, "nil", "the member is removed"
		}
		set.Rules = append(set.Rules, rule)
	}
}

// addAuditRules adds the rules of the audit. Jobs without other rules share one list, because a
// configuration may have thousands of them.
func addAuditRules(set *Ruleset) {
	if !set.Job.splits() && len(set.IgnoredFindings) == 0 && len(set.Rules) == 0 {
		set.Rules = slices.Clip(commonAudit)
		return
	}
	set.Rules = slices.Grow(set.Rules, len(auditTable))
	for _, r := range auditTable {
		switch {
		case r.Audit.Splits && !set.Job.splits():
		case slices.Contains(set.IgnoredFindings, r.ID):
			set.Unused = append(set.Unused, Unused{ID: r.ID, Why: "audit.ignore has it", Origin: Origin{Path: "audit.ignore"}})
		default:
			set.Rules = append(set.Rules, r)
		}
	}
}

// addIgnoredErrors adds the rules for statuses whose responses are read as pages (api.http.ignoreErrors).
func (l *lowerer) addIgnoredErrors(set *Ruleset) {
	for _, status := range l.cfg.HTTP.IgnoreErrors {
		set.Rules = append(set.Rules, Rule{
			ID: fmt.Sprintf("ignoreErrors.%d", status), Role: RoleOnError, OnError: Handling{Do: ErrorContinue, On: OnError},
			Source:  fmt.Sprintf("status == %d", status),
			Message: "a response with status {status} is read as a page", Clause: fmt.Sprintf("a response has status %d", status),
			Origin: l.configured(diag.Join(l.cfg.path, "api.http.ignoreErrors")),
		})
	}
}

// unusedPaginations makes the rulesets of a pagination that no job uses, or of the scrollers in it. If
// the pagination is a scroller itself, scroller is its name.
func (l *lowerer) unusedPaginations(p *pagination, scroller string) []*Ruleset {
	if p == nil {
		return nil
	}
	if p.method.Name != Multiple && l.used[p] {
		return nil
	}
	if p.method.Name != Multiple {
		set := l.newRuleset()
		set.Scroller = scroller
		l.addPagination(set, p, nil)
		return []*Ruleset{set}
	}
	var sets []*Ruleset
	for _, s := range p.settings.get("scrollers").list() {
		sets = append(sets, l.unusedPaginations(l.paginationOf(s), s.Name)...)
	}
	return sets
}

// reportUnused warns of a pagination of the api that no job uses, because each has its own.
func (l *lowerer) reportUnused(p *pagination) {
	if p != nil && p.method.Name != Multiple && !l.used[p] {
		l.diags.Warnf(diag.Value(p.path), "no job uses this pagination: each has its own").WithHint("remove one of them")
	}
}

// configured returns the origin of a rule that the configuration has at a config path.
func (l *lowerer) configured(path string) Origin { return l.origin(Author{Kind: AuthorConfig}, path) }

// origin returns the origin of a rule of an author, for a config path.
func (l *lowerer) origin(by Author, path string) Origin {
	o := Origin{By: by, Path: path}
	if l.cfg.Source == nil {
		return o
	}
	o.File = l.cfg.Source.Name
	position, known := l.positions[path]
	if !known {
		if offset := l.cfg.Source.ValueAt(path); offset >= 0 {
			position = l.cfg.Source.Position(offset)
		}
		l.positions[path] = position
	}
	o.At = position
	return o
}
