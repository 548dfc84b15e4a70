package stress

import (
	"context"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/compile"
)

// reportVersion is the version of a [Report] as JSON.
const reportVersion = 1

// Options say how hard the stress is.
type Options struct {
	Seed  int // varies where behaviours happen; runs with the same seed are the same
	Depth int // how many behaviours happen at the same time: 1, also for 0, or 2, also for more

	WithoutFixes bool // no fix is tried, which takes most of the time

	// Like holds, by job, a response of the API whose shape the model takes over: the members
	// of the response and of an item. Only JSON has an effect.
	Like map[string][]byte
}

// depth is how many behaviours are combined at most.
func (o Options) depth() int { return min(max(o.Depth, 1), 2) }

// A Report says how a configuration fares.
type Report struct {
	Version int         `json:"version"` // of the JSON; keys may be added to a version
	Seed    int         `json:"seed"`
	Depth   int         `json:"depth"`
	Jobs    []JobReport `json:"jobs"`
}

// A JobReport says how one job fares.
type JobReport struct {
	Job     string    `json:"job"`
	Model   []string  `json:"model,omitempty"`   // what the API does, in sentences
	Unknown string    `json:"unknown,omitempty"` // why there is no model; the job was not put under stress
	Rows    []Row     `json:"rows"`
	Left    []LeftOut `json:"leftOut,omitempty"`
}

// A Row says how the job fares with one behaviour.
type Row struct {
	Behaviour  string   `json:"behaviour"` // its name; two are joined by "+"
	Group      string   `json:"group,omitempty"`
	Says       string   `json:"says"`
	Requests   int      `json:"requests"`
	Served     int      `json:"served"`   // items of the list
	Obtained   int      `json:"obtained"` // of these
	Missing    int      `json:"missing"`
	Duplicated int      `json:"duplicated"`
	Outcome    string   `json:"outcome"`
	Reason     string   `json:"reason,omitempty"` // the rule that ended the list
	Exit       int      `json:"exit"`
	Findings   []string `json:"findings,omitempty"`
	Verdict    Verdict  `json:"verdict"`
	Why        string   `json:"why"` // how the run ended, in one sentence
	Fix        *Fix     `json:"fix,omitempty"`
}

// LeftOut is a behaviour that cannot apply.
type LeftOut struct {
	Behaviour string `json:"behaviour"`
	Why       string `json:"why"`
}

// A Verdict says what a behaviour does to the list.
type Verdict string

// The verdicts.
const (
	Complete Verdict = "complete" // every item once, and the run says so
	Reported Verdict = "reported" // items are missing or occur twice, or the run failed, and it says so
	Silent   Verdict = "SILENT"   // items are missing or occur twice, and the run says nothing
	Endless  Verdict = "endless"  // only a guard ended the list
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

// modelled finds a plan for a job, and returns the job as the plan is for it.
func (s *Suite) modelled(ctx context.Context, job *compile.Job, binding map[string]any, like []byte) (*compile.Job, *plan, error) {
	stressed := listed(job, false)
	shape := sampleOf(job, like)
	p, err := s.planOf(ctx, stressed, binding, shape)
	if err != nil && slices.ContainsFunc(job.Stops, isLimit) { // it may be shorter than a list of the model
		stressed = listed(job, true)
		if p, err = s.planOf(ctx, stressed, binding, shape); p != nil {
			p.unlimited = true
		}
	}
	if p != nil {
		p.limited = job.Set.Limit != nil
	}
	return stressed, p, err
}

// job puts one job under stress.
func (s *Suite) job(ctx context.Context, job *compile.Job, o Options) (JobReport, *plan, error) {
	report := JobReport{Job: job.Set.Job.ID, Rows: []Row{}}
	binding := sample(job)
	stressed, p, err := s.modelled(ctx, job, binding, o.Like[job.Set.Job.ID])
	if err != nil {
		report.Unknown = err.Error()
		return report, nil, ctx.Err()
	}
	report.Model = p.sentences()
	fixer := &fixer{suite: s, ctx: ctx, plan: p, job: job, binding: binding, seed: o.Seed, known: map[string]*trial{}}
	for _, b := range combined(o.depth()) {
		if why := b.missing(p); why != "" {
			if len(b) == 1 {
				report.Left = append(report.Left, LeftOut{b[0].Name, why})
			}
			continue
		}
		t := s.under(ctx, p, stressed, binding, b, o.Seed)
		if ctx.Err() != nil {
			return report, p, ctx.Err()
		}
		row := s.row(t, b)
		if row.Verdict == Silent && !o.WithoutFixes {
			row.Fix = fixer.fix(b, t)
		}
		report.Rows = append(report.Rows, row)
	}
	return report, p, nil
}

// under runs a job with behaviours.
func (s *Suite) under(ctx context.Context, p *plan, job *compile.Job, binding map[string]any, all combination, seed int) *run {
	n := p.usual()
	for _, b := range all {
		if b.items != nil {
			n = b.items(p.pageSize)
		}
	}
	sized := *p
	if limit, ok := job.Set.Limit.(int); ok { // that of a changed configuration may be another one
		sized.pageSize = limit
	}
	a := sized.api(n)
	a.seed, a.usualSize = seed, p.pageSize
	for _, b := range all {
		if b.begin != nil {
			b.begin(a)
		}
		if b.reply != nil {
			a.answers = append(a.answers, b.reply)
		}
	}
	return s.try(ctx, job, binding, a)
}

// PartitionBehaviours returns the table of what an API may do to partitions, in its order.
func PartitionBehaviours() []Behaviour { return slices.Clone(treeBehaviours) }

// Behaviours returns the table of behaviours of a list, in its order.
func Behaviours() []Behaviour { return slices.Clone(behaviours) }

// A combination is behaviours that happen in the same run.
type combination []*Behaviour

// combined returns all combinations of at most depth behaviours.
func combined(depth int) []combination {
	var all []combination
	for i := range behaviours {
		all = append(all, combination{&behaviours[i]})
	}
	if depth < 2 {
		return all
	}
	for i := range behaviours {
		for j := i + 1; j < len(behaviours); j++ {
			if b := (combination{&behaviours[i], &behaviours[j]}); i > 0 && !b.contradicts() {
				all = append(all, b)
			}
		}
	}
	return all
}

// contradicts reports whether both behaviours decide the same.
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

func (c combination) name() string {
	return strings.Join(texts(c, func(b *Behaviour) string { return b.Name }), "+")
}

func (c combination) says() string {
	return strings.Join(texts(c, func(b *Behaviour) string { return b.Says }), " ")
}

// sentences describes the model.
func (p *plan) sentences() []string {
	var all []string
	for _, m := range p.places {
		all = append(all, m.Place.String()+" is "+m.meaning.says+".")
	}
	if p.unlimited {
		all = append(all, "The limits of the configuration are left out.")
	}
	if p.paged {
		all = append(all, p.locator.says)
	}
	return all
}
