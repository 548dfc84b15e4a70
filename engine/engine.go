package engine

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/engine/config"
	"github.com/stopwhen/stopwhen/engine/explain"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime/redact"
	"github.com/stopwhen/stopwhen/runtime/transport"
)

// An Engine is a compiled configuration. It does not change and may be used by
// several goroutines at once.
type Engine struct {
	cfg      *rules.Config
	root     any            // values of the configuration as read
	jobs     []*compile.Job // at least one; the rules of the api are in each
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
// outer `parameters` object. The name appears in messages, and its extension selects the format: JSON,
// or the format that was passed for this extension to [WithFormat]. Load finds all mistakes; the error
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

// parse parses a text in the format that the extension of its name selects.
func (s optionSet) parse(source *diag.Source) (any, error) {
	ext := strings.ToLower(filepath.Ext(source.Name))
	if parse, ok := s.formats[ext]; ok {
		return parse(source)
	}
	if (ext == ".yaml" || ext == ".yml") && !json.Valid([]byte(source.Text)) {
		found := diag.NewCollector(source)
		found.Errorf(diag.Offset("", 0), "YAML is read only with an option").
			WithHint(fmt.Sprintf("pass engine.WithFormat(%q, yaml.Parse), with package rules/yaml", ext))
		return nil, found.Diagnostics()
	}
	return rules.ParseJSON(source)
}

// LoadFile calls [Load] with the file at path.
func LoadFile(path string, options ...Option) (*Engine, error) {
	text, err := rules.ReadConfigFile(path)
	if err != nil {
		return nil, Diagnostics{{Message: "cannot read the configuration: " + err.Error(), Err: err}}
	}
	return Load(path, text, options...)
}

// build decodes, lowers and compiles a configuration. The diagnostics of all
// three are reported together.
func build(source *diag.Source, root any, s optionSet) (*Engine, error) {
	cfg, found := rules.Decode(source, root, s.decode)
	compiled := &compile.Compiled{}
	if len(cfg.Jobs) > 0 { // otherwise Decode has found an error
		var more Diagnostics
		compiled, more = compile.Compile(cfg, compile.Options{Language: s.language})
		found = append(found, more...)
	}
	found = hideSecrets(found.Unique(), cfg.Secrets, source)
	found.Sort()
	if err := found.Err(); err != nil {
		return nil, err
	}
	e := &Engine{cfg: cfg, root: root, auth: compiled.Credentials, warnings: found.Warnings(), options: s}
	e.setJobs(compiled.Jobs)
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
