package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/value"
)

// Fingerprint returns hashes of the settings that decide what is extracted, by part:
// "transport" (addresses, headers), "requests" (endpoints, parameters, the next request,
// the variables of partitions), "rules" (the stopping rules and the saved values) and
// "items" (the paths and types of the items), and for every input "input " and its name. Of
// secrets it includes only the names, so another token changes nothing, and neither do
// retries and logs. For every job with `keep` there is a part "keep of " and its id: the
// saved values and the list that they are about, without the rules of its end.
func (e *Engine) Fingerprint() map[string]string {
	parts := map[string]*strings.Builder{"transport": {}, "requests": {}, "rules": {}, "items": {}}
	note := func(part string, values ...any) {
		if parts[part] == nil {
			parts[part] = &strings.Builder{}
		}
		text, err := value.Marshal(values)
		if err != nil {
			text = fmt.Append(nil, values...)
		}
		fmt.Fprintf(parts[part], "%s\n", e.Redactor().String(string(text)))
	}
	cfg := e.cfg
	note("transport", cfg.BaseURL, cfg.Dialect, cfg.HTTP.Headers, cfg.HTTP.Params, cfg.HTTP.IgnoreErrors, cfg.AllowedOrigins)
	inputs, _ := cfg.BindInputs(e.settings.run.Inputs)
	for name, v := range inputs {
		note("input "+name, v)
	}
	for _, job := range e.selected() {
		j := job.Set.Job
		note("requests", j.ID, j.Endpoint, j.Method, j.Params, j.Headers, job.Set.Limit, job.Set.IncludeParams, job.Set.Scroller)
		note("items", j.ID, j.DataType, j.DataField)
		if j.Response.Format != rules.JSON {
			note("items", j.Response)
		}
		for _, s := range j.For {
			note("requests", j.ID, s.Name, s.Items, s.Values, s.Window)
		}
		if len(j.For) > 0 {
			note("rules", j.ID, j.OnFailure)
		}
		note("rules", j.ID, job.Set.Method, job.Set.Ignore, job.Set.IgnoredFindings)
		for _, r := range job.Set.Rules {
			part := "rules"
			if r.Role == rules.Init || r.Role == rules.Next || r.Role.Builds() {
				part = "requests"
			}
			if r.Role.Scope() == rules.ScopeItem {
				part = "items"
			}
			note(part, r.ID, r.Role, r.Target, r.Source, r.Outcome, r.Do, r.Drop, r.First, r.Subsequent)
			if r.Role == rules.Keep {
				note("keep of "+j.ID, r.Target, r.Source, cfg.BaseURL, cfg.Dialect, inputs, j.Endpoint, j.Method, j.Params, j.DataField)
				for _, s := range j.For { // a new value has items that no run has read
					note("keep of "+j.ID, s.Name, s.Items, s.Values)
				}
			}
		}
	}
	out := map[string]string{}
	for name, text := range parts {
		sum := sha256.Sum256([]byte(text.String()))
		out[name] = hex.EncodeToString(sum[:])
	}
	return out
}
