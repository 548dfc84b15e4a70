package engine

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/compile/language"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/requests"
	"github.com/stopwhen/stopwhen/rules/secret"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime/redact"
	"github.com/stopwhen/stopwhen/runtime/saved"
)

// Fingerprint returns hashes of the settings that decide which items are extracted, by part:
//
//   - "transport": addresses and headers
//   - "requests": endpoints, parameters, the next request, variables of partitions
//   - "rules": stopping rules and saved values
//   - "items": paths and types of the items
//   - "input NAME": the value of an input
//   - "keep of JOB": the expressions under keep and the list they are about, without the rules that
//     end it and the inputs that only end its windows, with details: see [saved.Changed]
//
// The hashes depend on the names of credentials, but not on their values, and on all other values from the
// environment. They do not depend on retries and logs. They cover jobs that run only for their children.
func (e *Engine) Fingerprint() map[string]string {
	f := &fingerprint{
		engine: e, redactor: redact.NewNamed(e.namedCredentials()),
		parts:    map[string]*strings.Builder{"transport": {}, "requests": {}, "rules": {}, "items": {}},
		settings: map[*compile.Job]map[string]string{},
	}
	cfg := e.cfg
	f.note("transport", cfg.BaseURL, cfg.Dialect, cfg.HTTP.Headers, cfg.HTTP.Params, cfg.HTTP.IgnoreErrors, cfg.AllowedOrigins)
	inputs, _ := cfg.BindInputs(e.options.run.Inputs)
	for name, v := range inputs {
		f.note(saved.InputPart+name, v)
	}
	selected, running := e.selected(), e.running()
	ends := maps.Clone(inputs) // inputs that only end windows of some job
	maps.DeleteFunc(ends, func(name string, _ any) bool {
		return !slices.ContainsFunc(running, func(job *compile.Job) bool {
			endsWindows, elsewhere := job.Analysis().InputUse(name)
			return endsWindows && !elsewhere
		})
	})
	for _, job := range running {
		f.job(job)
		f.keep(job, inputs, ends)
		if len(selected) < len(running) { // some run for their children alone
			f.note("items", slices.Contains(selected, job))
		}
	}
	out := map[string]string{}
	for name, text := range f.parts {
		out[name] = value.SHA256(text.String())
	}
	redactor := redact.New(slices.Collect(maps.Values(e.namedCredentials()))) // the details do not have the names
	for _, job := range running {
		if part := saved.KeepPart + job.ID(); out[part] != "" {
			out[part] = f.withSettings(e.withDetails(out[part], job, redactor), job)
		}
	}
	return out
}

// A fingerprint collects the texts that [Engine.Fingerprint] hashes, by part.
type fingerprint struct {
	engine   *Engine
	redactor *redact.Redactor // hides credentials
	parts    map[string]*strings.Builder
	settings map[*compile.Job]map[string]string // by job that keeps values, the settings that its list depends on, by their names
}

// note adds values to a part. Credentials in them are redacted.
func (f *fingerprint) note(part string, values ...any) {
	if f.parts[part] == nil {
		f.parts[part] = &strings.Builder{}
	}
	fmt.Fprintf(f.parts[part], "%s\n", f.redactor.Text(string(encoded(values))))
}

// encoded returns values as JSON, or as Go prints them if they have no JSON.
func encoded(values []any) []byte {
	text, err := value.Marshal(values)
	if err != nil {
		return fmt.Append(nil, values...)
	}
	return text
}

// job adds the settings of a job.
func (f *fingerprint) job(job *compile.Job) {
	j := job.Spec()
	f.note("requests", j.ID, j.Endpoint, j.Method, j.Params, j.Body, j.Headers)
	f.note("requests", job.Ruleset.Limit, job.Ruleset.IncludeParams, job.Ruleset.Scroller)
	f.note("items", j.ID, j.DataType, j.DataField)
	if j.Response.Format != rules.FormatJSON {
		f.note("items", j.Response)
	}
	for _, v := range j.For {
		f.note("requests", j.ID, v.Name, v.Items, v.Constants, v.Window)
	}
	if len(j.For) > 0 {
		f.note("rules", j.ID, j.OnFailure)
	}
	f.note("rules", j.ID, job.Ruleset.Method, job.Ruleset.Ignore, job.Ruleset.IgnoredFindings)
	for _, r := range job.Ruleset.Rules {
		part := "rules"
		if r.Role == rules.RoleInit || r.Role == rules.RoleNext || r.Role.Builds() {
			part = "requests"
		}
		if r.Role.Scope() == rules.ScopeItem {
			part = "items"
		}
		var on any = r.OnError.On == rules.OnSuccess // as in states of earlier builds
		if r.OnError.On == rules.OnAny {
			on = r.OnError.On
		}
		f.note(part, r.ID, r.Role, r.Target, r.Source, r.Outcome, r.OnError.Do, on,
			r.Stop.Drop, r.Sending.First, r.Sending.Subsequent)
	}
}

// keep adds the values that a job keeps, and the list that they are about, which does not depend on inputs that only
// end windows, unless the job reads them elsewhere, or that only add keys of keepFor.
func (f *fingerprint) keep(job *compile.Job, inputs, ends map[string]any) {
	j, cfg, part := job.Spec(), f.engine.cfg, saved.KeepPart+job.ID()
	inputs = maps.Clone(inputs)
	maps.DeleteFunc(inputs, func(name string, _ any) bool {
		_, onlyEnds := ends[name]
		_, elsewhere := job.Analysis().InputUse(name)
		return onlyEnds && !elsewhere || job.Analysis().InputAddsKeys(name)
	})
	keeps := sources(job, rules.RoleKeep)
	if len(keeps) == 0 {
		return
	}
	set := func(name string, values ...any) { f.settings[job][name] = f.redactor.Text(string(encoded(values))) }
	f.settings[job] = map[string]string{}
	set("keep", keeps...)
	set("baseUrl", cfg.BaseURL)
	set("dialect", cfg.Dialect)
	set("endpoint", j.Endpoint)
	set("method", j.Method)
	set("params", j.ListParams())
	set("dataField", j.DataField)
	for name, v := range inputs {
		set("input "+name, v)
	}
	for _, v := range j.For {
		set("for."+v.Name, v.Items, v.Constants)
	}
	if job.KeepFor != nil {
		set("keepFor", job.KeepFor.Rule.Source)
	}
	for _, r := range job.Ruleset.Rules {
		if r.Role != rules.RoleKeep {
			continue
		}
		f.note(part, r.Target, r.Source, cfg.BaseURL, cfg.Dialect, inputs, j.Endpoint, j.Method, j.ListParams(), j.DataField)
		for _, v := range j.For {
			constants := v.Constants // a new value has items that no run has read
			if job.KeepFor != nil {  // and, with keepFor, a value of its own
				constants = nil
			}
			f.note(part, v.Name, v.Items, constants)
		}
		if job.KeepFor != nil {
			f.note(part, job.KeepFor.Rule.Source)
		}
		f.identify(part, job)
	}
}

// withSettings adds to the part of a job that keeps values the settings that its list depends on, so that a change is named.
func (f *fingerprint) withSettings(part string, job *compile.Job) string {
	for _, name := range slices.Sorted(maps.Keys(f.settings[job])) {
		part = saved.WithListDetail(part, name, value.SHA256(f.settings[job][name])[:16])
	}
	return part
}

// identify adds the values of the environment that say which list a job requests. A job depends on the
// requests of its parent.
func (f *fingerprint) identify(part string, job *compile.Job) {
	cfg := f.engine.cfg
	requests := []any{cfg.HTTP.Headers, cfg.HTTP.Params}
	for ; job != nil; job = job.Parent {
		j := job.Spec()
		requests = append(requests, j.Endpoint, j.Params, j.Headers)
		for _, r := range job.Ruleset.Rules {
			if r.Role == rules.RoleNext || r.Role.Builds() {
				requests = append(requests, r.Source)
			}
		}
	}
	text := encoded(requests)
	for _, identity := range cfg.Identities {
		if quoted, err := value.Marshal(identity); err == nil && bytes.Contains(text, bytes.Trim(quoted, `"`)) {
			f.note(part, identity)
		}
	}
}

// withDetails adds a hash for each setting that decides which rows of its list a job with kept values obtains: a row
// that an earlier configuration left out may be older than the kept values, and would never be requested. With keepFor,
// a parent that was left out has no kept value. The jobs for the items of the job run only for the new ones. Each has
// details of its own, so that a job may be added.
func (e *Engine) withDetails(part string, job *compile.Job, redactor *redact.Redactor) string {
	add := func(name string, values ...any) {
		part = saved.WithDetail(part, name, value.SHA256(redactor.Text(string(encoded(values))))[:16])
	}
	add("headers", e.cfg.ListHeaders(job.Spec()))
	add("params", rules.ListMembers(e.cfg.HTTP.Params))
	add("body", rules.ListMembers(job.Spec().Body))
	add("nextRequest", nextOfList(job))
	add("filter", sources(job, rules.RoleFilter))
	var addChildren func(of *compile.Job)
	addChildren = func(of *compile.Job) {
		for _, child := range of.Children {
			add("job "+child.ID(), e.rowsOf(child)...)
			addChildren(child)
		}
	}
	addChildren(job)
	var units []any // the kept end of windows belongs to them only with granularity
	for _, v := range job.Spec().For {
		if v.Window != nil {
			units = append(units, v.Name, v.Window.Granularity)
		}
	}
	add("granularity", units...)
	var from []any // the beginnings of the first run: rows before them are not requested by later runs
	for _, v := range job.For {
		if v.From != nil && v.From.ReadsAny(rules.ContextKept) {
			from = append(from, v.Name, v.From.Rule.Source)
		}
	}
	for _, e := range job.Computed {
		if e.Rule.Sending.Since != nil {
			from = append(from, e.Rule.Sending.Since.First)
		}
	}
	add("from", from...)
	add("listStyle", job.Spec().Lists)
	add("pagination", len(job.NextParts) > 0) // a list that was one page may have more
	if job.KeepFor != nil {
		return part
	}
	add("for", sources(job, rules.RoleFor, "when", "values"))
	var parents []any
	for p := job.Parent; p != nil; p = p.Parent {
		parents = append(parents, e.rowsOf(p)...)
	}
	add("parents", parents...)
	return part
}

// rowsOf returns the settings of a job that decide which rows it obtains.
func (e *Engine) rowsOf(job *compile.Job) []any {
	j := job.Spec()
	all := []any{
		j.Endpoint, j.Method, rules.ListMembers(j.Params), j.DataField, rules.ListMembers(j.Body),
		e.cfg.ListHeaders(j), nextOfList(job), sources(job, rules.RoleFilter), sources(job, rules.RoleFor, "when", "values"),
	}
	for _, v := range j.For {
		all = append(all, v.Name, v.Items, v.Constants)
	}
	return all
}

// sources returns the expressions of a job with a role and, unless there are no targets, with one of the targets.
func sources(job *compile.Job, role rules.Role, targets ...string) (all []any) {
	for _, r := range job.Ruleset.Rules {
		if r.Role == role && (len(targets) == 0 || slices.Contains(targets, r.Target)) {
			all = append(all, r.ForIndex, r.Source)
		}
	}
	return all
}

// nextOfList returns the parts of nextRequest that are the same on every page, and in every run with the same inputs:
// they select a list, and do not page through it.
func nextOfList(job *compile.Job) (parts []any) {
	for _, e := range job.Parts {
		r := e.Rule
		pages := e.ReadsFunc(func(read language.Read) bool {
			return !read.Is(rules.ContextInput) && !read.Is(rules.ContextPartition)
		})
		hidden := r.Sending.Secret || r.Role == rules.RoleHeader && requests.DescribesNoList(r.Target, "") ||
			r.Role == rules.RoleParam && secret.IsName(r.Target)
		if r.Origin.IsConfig() && r.Role != rules.RoleAfter && !pages && !hidden {
			parts = append(parts, r.Role, r.Target, r.Source, r.Sending.First)
		}
	}
	return parts
}
