package runtime

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/compile/compiletest"
	"github.com/stopwhen/stopwhen/rules"
)

// judged returns the run of a job with eleven rules or more, on a page that meets none of them.
func judged(tb testing.TB, items int) *listRun {
	jobs := compiletest.Jobs(tb, `{"api": {"baseUrl": "https://api.test/", "pagination": {
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
	c := r.pageContext()
	c.Page, c.Count, c.Total = 1, 1000, rules.Total{Pages: 1, Items: 1000, Bytes: 270_000, Seconds: 0.5}
	c.Body = map[string]any{"isLast": false, "items": make([]any, items)}
	return r
}
