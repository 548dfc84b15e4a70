package compile

import (
	"slices"

	"github.com/stopwhen/stopwhen/compile/language"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/lists"
	"github.com/stopwhen/stopwhen/rules/requests"
)

// Job is the compiled ruleset of one job. Its fields are for reading: a Job never changes, so that many goroutines may run it
// at once. Its methods are for running it; [Job.Analysis] answers questions about it.
type Job struct {
	Ruleset *rules.Ruleset
	RequestRules
	ListRules
	Partitioning
	ItemRules ItemRules
	Needs     Needs
	Probe     *Probe              // usually nil
	Functions []language.Function // added functions that the rules call
}

// RequestRules make the requests of a job.
type RequestRules struct {
	Request    requests.Request       // the job's own request, without its computed values
	Computed   []*language.Expression // computed values of the job's own request, for each partition
	Parts      []*language.Expression // parts of the requests, as the roles of their rules say; address parts come first
	FirstParts []*language.Expression // the Parts of the first request
	NextParts  []*language.Expression // the Parts of later requests

	common rules.Object // parameters of every request (api.http.defaultOptions.params)
}

// ListRules are evaluated on the pages of a list.
type ListRules struct {
	Init     []*language.Expression // initial values of the state's variables
	Stops    []*Trigger             // stopping rules in their order; if several are met on a page, the first is the reason
	OnErrors []*Trigger             // rules for error responses, or for pages; the first that is met decides
	Next     []*language.Expression // values of the state's variables after a page
	Keeps    []*language.Expression // values for the next run
	KeepFor  *language.Expression   // tells apart the partitions whose kept values are their own; nil if all share them

	ends          bool // a rule other than a guard may end the list
	endsByRequest bool // a rule of the configuration may end the list by its requests alone
	byPosition    bool // see [Analysis.RequestsByPosition]
	derivesPaging bool // see [Analysis.DerivesPaging]
}

// Partitioning holds what divides a job into partitions: its variables, and its parent and children, which
// share them.
type Partitioning struct {
	For      []ForVariable // the variables of for, in their order
	Parent   *Job          // the job whose items the partitions are for, or nil
	Children []*Job        // the jobs that run for the items of this job, in their order

	ItemPaths         [][]string // paths that the job and its descendants read of an item of its parent; an empty path is the whole item
	RequiredItemPaths [][]string // the ItemPaths without which the list of a child may be lost

	partitionReads [][]string // the paths of the variables that expressions read
	requiredReads  [][]string // the partitionReads that must be present
}

// A Trigger is a compiled rule that is met if its expression is true: a stopping rule, an onError rule
// or a rule of the audit.
type Trigger struct {
	*language.Expression
	Message *Message
	Proof   *language.Expression // if it is true, the finding of a rule of the audit is evidence; may be nil
}

// A Probe is an expression whose value on each page is shown to the user.
type Probe struct {
	*language.Expression
	Item int // number of the item that it reads, from 1; 0 means no item
}

// Needs holds the paths of the responses that the rules of a job read. Only these are decoded.
type Needs struct {
	Body  [][]string // paths of the body; an empty path is the whole body
	Items [][]string // paths of every item of a page; an empty path is the whole item
	Past  bool       // rules read the items of earlier pages
}

// Options are the options of [Compile]. The zero Options compile in the built-in language.
type Options struct {
	Language *language.Language // nil is [language.Builtin]
	Probe    *ProbeSource       // usually nil
}

// A ProbeSource is an expression whose value on the pages of a job is shown to the user: see [Probe].
type ProbeSource struct {
	Job    string // ID of the job
	Source string
	Item   int // number of the item that the expression reads, from 1; 0 means no item
}

// Compiled is a compiled configuration.
type Compiled struct {
	Jobs        []*Job       // in the order of the configuration
	Credentials *Credentials // nil if there are none
}

// Compile lowers and compiles a configuration. The diagnostics are the mistakes and the warnings of [rules.Config.Lower],
// the errors in all expressions, and warnings about rules that are probably mistakes. If there are errors, the jobs
// cannot be run.
func Compile(cfg *rules.Config, o Options) (*Compiled, diag.Diagnostics) {
	lowered, found := cfg.Lower()
	jobs, more := compileJobs(cfg, lowered, o)
	found = append(found, more...)
	credentials, more := compileCredentials(cfg, o.Language)
	return &Compiled{Jobs: jobs, Credentials: credentials}, append(found, more...).Unique()
}

// compileJobs compiles the jobs of a configuration, and the scrollers that no job uses.
func compileJobs(cfg *rules.Config, lowered *rules.Lowered, o Options) ([]*Job, diag.Diagnostics) {
	shared, diags := newShared(o.Language), diag.NewCollector(cfg.Source)
	var jobs []*Job
	for _, set := range lowered.Jobs {
		c := &compilation{shared: shared, set: set, diags: diags}
		if o.Probe != nil && o.Probe.Job == set.Job.ID {
			c.probe = o.Probe
		}
		job := c.job()
		job.Request, job.common = cfg.FirstRequest(set.Job), cfg.HTTP.Params
		job.noteSecrets(cfg.Secrets)
		jobs = append(jobs, job)
	}
	link(jobs)
	for _, job := range jobs {
		job.findPaging()
		(&compilation{shared: shared, set: job.Ruleset, diags: diags}).checkKept(job)
	}
	for _, set := range lowered.UnusedScrollers {
		(&compilation{shared: shared, set: set, diags: diags}).job()
	}
	return jobs, diags.Diagnostics().Unique()
}

// compilation compiles one ruleset.
type compilation struct {
	*shared
	set   *rules.Ruleset
	probe *ProbeSource // nil if the job has no probe
	diags *diag.Collector
}

// shared is shared by the compilations of all rulesets of a configuration.
type shared struct {
	language *language.Language
	compiler *language.Compiler
	messages map[messageKey]*Message
	pairs    int // number of compared pairs of rules, see maxPairs
}

func newShared(in *language.Language) *shared {
	if in == nil {
		in = language.Builtin()
	}
	return &shared{language: in, compiler: language.NewCompiler(in), messages: map[messageKey]*Message{}}
}

// job compiles the rules of a job, and puts each into the list of its role.
func (c *compilation) job() *Job {
	job := &Job{Ruleset: c.set}
	job.For = lists.Map(c.set.Job.For, func(v rules.ForVariable) ForVariable { return ForVariable{ForVariable: v} })
	c.checkForNames()
	for _, rule := range c.set.Rules {
		if rule.Role == rules.RoleAudit { // compiled on demand, when the first list needs it
			continue
		}
		c.add(job, rule)
	}
	if c.probe != nil {
		c.add(job, rules.Rule{
			ID: string(rules.RoleProbe), Role: rules.RoleProbe, Source: c.probe.Source, Origin: rules.Origin{Path: "the expression"},
		})
	}
	slices.SortStableFunc(job.Parts, func(a, b *language.Expression) int { return addressRank(a) - addressRank(b) })
	for _, e := range job.Parts {
		if e.Rule.Sending.First {
			job.FirstParts = append(job.FirstParts, e)
		}
		if e.Rule.Sending.Subsequent {
			job.NextParts = append(job.NextParts, e)
		}
	}
	job.findEnds()
	c.checkJob(job)
	return job
}

// add compiles a rule of a job.
func (c *compilation) add(job *Job, rule rules.Rule) {
	e, err := c.expression(rule, rule.Role.Scope())
	if err != nil {
		c.report(rule, err)
		return
	}
	job.noteNeeds(e)
	if err := c.assign(job, e); err != nil {
		c.report(rule, err)
	}
}

// assign adds an expression to the job's list for its role. It returns an error if the expression
// reads a value before that value is known.
func (c *compilation) assign(job *Job, e *language.Expression) error {
	if e.Rule.Sending.PerPartition {
		job.Computed = append(job.Computed, e)
		return checkKnown(e)
	}
	switch e.Rule.Role {
	case rules.RoleFor:
		job.addForRule(e)
		return c.checkForRule(e)
	case rules.RoleKeepFor:
		job.KeepFor = e
		return checkKnown(e)
	case rules.RoleInit:
		if err := checkKnown(e); err != nil {
			return err
		}
		job.Init = append(job.Init, e)
	case rules.RoleNext:
		job.Next = append(job.Next, e)
	case rules.RoleStop:
		job.Stops = append(job.Stops, c.trigger(job, e))
	case rules.RoleOnError:
		job.OnErrors = append(job.OnErrors, c.trigger(job, e))
	case rules.RoleKeep:
		job.Keeps = append(job.Keeps, e)
	case rules.RoleFilter, rules.RoleSet, rules.RoleRemove:
		job.ItemRules.add(e)
	case rules.RoleProbe:
		job.Probe = &Probe{Expression: e, Item: c.probe.Item}
	default:
		job.Parts = append(job.Parts, e)
	}
	return nil
}

// addressRank orders the parts of a request: without an address, the others
// need not be evaluated.
func addressRank(part *language.Expression) int {
	if part.Rule.Role.Addresses() {
		return 0
	}
	return 1
}

func (c *compilation) expression(rule rules.Rule, scope rules.Scope) (*language.Expression, error) {
	return c.compiler.Expression(rule, c.set, scope)
}

// report adds an error in an expression, with its place in the configuration and
// a caret under the expression.
func (c *compilation) report(rule rules.Rule, err error) {
	path := rule.Origin.Path
	if path == "" {
		path = rule.ID
	}
	f := language.AsFault(err)
	if rule.BelongsToFor() && f.Lists {
		f.Hint, f.Instead = hintFor, ""
	}
	place := diag.Within(path, rule.Source, f.Offset(rule.Source))
	if rule.Role == rules.RoleProbe {
		place = diag.Outside(path)
	}
	c.diags.Errorf(place, "%s", f.Message).WithReplacement(f.Instead, f.Hint).Snippet = f.Snippet(rule.Source)
}

// trigger compiles the message of a rule.
func (c *compilation) trigger(job *Job, e *language.Expression) *Trigger {
	m := c.message(e.Rule)
	for _, hole := range m.holes {
		job.noteNeeds(hole)
	}
	return &Trigger{Expression: e, Message: m}
}

// noteNeeds notes the values that an expression needs of the responses, and the
// functions that it calls.
func (j *Job) noteNeeds(e *language.Expression) {
	for _, path := range e.Items() {
		j.Needs.Items = withPath(j.Needs.Items, path)
	}
	for _, r := range e.Reads {
		j.Needs.add(r)
		if r.Is(rules.ContextPartition) {
			j.partitionReads = append(j.partitionReads, r.Path)
			if !r.Has && !r.Defaulted {
				j.requiredReads = append(j.requiredReads, r.Path)
			}
		}
	}
	for _, f := range e.Functions() {
		if !slices.ContainsFunc(j.Functions, func(had language.Function) bool { return had.Name == f.Name }) {
			j.Functions = append(j.Functions, f)
		}
	}
}

func (n *Needs) add(r language.Read) {
	switch {
	case r.Root == rules.ContextBody:
		n.Body = withPath(n.Body, r.Path)
	case r.Past != "" && r.Root == rules.ContextItems:
		n.Past = true
	case r.Past == "" && language.IsPast(r.Root): // the whole earlier page
		n.Body, n.Past = append(n.Body, nil), true
	}
}

// withPath returns the paths, with path at the end unless they have it.
func withPath(paths [][]string, path []string) [][]string {
	if slices.ContainsFunc(paths, func(had []string) bool { return slices.Equal(had, path) }) {
		return paths
	}
	return append(paths, path)
}

// reads reports whether f holds for any read of the rules of the job, except for messages and the
// rules of the variables of for.
func (j *Job) reads(f func(language.Read) bool) bool {
	for _, list := range [...][]*language.Expression{j.Computed, j.Init, j.Parts, j.Next, j.Keeps, j.ItemRules.rules} {
		if anyReads(list, f) {
			return true
		}
	}
	triggerReads := func(t *Trigger) bool { return t.ReadsFunc(f) }
	return slices.ContainsFunc(j.Stops, triggerReads) || slices.ContainsFunc(j.OnErrors, triggerReads)
}

// anyReads reports whether f holds for any read of the expressions.
func anyReads(list []*language.Expression, f func(language.Read) bool) bool {
	return slices.ContainsFunc(list, func(e *language.Expression) bool { return e.ReadsFunc(f) })
}

// Expressions returns the expressions of triggers.
func Expressions(triggers []*Trigger) []*language.Expression {
	return lists.Map(triggers, func(t *Trigger) *language.Expression { return t.Expression })
}

// ID returns the id of the job.
func (j *Job) ID() string { return j.Ruleset.Job.ID }

// Spec returns the job as it is configured. The caller must not change it.
func (j *Job) Spec() *rules.Job { return &j.Ruleset.Job }

// Paged reports whether there can be a second request.
func (j *Job) Paged() bool { return len(j.Parts) > 0 }
