package stress

import (
	"context"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/value"
)

// reportVersion is the version of a [Report] as JSON.
const reportVersion = 1

// Options control the extent of the stress test.
type Options struct {
	Seed  int // varies where behaviours happen; the same seed gives the same runs
	Depth int // number of behaviours combined at the same time: 1 (also for 0) or 2 (also for more)

	WithoutFixes bool // whether to try no fixes, which take most of the time

	// Like holds, by job, the first pages of its list. The model takes over the shape of the first
	// one: the members of the response and of an item. A meaning that the pages contradict is not
	// tried. Only JSON has an effect.
	Like map[string][]Sample
}

// depth returns the maximum number of combined behaviours.
func (o Options) depth() int { return min(max(o.Depth, 1), 2) }

// A Report describes how a configuration copes with all behaviours.
type Report struct {
	Version int         `json:"version"` // version of the JSON; keys may be added to a version
	Seed    int         `json:"seed"`
	Depth   int         `json:"depth"`
	Jobs    []JobReport `json:"jobs"`
}

// A JobReport describes how one job copes with all behaviours.
type JobReport struct {
	Job     string    `json:"job"`
	Model   []string  `json:"model,omitempty"`   // sentences that describe the API
	Unknown string    `json:"unknown,omitempty"` // reason why there is no model and the job was not tested
	Rows    []Row     `json:"rows"`
	Left    []LeftOut `json:"leftOut,omitempty"`

	stressed *stressed // the job with its model; nil if it has no model
	fixer    *fixer    // tries changes of the job; nil if it has no model
	tree     *tree     // the job and the jobs below it; nil if no row is about them
}

// A Row describes how the job copes with one behaviour.
type Row struct {
	Behaviour  string   `json:"behaviour"` // name of the behaviour; two names are joined by "+"
	Group      string   `json:"group,omitempty"`
	Says       string   `json:"says"`
	Requests   int      `json:"requests"`
	Served     int      `json:"served"`   // number of items in the list
	Obtained   int      `json:"obtained"` // number of those items that the job obtained
	Missing    int      `json:"missing"`
	Duplicated int      `json:"duplicated"`
	Outcome    string   `json:"outcome"`
	Reason     string   `json:"reason,omitempty"` // ID of the rule that ended the list
	Exit       int      `json:"exit"`
	Findings   []string `json:"findings,omitempty"`
	Verdict    Verdict  `json:"verdict"`
	Why        string   `json:"why"` // how the run ended, in one sentence
	Fix        *Fix     `json:"fix,omitempty"`
}

// LeftOut is a behaviour that does not apply.
type LeftOut struct {
	Behaviour string `json:"behaviour"`
	Why       string `json:"why"`
}

// A Verdict is the effect of a behaviour on the list.
type Verdict string

// Verdicts.
const (
	Complete Verdict = "complete" // every item was obtained once, and the run says so
	Reported Verdict = "reported" // items are missing or occur twice, or the run failed, and it says so
	Silent   Verdict = "SILENT"   // items are missing or occur twice, and the run says nothing
	Endless  Verdict = "endless"  // only a guard ended the run
)

// Count counts the rows of a verdict.
func (r *Report) Count(v Verdict) int {
	n := 0
	for _, j := range r.Jobs {
		for _, row := range j.Rows {
			if row.Verdict == v {
				n++
			}
		}
	}
	return n
}

// A stressed is a subject with a plan for its model.
type stressed struct {
	subject
	*plan
	seed int // varies where behaviours happen
}

// model finds a plan for a job. The error says that there is none.
func (s *Suite) model(ctx context.Context, job *compile.Job, like []Sample) (*stressed, error) {
	one, rec := subject{suite: s, job: plain(job), binding: sample(job)}, recordingOf(job, like)
	p, err := one.planOf(ctx, rec)
	if err != nil && slices.ContainsFunc(job.Stops, isLimit) { // it may be shorter than a list of the model
		one.job = withoutLimits(one.job)
		if p, err = one.planOf(ctx, rec); p != nil {
			p.unlimited = true
		}
	}
	if err != nil {
		return nil, err
	}
	p.limited = job.Ruleset.Limit != nil
	p.lines = slices.Contains([]string{rules.NDJSON, rules.CSV}, job.Ruleset.Job.Response.Format)
	return &stressed{subject: one, plan: p}, nil
}

// in returns the same job of another suite with the same model, or nil if that suite has no such job.
func (m *stressed) in(suite *Suite) *stressed {
	i := slices.IndexFunc(suite.Jobs, func(j *compile.Job) bool { return j.ID() == m.job.ID() })
	if i < 0 {
		return nil
	}
	other := *m
	other.suite, other.job = suite, m.jobOf(suite.Jobs[i])
	return &other
}

// row runs the job with behaviours, and judges the run.
func (m *stressed) row(ctx context.Context, all combination) (Row, *run) {
	r := m.under(ctx, all)
	return m.suite.row(r, all), r
}

// under runs the job with behaviours. An endless run ends as the guard would end it, but earlier.
func (m *stressed) under(ctx context.Context, all combination) *run {
	r := m.run(ctx, m.behaving(all), maxJudgedRequests)
	if !r.stopped {
		return r
	}
	suite, err := m.suite.changed([]Change{{Path: append(keysOf(m.job.Ruleset.Path), "guards", "maxPages"), Value: endlessPages}})
	if err != nil {
		return r
	}
	other := m.in(suite)
	if guarded := other.run(ctx, other.behaving(all), maxJudgedRequests); !guarded.stopped {
		guarded.stopped = true
		return guarded
	}
	return r
}

// job puts one job under stress.
func (s *Suite) job(ctx context.Context, job *compile.Job, o Options) (JobReport, *plan, error) {
	report := JobReport{Job: job.ID(), Rows: []Row{}}
	m, err := s.model(ctx, job, o.Like[job.ID()])
	if err != nil {
		report.Unknown = err.Error()
		return report, nil, ctx.Err()
	}
	m.seed = o.Seed
	report.Model, report.stressed = m.sentences(), m
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
			return report, m.plan, ctx.Err()
		}
		if row.Verdict == Silent && !o.WithoutFixes {
			lost[len(report.Rows)] = r
		}
		if len(b) == 1 {
			before[row.Behaviour] = row.Verdict
		}
		report.Rows = append(report.Rows, row)
	}
	report.fixer = &fixer{stressed: m, ctx: ctx, original: job, before: before, known: map[string]*changedJob{}}
	for i, r := range lost {
		if report.Rows[i].Fix = report.fixer.fix(combinationOf(report.Rows[i].Behaviour), r); ctx.Err() != nil {
			return report, m.plan, ctx.Err()
		}
	}
	return report, m.plan, nil
}

// behaving returns a model with behaviours.
func (m *stressed) behaving(all combination) *api {
	n := m.usual()
	for _, b := range all {
		if b.items != nil {
			n = b.items(m.pageSize)
		}
	}
	sized := *m.plan
	if limit, ok := m.job.Ruleset.Limit.(int); ok { // that of a changed configuration may be another one
		sized.pageSize = limit
	}
	a := sized.api(n)
	a.job, a.seed, a.usualSize = m.job, m.seed, m.pageSize
	for _, b := range all {
		if b.begin != nil {
			b.begin(a)
		}
		if b.reply != nil {
			a.answers = append(a.answers, b.reply)
		}
	}
	return a
}

// PartitionBehaviours returns the table of behaviours that concern partitions.
func PartitionBehaviours() []Behaviour { return clones(treeBehaviours) }

// Behaviours returns the table of behaviours of a list, in its order.
func Behaviours() []Behaviour { return clones(behaviours) }

func clones(table []*Behaviour) []Behaviour {
	return value.Map(table, func(b *Behaviour) Behaviour { return *b })
}

// A combination is a set of behaviours that happen in the same run.
type combination []*Behaviour

// combined returns all combinations of at most depth behaviours.
func combined(depth int) []combination {
	var all []combination
	for _, b := range behaviours {
		all = append(all, combination{b})
	}
	if depth < 2 {
		return all
	}
	for i, a := range behaviours {
		for _, b := range behaviours[i+1:] {
			if both := (combination{a, b}); a != ordinary && !both.contradicts() {
				all = append(all, both)
			}
		}
	}
	return all
}

// contradicts reports whether two behaviours decide the same thing.
func (c combination) contradicts() bool {
	a, b := c[0], c[1]
	return a.items != nil && b.items != nil || a.begin != nil && b.begin != nil || a.Group == b.Group
}

// missing says why the behaviours cannot apply to a job, or returns "".
func (c combination) missing(p *plan) string {
	for _, b := range c {
		for _, n := range b.needs {
			if !n.met(p) {
				return n.otherwise
			}
		}
	}
	return ""
}

// combinationOf returns the behaviours of a row of a list, by its name.
func combinationOf(name string) (all combination) {
	for one := range strings.SplitSeq(name, "+") {
		if b, err := find(one); err == nil {
			all = append(all, b)
		}
	}
	return all
}

func (c combination) name() string {
	return strings.Join(texts(c, func(b *Behaviour) string { return b.Name }), "+")
}

func (c combination) says() string {
	return strings.Join(texts(c, func(b *Behaviour) string { return b.Says }), " ")
}

// sentences describes the model.
func (p *plan) sentences() []string {
	var all []string
	for _, m := range p.signals {
		all = append(all, m.Place.String()+" is "+m.meaning.says+".")
	}
	if p.unlimited {
		all = append(all, "The limits of the configuration are left out.")
	}
	if p.positional {
		all = append(all, "Links and tokens are positions in the list, as the recording shows.")
	}
	if p.paged {
		all = append(all, p.locator.says)
	}
	return all
}
