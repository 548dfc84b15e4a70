package engine_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/fixtures"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/diag"
)

// TestPrintedRulesPastedIntoAConfigurationBehaveTheSame takes what --explain
// prints of every case with one paged job, writes it as a configuration of
// method expression, and plays the case with that: the requests, the items and
// the end must be the same. So what is printed is all there is.
func TestPrintedRulesPastedIntoAConfigurationBehaveTheSame(t *testing.T) {
	cases, err := fixtures.All()
	require.NoError(t, err)
	played := map[string]int{}
	for _, c := range cases {
		if c.ConfigName != "config.json" || c.Exit != 0 || len(c.Args) > 0 || strings.HasPrefix(c.Name, "keboola/") {
			continue
		}
		e, err := engine.Load(c.ConfigName, []byte(strings.ReplaceAll(string(c.Config), "{base}", "http://127.0.0.1")))
		if err != nil || len(e.Explain().Jobs) != 1 || e.Explain().Jobs[0].Method == "" {
			continue
		}
		job := e.Explain().Jobs[0]
		if slices.ContainsFunc(job.Next, func(r compile.RuleExplanation) bool { return r.First != job.Next[0].First }) {
			continue // a method with the user's parts laid over it: one of them is for the first request too
		}
		played[job.Method]++
		t.Run(c.Name, func(t *testing.T) {
			pasted := *c
			pasted.Config = paste(t, c.Config, job)
			pasted.Trace, pasted.Log = nil, nil // rules get other origins, so messages differ
			play(t, &pasted, false)
		})
	}
	for _, method := range rules.Builtin().Methods() {
		if !method.KeboolaOnly && method.Name != rules.Multiple {
			require.NotZero(t, played[method.Name], "no case of method %s", method.Name)
		}
	}
}

// paste puts the printed sources in the place of a configuration's pagination.
func paste(t *testing.T, config []byte, job compile.JobExplanation) []byte {
	t.Helper()
	parsed, err := rules.ParseJSON(diag.NewSource("config.json", string(config)))
	require.NoError(t, err)
	root := parsed.(rules.Object)
	inner := root
	if p, ok := root.Get("parameters"); ok {
		inner = p.(rules.Object)
	}
	old := member(member(inner, "api"), "pagination")

	state := map[string]map[string]string{}
	for _, r := range job.State {
		name, role, _ := strings.Cut(strings.TrimPrefix(r.ID, "state."), ".")
		if state[name] == nil {
			state[name] = map[string]string{}
		}
		state[name][role] = r.Source
	}
	next := map[string]any{"includeParams": job.IncludeParams}
	for _, r := range job.Next {
		part, target, nested := strings.Cut(strings.TrimPrefix(r.ID, "nextRequest."), ".")
		if !nested {
			next[part] = r.Source
			continue
		}
		parts, _ := next[part].(rules.Object)
		next[part] = parts.With(target, r.Source)
	}
	if len(job.Next) > 0 {
		next["applyToFirst"] = job.Next[0].First
	}
	var stops []map[string]string
	for _, r := range job.Stops {
		if r.Guard {
			continue
		}
		stops = append(stops, map[string]string{"name": r.ID, "when": r.Source, "outcome": string(r.Outcome)})
	}
	pagination := map[string]any{"method": "expression", "state": state, "nextRequest": next}
	if stops != nil {
		pagination["stopRules"] = stops
	}
	for _, key := range []string{"limitParam", "guards", "onError", "keep"} {
		if v, ok := old.Get(key); ok {
			pagination[key] = v
		}
	}
	if job.Limit != nil {
		pagination["limit"] = job.Limit
	}
	inner = inner.With("api", member(inner, "api").With("pagination", pagination))
	text, err := json.Marshal(rules.Object{{Name: "parameters", Value: inner}})
	require.NoError(t, err)
	return text
}

func member(o rules.Object, name string) rules.Object {
	v, _ := o.Get(name)
	inner, _ := v.(rules.Object)
	return inner
}
