package engine_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/explain"
	"github.com/stopwhen/stopwhen/fixtures"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/diag"
)

// TestPrintedRulesPastedIntoAConfigurationBehaveTheSame plays every case with one
// paged job twice: as it is, and with the rules that explain prints, written as a
// configuration of method expression. Requests, items and the end must be the same.
// So explain prints everything that the engine does.
func TestPrintedRulesPastedIntoAConfigurationBehaveTheSame(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs every case in one goroutine, as other tests do")
	played := map[string]int{}
	for _, c := range allCases(t) {
		job, ok := printed(c)
		if !ok {
			continue
		}
		played[job.Method]++
		t.Run(c.Name, func(t *testing.T) {
			pasted := *c
			pasted.Config = paste(t, c.Config, job)
			pasted.Trace, pasted.Log = nil, nil // rules have other origins, so messages differ
			server := serve(t, &pasted)
			got := runCase(&pasted, server, func(e *engine.Engine) *engine.Engine { // the audit knows less of rules of method expression
				return e.With(engine.WithAccept(engine.JobResult.Ended))
			}, deliver)
			require.Empty(t, server.Problems(), "the run ended with: %s", got.err)
			requireGolden(t, &pasted, got, false)
		})
	}
	for _, method := range rules.Builtin().Methods(rules.Spec) {
		if method.Name != rules.Multiple && !method.Once { // which have no next request of their own
			require.NotZero(t, played[method.Name], "no case of method %s", method.Name)
		}
	}
}

// printed explains the job of a case. It reports false if the case has no single
// paged job, or one that nextRequest cannot express: parts of which only some are in
// the first request.
func printed(c *fixtures.Case) (explain.JobExplanation, bool) {
	if c.ConfigName != "config.json" || c.Exit != 0 || strings.HasPrefix(c.Name, "keboola/") {
		return explain.JobExplanation{}, false
	}
	e, err := engine.Load(c.ConfigName, []byte(strings.ReplaceAll(string(c.Config), "{base}", "http://127.0.0.1")))
	if err != nil || len(e.Jobs()) != 1 {
		return explain.JobExplanation{}, false
	}
	job := e.Explain().Jobs[0]
	mixed := slices.ContainsFunc(job.Next, func(r explain.RuleExplanation) bool { return r.First != job.Next[0].First })
	return job, job.Method != "" && !mixed
}

// paste replaces the pagination of a configuration by the printed rules.
func paste(t *testing.T, config []byte, job explain.JobExplanation) []byte {
	t.Helper()
	parsed, err := rules.ParseJSON(diag.NewSource("config.json", string(config)))
	require.NoError(t, err)
	root := parsed.(rules.Object)
	if inner := member(root, "parameters"); inner != nil {
		root = inner
	}
	pagination := map[string]any{"method": "expression", "state": pastedState(job), "nextRequest": pastedRequest(job)}
	if stops := pastedStops(job); stops != nil {
		pagination["stopRules"] = stops
	}
	old := member(member(root, "api"), "pagination")
	if own := member(pastedJob(root), "pagination"); own != nil {
		old = own
	}
	for _, key := range []string{"limitParam", "guards", "onError", "keep"} {
		if v, ok := old.Get(key); ok {
			pagination[key] = v
		}
	}
	if job.Limit != nil {
		pagination["limit"] = job.Limit
	}
	root = root.With("api", member(root, "api").With("pagination", pagination))
	root = root.With("config", member(root, "config").With("jobs", []any{pasteIncrement(pastedJob(root), job, pagination)}))
	text, err := json.Marshal(rules.Object{{Name: "parameters", Value: root}})
	require.NoError(t, err)
	return text
}

func pastedState(job explain.JobExplanation) map[string]map[string]string {
	state := map[string]map[string]string{}
	for _, r := range job.State {
		name, role, _ := strings.Cut(strings.TrimPrefix(r.ID, "state."), ".")
		if state[name] == nil {
			state[name] = map[string]string{}
		}
		state[name][role] = r.Source
	}
	return state
}

func pastedRequest(job explain.JobExplanation) map[string]any {
	next := map[string]any{"includeParams": job.IncludeParams}
	for _, r := range job.Next {
		next["applyToFirst"] = r.First
		part, target, nested := strings.Cut(strings.TrimPrefix(r.ID, "nextRequest."), ".")
		if !nested {
			next[part] = r.Source
			continue
		}
		parts, _ := next[part].(rules.Object)
		next[part] = parts.With(target, r.Source)
	}
	return next
}

func pastedStops(job explain.JobExplanation) []map[string]string {
	var stops []map[string]string
	for _, r := range job.Stops {
		if !r.Guard && r.Outcome != rules.Split { // the configuration has the guards, and the variables of for
			stops = append(stops, map[string]string{"name": r.ID, "when": r.Source, "outcome": string(r.Outcome)})
		}
	}
	return stops
}

// pastedJob returns the one job of a configuration.
func pastedJob(root rules.Object) rules.Object {
	jobs, _ := member(root, "config").Get("jobs")
	return jobs.([]any)[0].(rules.Object)
}

// pasteIncrement returns a job with the printed keep and params in the place of incremental.
func pasteIncrement(config rules.Object, job explain.JobExplanation, pagination map[string]any) rules.Object {
	config = config.Without("pagination")
	if member(config, "incremental") == nil {
		return config
	}
	config = config.Without("incremental")
	keep := rules.Object{}
	for _, r := range job.Keep {
		keep = keep.With(strings.TrimPrefix(r.ID, "keep."), r.Source)
	}
	pagination["keep"] = keep
	for _, r := range job.Computed {
		if part, name, _ := strings.Cut(r.ID, "."); part == "params" || part == "headers" {
			config = config.With(part, member(config, part).With(name, rules.Object{{Name: "expr", Value: r.Source}}))
		}
	}
	return config
}

func member(o rules.Object, name string) rules.Object {
	v, _ := o.Get(name)
	inner, _ := v.(rules.Object)
	return inner
}
