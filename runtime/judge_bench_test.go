package runtime

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/runtime/trace"
)

// judged returns the run of a job with eleven rules or more, on a page that meets none of them.
func judged(tb testing.TB, items int) *listRun {
	jobs := compiled(tb, `{"api": {"baseUrl": "https://api.test/", "pagination": {
		"method": "offset", "limit": 1000,
		"nextPageFlag": {"field": "isLast", "stopOn": true, "ifNotSet": false},
		"forceStop": {"pages": 100000, "time": 3600, "volume": 1099511627776},
		"limitStop": {"count": 1099511627776},
		"guards": {"maxPages": 100000, "samePage": "stop", "repeatedExchange": "fail", "sameItems": "ignore"}}},
		"config": {"jobs": [{"endpoint": "users"}]}}`)
	require.GreaterOrEqual(tb, len(jobs[0].Stops), 11)
	r := newListRun(tb.Context(), Loop{}, List{Partition: Partition{Job: jobs[0]}}, nil)
	_, err := r.firstRequest()
	require.NoError(tb, err)
	c := r.context()
	c.Page, c.Count, c.Total = 1, 1000, rules.Total{Pages: 1, Items: 1000, Bytes: 270_000, Seconds: 0.5}
	c.Body = map[string]any{"isLast": false, "items": make([]any, items)}
	return r
}

// BenchmarkJudge measures the verdicts of a job's rules on a page.
func BenchmarkJudge(b *testing.B) {
	for _, items := range []int{10, 100_000} {
		b.Run(fmt.Sprintf("items=%d", items), func(b *testing.B) {
			r := judged(b, items)
			b.ReportAllocs()
			for b.Loop() {
				page := Page{Record: trace.Record{Decision: trace.Continue}}
				if err := r.judge(&page); err != nil || page.Decision != trace.Continue {
					b.Fatal(err, page.StoppedBy)
				}
			}
		})
	}
}

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
	r.pooled.machine.Context = ctx
	r.context().Header = func(string) any { return nil }
	r.context().Link = func(string, ...string) any { return nil }
	r.audit(ctx, 1)
	cancel()
	require.ErrorIs(t, r.pooled.machine.Context.Err(), context.Canceled)
}
