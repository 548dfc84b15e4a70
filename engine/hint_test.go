package engine_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine"
)

// TestTheHintForANestedFlagMeansTheSame applies the hint for each nextPageFlag with a
// dot, and compares the number of requests to an API that has the flag in the object
// with that of the nextPageFlag for an API that has it in the root.
func TestTheHintForANestedFlagMeansTheSame(t *testing.T) {
	quoted := regexp.MustCompile(`write (".*) instead of nextPageFlag`)
	for _, dialect := range []string{"spec", "keboola"} {
		for _, settings := range []string{
			`"stopOn": false`, `"stopOn": true`,
			`"stopOn": false, "ifNotSet": true`, `"stopOn": false, "ifNotSet": false`,
			`"stopOn": true, "ifNotSet": true`, `"stopOn": true, "ifNotSet": false`,
		} {
			t.Run(dialect+" "+settings, func(t *testing.T) {
				dotted := flagged(t, dialect, `"nextPageFlag": {"field": "meta.flag", `+settings+`}`, "http://127.0.0.1")
				require.NotEmpty(t, dotted.Warnings())
				hint := quoted.FindStringSubmatch(dotted.Warnings()[0].Hint)
				require.Len(t, hint, 2, dotted.Warnings()[0].Hint)
				for _, first := range []string{`true`, `false`, `null`, `absent`, `"0"`, `""`, `1`, `0`, `[]`, `"false"`} {
					flags := []string{first, `true`, `absent`, `false`}
					want := requestsOf(t, dialect, `"nextPageFlag": {"field": "flag", `+settings+`}`, `"flag": %s`, flags)
					got := requestsOf(t, dialect, hint[1], `"meta": {"flag": %s}`, flags)
					require.Equal(t, want, got, "%s after %s", hint[1], first)
				}
			})
		}
	}
}

func flagged(t *testing.T, dialect, rule, base string) *engine.Engine {
	t.Helper()
	e, err := engine.Load("config.json", fmt.Appendf(nil, `{"api": {"baseUrl": "%s/", "pagination": {"method": "pagenum", %s,
		"forceStop": {"pages": 6}}}, "config": {"jobs": [{"endpoint": "users", "dataField": "data"}]}}`,
		base, rule), engine.WithDialect(dialect))
	require.NoError(t, err)
	return e
}

// requestsOf returns the number of requests to an API whose n-th page has the n-th
// flag, or none if it is absent.
func requestsOf(t *testing.T, dialect, rule, format string, flags []string) int {
	t.Helper()
	n := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		page, _ := strconv.Atoi(r.URL.Query().Get("page"))
		n++
		flag := "absent"
		if page <= len(flags) {
			flag = flags[page-1]
		}
		w.Header().Set("Content-Type", "application/json")
		if flag == "absent" {
			_, _ = fmt.Fprintf(w, `{"data": [%d], "meta": {}}`, page)
			return
		}
		_, _ = fmt.Fprintf(w, `{"data": [%d], `+format+`}`, page, flag)
	}))
	defer server.Close()
	_, err := flagged(t, dialect, rule, server.URL).Run(context.Background(), func(context.Context, *engine.Page) error { return nil })
	require.NoError(t, err)
	return n
}
