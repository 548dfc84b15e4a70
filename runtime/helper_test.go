package runtime

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/diag"
)

// compiled returns the jobs of a configuration.
func compiled(tb testing.TB, config string) []*compile.Job {
	source := diag.NewSource("c.json", config)
	root, err := rules.ParseJSON(source)
	require.NoError(tb, err)
	cfg, diagnostics := rules.Decode(source, root, rules.Options{})
	require.NoError(tb, diagnostics.Err())
	lowered, diagnostics := cfg.Lower()
	require.NoError(tb, diagnostics.Err())
	jobs, diagnostics := compile.Jobs(cfg, lowered, nil)
	require.NoError(tb, diagnostics.Err())
	return jobs
}

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
