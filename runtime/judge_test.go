package runtime

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/compile/compiletest"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/runtime/document"
	"github.com/stopwhen/stopwhen/runtime/failure"
)

func TestAVerdictAllocatesNothingThatGrowsWithThePage(t *testing.T) {
	allocations := func(items int) float64 {
		r := judged(t, items)
		return testing.AllocsPerRun(20, func() { require.NoError(t, r.judge(&Page{})) })
	}
	require.Equal(t, allocations(10), allocations(100_000))
}

func TestAfterTheAuditExpressionsCanBeInterrupted(t *testing.T) {
	r := judged(t, 1)
	ctx, cancel := context.WithCancel(t.Context())
	r.workspace.machine.Context = ctx
	r.pageContext().Header = func(string) any { return nil }
	r.pageContext().Link = func(string, ...string) any { return nil }
	r.audit(ctx, 1)
	cancel()
	require.ErrorIs(t, r.workspace.machine.Context.Err(), context.Canceled)
}

// Page 1 has two items and the body {"last": false, "text": "no"}.
func TestEveryStoppingRuleIsEvaluatedAndTheFirstThatIsMetIsTheReason(t *testing.T) {
	for _, c := range []struct {
		name, pagination string
		samePage         bool
		outcome          rules.Outcome // "" if the list goes on
		stoppedBy        []string
		message          string
		items            int
	}{
		{name: "no rule is met", pagination: `"stopRules": ["body.last", "count > 2"]`, items: 2},
		{
			name: "two rules are met", outcome: rules.Complete, stoppedBy: []string{"b", "c"}, message: "the end", items: 2,
			pagination: `"stopRules": [{"name": "a", "when": "body.last"}, {"name": "b", "when": "count == 2", "message": "the end"},
				{"name": "c", "when": "page == 1", "outcome": "limited", "message": "the limit"}]`,
		},
		{
			name: "the message of a rule is empty", outcome: rules.Complete, stoppedBy: []string{"a"}, message: "a is met: page(1) == 1", items: 2,
			pagination: `"stopRules": [{"name": "a", "when": "page == 1", "message": "{''}"}]`,
		},
		{
			name: "the first of two rules drops the page", outcome: rules.Complete, stoppedBy: []string{"samePage", "a"}, samePage: true,
			message:    "Job 'users' finished when last response matched the previous!", // see rules/guard.go
			pagination: `"guards": {"samePage": "stop"}, "stopRules": [{"name": "a", "when": "page == 1"}]`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, page := pageOne(t, c.pagination)
			r.pageContext().SamePage = c.samePage
			require.NoError(t, r.judge(page))
			require.Len(t, page.Verdicts, len(r.job.Stops))
			require.Equal(t, c.stoppedBy, page.StoppedBy)
			require.Equal(t, c.outcome, page.Outcome)
			result := r.state.Result
			require.Equal(t, c.outcome, result.Outcome)
			require.Equal(t, c.message, result.Message)
			if c.outcome != "" {
				require.Equal(t, c.stoppedBy[0], result.Reason)
			}
			require.Equal(t, c.items, page.Items.Len())
			require.Equal(t, c.items == 0, page.Dropped)
		})
	}
	t.Run("a rule fails", func(t *testing.T) {
		r, page := pageOne(t, `"stopRules": [{"name": "a", "when": "body.text"}, {"name": "b", "when": "page == 1"}]`)
		err := r.judge(page)
		require.ErrorIs(t, err, failure.ErrResponse)
		require.ErrorContains(t, err, "rule a: want true or false")
		require.Empty(t, page.StoppedBy)
		require.Empty(t, r.state.Result.Reason, "the rules after it are not evaluated")
	})
}

// pageOne returns a run with a page of two items that is not judged yet.
func pageOne(t *testing.T, pagination string) (*listRun, *Page) {
	t.Helper()
	jobs := compiletest.Jobs(t, `{"api": {"baseUrl": "https://api.test/", "pagination": {"method": "pagenum", `+pagination+`}},
		"config": {"jobs": [{"endpoint": "users"}]}}`)
	r := newListRun(t.Context(), Loop{}, List{Partition: Partition{Job: jobs[0]}}, nil)
	_, err := r.firstRequest()
	require.NoError(t, err)
	c := r.pageContext()
	c.Page, c.Count, c.Body = 1, 2, map[string]any{"last": false, "text": "no"}
	return r, &Page{Items: document.NewItems([]byte("1\n2\n"), 2, nil)}
}
