package report_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine/report"
	"github.com/stopwhen/stopwhen/engine/stress"
)

// stressed has a job with a row of each verdict, and one without a model.
func stressed() *stress.Report {
	fix := &stress.Fix{Says: "Fail if there is no list.", Verdict: stress.Reported, Changes: []stress.Change{
		{Path: []string{"api", "pagination", "stopRules"}, Append: true, Value: "not has('data') or " + strings.Repeat("x", 60)},
	}}
	return &stress.Report{Version: 1, Depth: 1, Jobs: []stress.JobReport{{
		Job: "users", Model: []string{"body.next is a token of the next page."},
		Rows: []stress.Row{
			{Behaviour: "oneItem", Group: "length", Says: "The list has one item.", Served: 1, Obtained: 1, Verdict: stress.Complete},
			{Behaviour: "html", Group: "errors", Says: "A page is HTML.", Served: 25, Missing: 25, Exit: 5, Verdict: stress.Reported},
			{Behaviour: "pagingIgnored", Group: "parameters", Says: "<b>Every</b> page.", Findings: []string{"audit.repeated"}, Verdict: stress.Endless},
			{Behaviour: "noList", Group: "errors", Says: "A page has no list.", Served: 25, Missing: 25, Verdict: stress.Silent, Fix: fix},
		},
		Left: []stress.LeftOut{{Behaviour: "flagNull", Why: "the rules read no flag"}},
	}, {Job: "lines", Rows: []stress.Row{}, Unknown: "the model found no API"}}}
}

func stressHTML(t *testing.T, r *stress.Report) string {
	t.Helper()
	b := &strings.Builder{}
	require.NoError(t, report.StressHTML(b, "users.json", r))
	return b.String()
}

func TestTheHTMLOfStressBeginsWithTheWorst(t *testing.T) {
	page := stressHTML(t, stressed())
	last := 0
	for _, part := range []string{
		"<h1>users.json</h1>", "1 SILENT, 1 endless, 1 reported, 1 complete; 1 job without a model",
		"What the verdicts and numbers mean", `<span class="outcome silent">SILENT</span> items are missing`, `<span class="outcome endless">`,
		`<span class="outcome reported">`, `<span class="outcome complete">`, "its exit status.</p>", `<a href="#job-2">lines</a>`,
		`<h2 id="job-1">Job users <span class="outcome silent">SILENT</span></h2>`, "body.next is a token of the next page.",
		"<code>noList</code>", "Fail if there is no list.", `api.pagination.stopRules: add &#34;not has`,
		"<code>pagingIgnored</code>", "&lt;b&gt;Every&lt;/b&gt; page.", "audit.repeated", "<code>html</code>",
		"length: 1 of 1", "<code>oneItem</code>", "the rules read no flag", `<span class="outcome">no model</span></h2>`, "the model found no API",
	} {
		at := strings.Index(page[last:], part)
		require.GreaterOrEqual(t, at, 0, "%s is missing, or before what should precede it", part)
		last += at
	}
	require.NotContains(t, page, "<b>")
	require.NotContains(t, page, "<script")
	require.NotContains(t, page, "http:")
}
