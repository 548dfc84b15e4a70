package compile

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func explained(t *testing.T, pagination string) JobExplanation {
	t.Helper()
	return job(t, pagination, nil).explain(nil, func(s string) string { return s })
}

func TestTheSummarySaysHowRequestsAreMade(t *testing.T) {
	const expression = `{"method": "expression", "stopRules": ["count == 0"], "nextRequest": `
	for _, c := range []struct{ name, pagination, want string }{
		{"a page number", `{"method": "pagenum"}`, "Sends GET https://x.example/users?sort=id&page=1, then increments page; stops when"},
		{"an offset", `{"method": "offset", "limit": 10}`, "then adds 10 to offset; stops when"},
		{"a limit that only the requests after the first have", expression + `{"params": {"limit": "limit"}}, "limit": 20}`,
			"then sends limit = 20; stops when"},
		{"a variable", `{"method": "keyset", "idKey": "id", "param": "after"}`, `then sends after = text(at(items[-1], "id")); stops when`},
		{"an address", expression + `{"url": "body.next"}}`, "then goes to body.next, without the job's own params; stops when"},
		{"nothing that changes", expression + `{"params": {"limit": "limit"}}}`, "then sends the same request again; stops when"},
		{"a limit", `{"method": "pagenum", "forceStop": {"pages": 1}}`, "or the limit of 1 page is reached"},
		{"only a guard", `{"method": "pagenum", "guards": {"maxPages": 50}}`, "; fails at 50 pages."},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Contains(t, explained(t, c.pagination).Summary, c.want)
		})
	}
}

func TestExplainSaysWhatOnErrorRulesDo(t *testing.T) {
	for _, c := range []struct{ do, want string }{
		{"stop", "the list ends: complete"},
		{"retry", "the request is retried"},
		{"restart", "the list starts again from the first request, at most 3 times; items are written again"},
		{"fail", "the run fails"},
		{"continue", "the error body is read as a page, and paging continues"},
	} {
		t.Run(c.do, func(t *testing.T) {
			x := explained(t, `{"method": "pagenum", "onError": [{"when": "status == 410", "do": "`+c.do+`"}]}`)
			require.Equal(t, c.want, x.OnError[0].action())
		})
	}
}

func TestBoundsArePrintedInTheRightNumber(t *testing.T) {
	require.Equal(t, "1 page", Bound{"pages", 1}.String())
	require.Equal(t, "20 pages", Bound{"pages", 20}.String())
	require.Equal(t, "1.5 seconds", Bound{"seconds", 1.5}.String())
	require.Equal(t, "1 byte", Bound{"bytes", 1}.String())
}
