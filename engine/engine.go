package engine

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/compile/language"
	"github.com/stopwhen/stopwhen/engine/config"
	"github.com/stopwhen/stopwhen/engine/configtest"
	"github.com/stopwhen/stopwhen/engine/explain"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/remedy"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime"
	"github.com/stopwhen/stopwhen/runtime/failure"
	"github.com/stopwhen/stopwhen/runtime/redact"
	"github.com/stopwhen/stopwhen/runtime/transport"
)

// An Engine is a compiled configuration. It does not change and may be used by
// several goroutines at once.
type Engine struct {
	cfg      *rules.Config
	root     any // values of the configuration as read
	jobs     []*compile.Job
	byID     map[string]*compile.Job
	auth     *compile.Credentials // nil if the configuration has no credentials
	warnings diag.Diagnostics
	options  optionSet
	redactor *redact.Redactor
}

// New compiles a configuration written in Go. The error is [Diagnostics], which name keys as in a
// configuration file: api.pagination.limit.
func New(c config.Config, options ...Option) (*Engine, error) {
	if token, ok := c.Authentication.(config.TokenFunc); ok {
		c.Authentication = nil
		options = append([]Option{WithAuth(token)}, options...) // other options may override it
	}
	s, err := newOptionSet(options)
	if err != nil {
		return nil, err
	}
	root, err := c.Values()
	if err != nil {
		return nil, err
	}
	return build(nil, root, s)
}

// Load compiles the text of a configuration file: the specification's JSON, with or without the
// outer `parameters` object. The name appears in messages, and its ending selects the format: JSON,
// or the format that was passed for this ending to [WithFormat]. Load finds all mistakes; the error
// is then [Diagnostics], with the position of each.
func Load(name string, text []byte, options ...Option) (*Engine, error) {
	s, err := newOptionSet(options)
	if err != nil {
		return nil, err
	}
	source := diag.NewSource(name, string(bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))))
	root, err := s.parse(source)
	if found, ok := errors.AsType[diag.Diagnostics](err); ok {
		return nil, hideSecrets(found, nil, source)
	}
	if err != nil {
		return nil, err
	}
	return build(source, root, s)
}

// parse parses a text in the format that the ending of its name selects.
func (s optionSet) parse(source *diag.Source) (any, error) {
	ending := strings.ToLower(filepath.Ext(source.Name))
	if parse, ok := s.formats[ending]; ok {
		return parse(source)
	}
	if (ending == ".yaml" || ending == ".yml") && !json.Valid([]byte(source.Text)) {
		found := diag.NewCollector(source)
		found.Errorf(diag.Offset("", 0), "YAML is read only with an option").
			WithHint(fmt.Sprintf("pass engine.WithFormat(%q, yaml.Parse), with package rules/yaml", ending))
		return nil, found.Diagnostics()
	}
	return rules.ParseJSON(source)
}

// LoadFile calls [Load] with the file at path.
func LoadFile(path string, options ...Option) (*Engine, error) {
	text, err := rules.ReadConfigFile(path)
	if err != nil {
		return nil, Diagnostics{{Message: "cannot read the configuration: " + err.Error()}}
	}
	return Load(path, text, options...)
}

// build decodes, lowers and compiles a configuration. The diagnostics of all
// three are reported together.
func build(source *diag.Source, root any, s optionSet) (*Engine, error) {
	cfg, found := rules.Decode(source, root, s.decode)
	var jobs []*compile.Job
	var auth *compile.Credentials
	if len(cfg.Jobs) > 0 || found.Err() == nil {
		lowered, more := cfg.Lower()
		found = append(found, more...)
		jobs, more = compile.Jobs(cfg, lowered, s.language)
		found = append(found, more...)
		auth, more = compile.CredentialsOf(cfg, s.language)
		found = append(found, more...)
	}
	found = hideSecrets(found.Unique(), cfg.Secrets, source)
	found.Sort()
	if err := found.Err(); err != nil {
		return nil, found.Errors()
	}
	e := &Engine{cfg: cfg, root: root, auth: auth, warnings: found.Warnings(), options: s}
	e.setJobs(jobs)
	e.redactor = e.newRedactor()
	return e, nil
}

// setJobs sets the compiled jobs.
func (e *Engine) setJobs(jobs []*compile.Job) {
	e.jobs, e.byID = jobs, make(map[string]*compile.Job, len(jobs))
	for _, job := range jobs {
		e.byID[job.ID()] = job
	}
}

// hideSecrets replaces secrets in the text that diagnostics show. The source may be nil.
func hideSecrets(found diag.Diagnostics, secrets []string, source *diag.Source) diag.Diagnostics {
	if len(found) == 0 {
		return found
	}
	secrets = slices.Concat(secrets, source.Secrets())
	redactor, stars := redact.New(secrets), starReplacer(secrets)
	for _, d := range found {
		d.Hide(redactor.Text)
		d.Snippet = redactor.Text(stars.Replace(d.Snippet))
	}
	return found
}

// starReplacer returns a replacer that replaces each character of a secret with a star, so that
// the carets of snippets still point to the right place.
func starReplacer(secrets []string) *strings.Replacer {
	secrets = slices.Clone(secrets)
	// The longest secret comes first, because one secret may begin with another.
	slices.SortFunc(secrets, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	var pairs []string
	for _, secret := range secrets {
		if len(secret) >= redact.ShortestSecret {
			pairs = append(pairs, secret, strings.Repeat("*", utf8.RuneCountInString(secret)))
		}
	}
	return strings.NewReplacer(pairs...)
}

// With returns the same compiled configuration with other options for its runs.
func (e *Engine) With(options ...RunOption) *Engine {
	changed := *e
	for _, o := range options {
		if o != nil {
			o.applyRun(&changed.options.run)
		}
	}
	if changed.options.run.secretsVersion != e.options.run.secretsVersion {
		changed.redactor = changed.newRedactor()
	}
	return &changed
}

// Warnings returns the warnings about the configuration, which can still be used.
func (e *Engine) Warnings() Diagnostics { return e.warnings }

// Jobs returns the IDs of the selected jobs, in order: all jobs of the configuration, or the jobs
// of [WithJobs], whose ancestors run, too.
func (e *Engine) Jobs() []string { return idsOf(e.selected()) }

// AllJobs returns the IDs of all jobs of the configuration, in order, also of those that [WithJobs] leaves out.
func (e *Engine) AllJobs() []string { return idsOf(e.jobs) }

func idsOf(jobs []*compile.Job) []string {
	ids := make([]string, len(jobs))
	for i, job := range jobs {
		ids[i] = job.ID()
	}
	return ids
}

// selected returns the jobs that [WithJobs] names, or all.
func (e *Engine) selected() []*compile.Job {
	wanted := e.options.run.selection()
	if wanted == nil {
		return e.jobs
	}
	return slices.DeleteFunc(slices.Clone(e.jobs), func(j *compile.Job) bool { return !wanted[j.ID()] })
}

// running returns the jobs that run: the selected jobs, and their ancestors, which provide their items.
func (e *Engine) running() []*compile.Job {
	runs := map[*compile.Job]bool{}
	for _, job := range e.selected() {
		for ; job != nil && !runs[job]; job = job.Parent {
			runs[job] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(e.jobs), func(j *compile.Job) bool { return !runs[j] })
}

// roots returns the roots of the trees of jobs that run. A child needs its parent, even if
// the parent is not selected.
func (e *Engine) roots() []*compile.Job {
	needed := map[*compile.Job]bool{}
	for _, job := range e.selected() {
		for job.Parent != nil {
			job = job.Parent
		}
		needed[job] = true
	}
	return slices.DeleteFunc(slices.Clone(e.jobs), func(j *compile.Job) bool { return !needed[j] })
}

// Redactor returns the redactor of the engine's runs. It hides the secrets of the configuration
// and of the options, and the tokens that runs obtain.
func (e *Engine) Redactor() *redact.Redactor { return e.redactor }

func (e *Engine) newRedactor() *redact.Redactor {
	return redact.NewNamed(e.namedSecrets())
}

// namedSecrets returns the secrets by names that are the same in every run.
func (e *Engine) namedSecrets() map[string]string {
	named := map[string]string{}
	for i, secret := range e.cfg.Secrets {
		named[fmt.Sprintf("config %d", i)] = secret
	}
	for i, secret := range e.options.run.auth.hidden() {
		named[fmt.Sprintf("auth %d", i)] = secret
	}
	for _, in := range e.cfg.Inputs {
		if text, ok := value.Text(e.options.run.Inputs[in.Name]); ok && in.Secret {
			named["input."+in.Name] = text
		}
	}
	for scheme, password := range transport.ProxyPasswords() { // a proxy, or the API after it, may send them back
		named["proxy of "+scheme] = password
	}
	return named
}

// namedCredentials returns the named secrets except for identities: values of the environment that
// only select a list, such as the name of a tenant.
func (e *Engine) namedCredentials() map[string]string {
	named := e.namedSecrets()
	maps.DeleteFunc(named, func(_, secret string) bool { return slices.Contains(e.cfg.Identities, secret) })
	return named
}

// Check returns the error that would end a run before its first request. Invalid values of options,
// and missing, unknown or invalid inputs, are reported as [Diagnostics], and checkpoints of another
// version as an [*Error] of class "state". [Engine.Run] calls Check.
func (e *Engine) Check() error {
	if err := e.options.run.check(); err != nil {
		return err
	}
	if err := e.checkJobs(); err != nil {
		return err
	}
	if err := e.checkResume(); err != nil {
		return err
	}
	inputs, found := e.cfg.BindInputs(e.options.run.Inputs)
	if found.Err() != nil {
		return found.Errors()
	}
	if _, err := e.baseURL(inputs); err != nil {
		return e.invalidAddress("api.baseUrl", "https://api.example.com/v1/", err)
	}
	if _, err := e.allowedOrigins(inputs); err != nil {
		return e.invalidAddress("api.allowedOrigins", "https://files.example.com", err)
	}
	for _, job := range e.selected() {
		if err := job.CheckEndpoint(inputs); err != nil {
			loop := runtime.Loop{Redactor: e.Redactor()}
			return loop.CompleteError(context.Background(), &Error{Class: failure.Config, Job: job.ID(), Err: err})
		}
	}
	for _, root := range e.roots() {
		job := root.ID()
		if token := e.options.run.Resume[job]; token != nil {
			if err := runtime.Checkpoint(token).CheckVersion(); err != nil {
				return runtime.UnusableCheckpoint(job, err)
			}
		}
	}
	return nil
}

// Ended reports whether the checkpoints of [WithResume] say that every job has ended. A run then
// makes no requests and returns the result of the previous run.
func (e *Engine) Ended() bool {
	return !slices.ContainsFunc(e.roots(), func(job *compile.Job) bool {
		return !runtime.Checkpoint(e.options.run.Resume[job.ID()]).Ended()
	})
}

// baseURL returns the base address of a run with these inputs.
func (e *Engine) baseURL(inputs map[string]any) (string, error) {
	if len(e.jobs) == 0 {
		return e.cfg.BaseURL, nil
	}
	return e.jobs[0].BaseURL(inputs)
}

// allowedOrigins returns the origins that links and redirects may point to in a run with these inputs.
func (e *Engine) allowedOrigins(inputs map[string]any) ([]string, error) {
	if len(e.jobs) == 0 {
		return e.cfg.AllowedOrigins, nil
	}
	computed, err := e.jobs[0].AllowedOrigins(inputs)
	return append(computed, e.cfg.AllowedOrigins...), err
}

// invalidAddress returns the error for inputs that result in an invalid address of the api, or for a
// function that panicked.
func (e *Engine) invalidAddress(path, example string, err error) error {
	if class := failure.ClassFor(err, failure.Config); class == failure.Internal {
		return e.redact(&Error{Class: class, Op: "run", Message: err.Error(), Err: err})
	}
	found, text := diag.NewCollector(e.cfg.Source), err.Error()
	if failed, ok := errors.AsType[*language.RuleError](err); ok { // the diagnostic already states the place
		text = fmt.Sprintf("%v, in %s", failed.Err, failed.Rule.Source)
	}
	found.Errorf(diag.Value(e.cfg.Path(path)), "%s", e.Redactor().Text(text)).
		WithHint("the address that results must be like " + example)
	return found.Diagnostics()
}

// checkJobs reports the IDs of [WithJobs] that match no job.
func (e *Engine) checkJobs() error {
	known := e.AllJobs()
	found := diag.NewCollector(nil)
	for _, id := range e.options.run.jobs {
		if !slices.Contains(known, id) {
			found.Errorf(diag.Option(remedy.Jobs), "the configuration has no job %q", id).
				WithHint("the jobs are "+strings.Join(known, ", ")).WithNearest(id, known)
		}
	}
	return found.Diagnostics().Err()
}

// checkResume reports the IDs of [WithResume] that are not IDs of root jobs.
func (e *Engine) checkResume() error {
	found := diag.NewCollector(nil)
	for _, id := range slices.Sorted(maps.Keys(e.options.run.Resume)) {
		switch root := e.Job(id).Root; {
		case root == "":
			known := e.With(WithJobs()).Info().Roots
			found.Errorf(diag.Option(remedy.Resume), "the configuration has no job %q", id).
				WithHint("checkpoints belong to "+strings.Join(known, ", ")).WithNearest(id, known)
		case root != id:
			found.Errorf(diag.Option(remedy.Resume), "job %q has no checkpoint of its own: it is in the tree of job %q", id, root).
				WithHint("save checkpoints by Page.Root")
		}
	}
	return found.Diagnostics().Err()
}

// Explain describes the compiled rules of every job. It makes no request.
func (e *Engine) Explain() *explain.Explanation {
	inputs, _ := e.cfg.BindInputs(e.options.run.Inputs) // missing inputs are nil
	return explain.Explain(e.cfg, e.selected(), explain.RunDetails{
		Inputs: inputs, Kept: e.options.run.KeptBefore, Warnings: e.warnings, Auth: e.auth, Redact: e.Redactor().Text,
		Waits: explain.Waits{
			Begin: transport.HeaderTimeout, Pause: transport.IdleTimeout, Response: transport.PageTimeout,
			First: transport.BackoffBase, Longest: transport.BackoffCap, Asked: transport.MaxWait,
		},
	})
}

// tests returns the tests of the selected jobs.
func (e *Engine) tests() []rules.Test {
	jobs := e.options.run.jobs
	if len(jobs) == 0 {
		return e.cfg.Tests
	}
	return slices.DeleteFunc(slices.Clone(e.cfg.Tests), func(t rules.Test) bool { return !slices.Contains(jobs, t.Job) })
}

// Test runs the tests in the configuration. They make no requests, use no credentials, and ignore
// the engine's transport, clock, logger and observer.
func (e *Engine) Test(ctx context.Context) *configtest.Report { return e.suite().Run(ctx) }

// SampleTest returns a test of the first job to start from, as the key `tests` of a configuration.
func (e *Engine) SampleTest() string { return e.suite().Sample() }

// suiteBase returns the base address of the tests.
func (e *Engine) suiteBase() *url.URL {
	inputs, _ := e.cfg.BindInputs(e.options.run.Inputs)
	text, err := e.baseURL(inputs)
	if base, invalid := url.Parse(text); err == nil && invalid == nil {
		return base
	}
	return &url.URL{Scheme: "https", Host: "api.invalid", Path: "/"}
}

func (e *Engine) suite() *configtest.Suite {
	base := e.suiteBase()
	return &configtest.Suite{
		Tests: e.tests(), Jobs: e.selected(), Source: e.cfg.Source, BaseURL: base, Redact: e.Redactor().Text, ExitStatus: failure.ExitStatus,
		CheckInputs: func(values map[string]any) diag.Diagnostics {
			_, found := e.cfg.BindInputs(values)
			return found
		},
		Loop: func(env configtest.Environment) runtime.Loop {
			return e.offline(env.Transport, env.Clock, WithVerdictValues(), WithKept(env.Kept), WithInputs(env.Inputs))
		},
	}
}

// offline returns the loop of a run whose API is served by this process.
func (e *Engine) offline(api http.RoundTripper, clock transport.Clock, options ...RunOption) runtime.Loop {
	alone := e.With(WithTransport(api), WithClock(clock), WithLogger(nil), WithObserver(nil),
		WithResume(nil), WithKept(nil), WithPrefetch(0), WithAuth(nil)).With(options...)
	loop, _ := alone.loop() // cannot fail without credentials
	return loop
}
