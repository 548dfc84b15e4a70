package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime/saved"
)

// Info describes the runs of a configuration as a whole. The zero value of a field means that the
// configuration does not set it.
type Info struct {
	Roots         []string // IDs of the jobs without a parent in the trees of the jobs that run
	Rules         int      // number of rules of the jobs that run, without the rules of the audit and of keep
	Tests         []string // names of the tests of the jobs that run, in order
	Env           []string // environment variables that the configuration reads, each once; see [WithEnv]
	Inputs        []string // declared inputs; see [WithInputs]
	SecretInputs  []string // the Inputs that are secret
	RotatesTokens bool     // whether the API may replace the refresh token, so that [WithTokenStore] is needed
	Debug         bool     // whether the configuration asks for detailed logs
}

// Info describes the configuration.
func (e *Engine) Info() Info {
	info := Info{Env: slices.Clone(e.cfg.Env), Debug: e.cfg.Debug}
	for _, root := range e.roots() {
		info.Roots = append(info.Roots, root.ID())
	}
	for _, job := range e.selected() {
		info.Rules += len(job.Init) + len(job.Next) + len(job.Parts) + len(job.Stops) + len(job.OnErrors)
	}
	for _, test := range e.tests() {
		info.Tests = append(info.Tests, test.Name)
	}
	for _, in := range e.cfg.Inputs {
		info.Inputs = append(info.Inputs, in.Name)
		if in.Secret {
			info.SecretInputs = append(info.SecretInputs, in.Name)
		}
	}
	auth := e.cfg.Auth
	info.RotatesTokens = e.settings.run.auth == nil && auth != nil && auth.Values["grant"] == rules.GrantRefresh
	return info
}

// JobInfo describes a job of a configuration. A job whose `for` names the items of another job is
// a child of that job; parents and children form a tree.
type JobInfo struct {
	ID          string
	Parent      string   // ID of the parent; empty for a root
	Root        string   // ID of the root of its tree, to which checkpoints belong; the ID of the job itself without a parent
	DataTypes   []string // types of the items: `dataType`, the endpoint, or those of the paths of `dataField`
	DefaultType string   // the type in DataTypes that was derived from the id or the endpoint; "" if the configuration sets `dataType`
	Key         []string // paths of what identifies an item that is written: `key`; nil if nothing does
	Emits       bool     // whether the items are written: `emit`
	Partitioned bool     // whether the job may run more than once, or has children
	Keepers     []string // IDs of the job and its ancestors that save values with `keep`, which decide what the job requests
}

// Job describes a job of the configuration. It returns the zero JobInfo if there is no job with
// the id.
func (e *Engine) Job(id string) JobInfo {
	job := e.byID[id]
	if job == nil {
		return JobInfo{}
	}
	spec := job.Spec()
	info := JobInfo{ID: id, DataTypes: spec.DataTypes(), Key: spec.Key, Emits: spec.Emits, Partitioned: job.Partitioned()}
	if !spec.Typed {
		info.DefaultType = spec.DataType
	}
	if job.Parent != nil {
		info.Parent = job.Parent.ID()
	}
	for ; job != nil; job = job.Parent {
		info.Root = job.ID()
		if len(job.Keeps) > 0 {
			info.Keepers = append(info.Keepers, job.ID())
		}
	}
	return info
}

// Fingerprint returns hashes of the settings that decide what is extracted, by part:
// "transport" (addresses, headers), "requests" (endpoints, parameters, the next request,
// the variables of partitions), "rules" (the stopping rules and the saved values) and
// "items" (the paths and types of the items), and for every input "input " and its name. Of
// secrets it includes only the names, so another token changes nothing, and neither do
// retries and logs. For every job with `keep` that runs, there is a part "keep of " and its id: the
// saved values and the list that they are about, without the rules of its end and the inputs that
// are only the end of an increment.
func (e *Engine) Fingerprint() map[string]string {
	f := &fingerprint{engine: e, parts: map[string]*strings.Builder{"transport": {}, "requests": {}, "rules": {}, "items": {}}}
	cfg := e.cfg
	f.note("transport", cfg.BaseURL, cfg.Dialect, cfg.HTTP.Headers, cfg.HTTP.Params, cfg.HTTP.IgnoreErrors, cfg.AllowedOrigins)
	inputs, _ := cfg.BindInputs(e.settings.run.Inputs)
	for name, v := range inputs {
		f.note(saved.InputPart+name, v)
	}
	for _, job := range e.selected() {
		f.job(job)
	}
	for _, job := range e.running() {
		f.keep(job, inputs)
	}
	out := map[string]string{}
	for name, text := range f.parts {
		sum := sha256.Sum256([]byte(text.String()))
		out[name] = hex.EncodeToString(sum[:])
	}
	return out
}

// A fingerprint collects the texts that [Engine.Fingerprint] hashes, by part.
type fingerprint struct {
	engine *Engine
	parts  map[string]*strings.Builder
}

// note adds values to a part. Secrets in them are redacted.
func (f *fingerprint) note(part string, values ...any) {
	if f.parts[part] == nil {
		f.parts[part] = &strings.Builder{}
	}
	text, err := value.Marshal(values)
	if err != nil {
		text = fmt.Append(nil, values...)
	}
	fmt.Fprintf(f.parts[part], "%s\n", f.engine.Redactor().String(string(text)))
}

// job adds the settings of a job.
func (f *fingerprint) job(job *compile.Job) {
	j := job.Spec()
	f.note("requests", j.ID, j.Endpoint, j.Method, j.Params, j.Headers, job.Ruleset.Limit, job.Ruleset.IncludeParams, job.Ruleset.Scroller)
	f.note("items", j.ID, j.DataType, j.DataField)
	if j.Response.Format != rules.JSON {
		f.note("items", j.Response)
	}
	for _, s := range j.For {
		f.note("requests", j.ID, s.Name, s.Items, s.Constants, s.Window)
	}
	if len(j.For) > 0 {
		f.note("rules", j.ID, j.OnFailure)
	}
	f.note("rules", j.ID, job.Ruleset.Method, job.Ruleset.Ignore, job.Ruleset.IgnoredFindings)
	for _, r := range job.Ruleset.Rules {
		part := "rules"
		if r.Role == rules.Init || r.Role == rules.Next || r.Role.Builds() {
			part = "requests"
		}
		if r.Role.Scope() == rules.ScopeItem {
			part = "items"
		}
		f.note(part, r.ID, r.Role, r.Target, r.Source, r.Outcome, r.Do, r.Drop, r.First, r.Subsequent)
	}
}

// keep adds the values that a job keeps, and the list that they are about.
func (f *fingerprint) keep(job *compile.Job, inputs map[string]any) {
	j, cfg, part := job.Spec(), f.engine.cfg, saved.KeepPart+job.ID()
	inputs = maps.Clone(inputs)
	maps.DeleteFunc(inputs, func(name string, _ any) bool { return job.OnlyEndsWindows(name) })
	for _, r := range job.Ruleset.Rules {
		if r.Role != rules.Keep {
			continue
		}
		f.note(part, r.Target, r.Source, cfg.BaseURL, cfg.Dialect, inputs, j.Endpoint, j.Method, j.ListParams(), j.DataField)
		for _, s := range j.For { // a new value has items that no run has read
			f.note(part, s.Name, s.Items, s.Constants)
		}
	}
}
