package detect_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine/detect"
)

// TestAFullPageIsNotTheLastIfMoreFollows has values that call page 2 the last of three.
func TestAFullPageIsNotTheLastIfMoreFollows(t *testing.T) {
	index := func(write func(from int, items string) string) api {
		return indexed("offset", "limit", func(from, size int, _ bool) (http.Header, string) {
			return nil, write(from, window(from, size))
		})
	}
	number := func(write func(from int, items string) string) api {
		return numbered("page", "per_page", 1, func(from, size int, _ bool) (http.Header, string) {
			return nil, write(from, window(from, size))
		})
	}
	for _, c := range []struct {
		name, target string
		serve        api
	}{
		{"a total of two pages", "/list?offset=0&limit=10", index(func(_ int, items string) string { return `{"total": 20, "data": ` + items + `}` })},
		{"a number of pages that is too low", "/list?page=1", number(func(_ int, items string) string {
			return `{"total_pages": 2, "data": ` + items + `}`
		})},
		{"a flag on page 1 only", "/list?page=1", number(func(from int, items string) string {
			return fmt.Sprintf(`{%s"data": %s}`, when(from == 0, `"has_more": true, `, ""), items)
		})},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := detect.Detect(t.Context(), detect.Request{URL: "https://api.test" + c.target}, detect.Options{Transport: c.serve})
			require.NoError(t, err)
			require.NotContains(t, strings.Join(r.Findings.Evidence, " "), "The end was seen")
			require.Contains(t, strings.Join(r.Findings.Doubts, " "), "but the page after it has other items")
			require.LessOrEqual(t, r.Requests, 3)
			require.Len(t, obtain(t, r.YAML, c.serve), wholeList, "%s", r.YAML)
		})
	}
	twenty := api(func(q url.Values, r *http.Request) (int, http.Header, string) {
		if q.Get("offset") >= "20" {
			return 200, nil, `{"total": 20, "data": []}`
		}
		return index(func(_ int, items string) string { return `{"total": 20, "data": ` + items + `}` })(q, r)
	})
	r, err := detect.Detect(t.Context(), detect.Request{URL: "https://api.test/list?offset=0&limit=10"}, detect.Options{Transport: twenty})
	require.NoError(t, err)
	require.Contains(t, strings.Join(r.Findings.Evidence, " "), "The end was seen: page 2 is the last by limitStop.field, and the page after it has no other items.")
	require.Empty(t, r.Findings.Doubts)
}

// TestATokenIsSentUnderItsOwnName has parameters that only the address or the response names.
func TestATokenIsSentUnderItsOwnName(t *testing.T) {
	for _, c := range []struct{ key, param, target string }{
		{"next_token", "next_token", "/feed?limit=10"}, {"next_token", "pagination_token", "/feed?limit=10"},
		{"lastId", "lastId", "/list?limit=10&sort=-created"}, {"nextCursorMark", "cursor", "/list?cursor=*"},
	} {
		paged := tokens(c.param, func(from int, cursor string, more bool) (http.Header, string) {
			return nil, fmt.Sprintf(`{"items": %s%s}`, window(from, 10), when(more, fmt.Sprintf(`, %q: %q`, c.key, cursor), ""))
		})
		serve := api(func(q url.Values, r *http.Request) (int, http.Header, string) {
			if q.Get("cursor") == "*" { // the first page
				q.Del("cursor")
			}
			return paged(q, r)
		})
		r, err := detect.Detect(t.Context(), detect.Request{URL: "https://api.test" + c.target}, detect.Options{Transport: serve})
		require.NoError(t, err)
		require.True(t, r.Paged, "%s as %s: %v", c.key, c.param, r.Findings)
		require.Len(t, obtain(t, r.YAML, serve), wholeList, "%s", r.YAML)
	}
}
