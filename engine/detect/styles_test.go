package detect_test

import (
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/detect"
	"github.com/stopwhen/stopwhen/engine/recording"
	"github.com/stopwhen/stopwhen/rules/yaml"
)

// threeItems pages through the items 1, 2 and 3 by a number from 1, two at a time.
func threeItems(write func(page int, items string) string) api {
	return func(q url.Values, _ *http.Request) (int, http.Header, string) {
		page, err := strconv.Atoi(q.Get("page"))
		if err != nil {
			page = 1
		}
		items := map[int]string{1: `{"id":1},{"id":2}`, 2: `{"id":3}`}[page]
		return 200, http.Header{"Content-Type": {"application/json"}}, write(page, items)
	}
}

func TestAListNextToItsEnvelopeIsRecognized(t *testing.T) {
	serve := threeItems(func(page int, items string) string {
		return fmt.Sprintf(`[{"page": %d, "pages": 2}, [%s]]`, page, items)
	})
	r, err := detect.Detect(t.Context(), detect.Request{URL: "https://api.test/countries?page=1"}, detect.Options{Transport: serve})
	require.NoError(t, err)
	require.Empty(t, r.Findings.Doubts)
	require.Equal(t, "1", setting(r, "config", "jobs", "dataField"))
	require.Equal(t, "0.pages", setting(r, "api", "pagination", "pagesField"))
	require.Equal(t, []string{`{"id":1}`, `{"id":2}`, `{"id":3}`}, obtain(t, r.YAML, serve), "%s", r.YAML)
}

// TestListsOfPairsAreNoEnvelopes keeps lists whose items are lists, and those of mixed items.
func TestListsOfPairsAreNoEnvelopes(t *testing.T) {
	for _, body := range []string{`[[1, {"a": 1}], [2, {"a": 2}]]`, `[{"id": 1}, {"id": 2}]`, `[{"id": 1}, [1], "x"]`, `[[{"id": 1}]]`} {
		serve := constant(200, "application/json", body)
		r, err := detect.Detect(t.Context(), detect.Request{URL: "https://api.test/x"}, detect.Options{Transport: serve})
		require.NoError(t, err)
		require.Contains(t, r.Findings.Evidence[1], "The list of items is the response itself.", body)
	}
}

func TestAByteOrderMarkIsNoPartOfAResponse(t *testing.T) {
	serve := threeItems(func(_ int, items string) string { return "\ufeff" + `{"data": [` + items + `], "pages": 2}` })
	r, err := detect.Detect(t.Context(), detect.Request{URL: "https://api.test/users?page=1"}, detect.Options{Transport: serve})
	require.NoError(t, err)
	require.Equal(t, []string{`{"id":1}`, `{"id":2}`, `{"id":3}`}, obtain(t, r.YAML, serve), "%s", r.YAML)
}

// TestAnEndCursorIsSentAsAfter follows the names of connections also without GraphQL.
func TestAnEndCursorIsSentAsAfter(t *testing.T) {
	serve := api(func(q url.Values, _ *http.Request) (int, http.Header, string) {
		if q.Get("after") == "c2" {
			return 200, nil, `{"edges": [{"id": 3}], "pageInfo": {"endCursor": "c3", "hasNextPage": false}}`
		}
		return 200, nil, `{"edges": [{"id": 1}, {"id": 2}], "pageInfo": {"endCursor": "c2", "hasNextPage": true}}`
	})
	r, err := detect.Detect(t.Context(), detect.Request{URL: "https://api.test/users"}, detect.Options{Transport: serve})
	require.NoError(t, err)
	require.True(t, r.Paged, r.Findings)
	require.Equal(t, 2, r.Requests)
	require.Equal(t, "after", setting(r, "api", "pagination", "queryParam"))
}

// TestTokensOfWellKnownServicesAreNotWritten finds them by their form: in a path, where
// they become inputs, and under any name.
func TestTokensOfWellKnownServicesAreNotWritten(t *testing.T) {
	const (
		bot    = "bot123456789:AAF-0123456789abcdefghijklmnopqrstu"
		github = "ghp_0123456789abcdefghijklmnopqrstuvwxyz"
		jwt    = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl"
	)
	for name, c := range map[string]struct {
		address, secret string
		header          http.Header
		inputs, env     []string
	}{
		"in a path":              {address: "https://api.test/" + bot + "/users?page=1", secret: bot, inputs: []string{"token"}},
		"at the end of a path":   {address: "https://api.test/users/" + github + "?page=1", secret: github, inputs: []string{"token"}},
		"under an odd parameter": {address: "https://api.test/users?page=1&k=" + github, secret: github, env: []string{"API_K"}},
		"an id of an application": {
			address: "https://api.test/users?page=1&appid=0123456789abcdef",
			secret:  "0123456789abcdef", env: []string{"API_APPID"},
		},
		"a short password": {address: "https://api.test/users?page=1&pwd=hunter", secret: "hunter", env: []string{"API_PWD"}},
		"under an odd header": {address: "https://api.test/users?page=1", header: http.Header{"X-Who": {jwt}}, secret: jwt,
			env: []string{"API_WHO"}},
	} {
		t.Run(name, func(t *testing.T) {
			pages := threeItems(func(_ int, items string) string { return `{"data": [` + items + `], "self": "/x/` + c.secret + `"}` })
			sent := 0
			serve := api(func(q url.Values, r *http.Request) (int, http.Header, string) {
				if strings.Contains(r.URL.Path+q.Get("k")+q.Get("appid")+q.Get("pwd")+r.Header.Get("X-Who"), c.secret) {
					sent++
				}
				return pages(q, r)
			})
			r, err := detect.Detect(t.Context(), detect.Request{URL: c.address, Header: c.header}, detect.Options{Transport: serve})
			require.NoError(t, err)
			require.True(t, r.Paged, r.Findings)
			require.Equal(t, r.Requests, sent)
			require.Equal(t, c.inputs, r.Inputs)
			require.Equal(t, c.env, r.Env)
			require.NotContains(t, string(r.YAML)+string(r.JSON)+r.Text(80), c.secret)
			require.NotContains(t, strings.Join(r.Findings.Doubts, " "), "not exactly the address")
		})
	}
}

// TestTheFirstLineSaysWhatWasRecognized does not call a list recognized of which only the
// first page is read.
func TestTheFirstLineSaysWhatWasRecognized(t *testing.T) {
	for body, line := range map[string]string{
		`{"data": [{"id": 1}, {"id": 2}], "has_more": true}`: "Recognized, except for the pagination, with 2 doubts; ",
		`{"data": [], "total": 0}`:                           "Recognized, except for the pagination, with 1 doubt; ",
		`{"name": "x"}`:                                      "Not recognized; ",
	} {
		serve := constant(200, "application/json", body)
		r, _ := detect.Detect(t.Context(), detect.Request{URL: "https://api.test/users"}, detect.Options{Transport: serve})
		require.True(t, strings.HasPrefix(r.Text(80), line), r.Text(80))
	}
}

// TestAdviceFitsWhatHappened advises neither a smaller page where the API is out of order,
// nor where a redirect took the request.
func TestAdviceFitsWhatHappened(t *testing.T) {
	outOfOrder := api(func(q url.Values, _ *http.Request) (int, http.Header, string) {
		if q.Get("page") == "2" {
			return 500, nil, "no"
		}
		return 200, nil, `{"data": [{"id": 1}, {"id": 2}]}`
	})
	r, err := detect.Detect(t.Context(), detect.Request{URL: "https://api.test/users?page=1"}, detect.Options{Transport: outOfOrder})
	require.NoError(t, err)
	require.Equal(t, []string{"Try again later: the request for the second page failed with status 500."}, r.Findings.Advice)

	moved := api(func(q url.Values, r *http.Request) (int, http.Header, string) {
		if target := map[string]string{"/a": "/b", "/b": "/c"}[r.URL.Path]; target != "" {
			return 302, http.Header{"Location": {target + "?" + r.URL.RawQuery}}, ""
		}
		return 200, nil, `{"data": [{"id": 1}, {"id": 2}]}`
	})
	r, err = detect.Detect(t.Context(), detect.Request{URL: "https://api.test/a?page=1"}, detect.Options{Transport: moved})
	require.NoError(t, err)
	require.Equal(t, []string{"Run detect with the address that this one redirects to."}, r.Findings.Advice)
}

// TestAnUnknownParameterIsToBeLookedUp advises more than a smaller page if the API has a token
// that was sent in vain.
func TestAnUnknownParameterIsToBeLookedUp(t *testing.T) {
	serve := api(func(q url.Values, _ *http.Request) (int, http.Header, string) {
		if q.Get("proceedFrom") == "c2" {
			return 200, nil, `[{"id": 3}]`
		}
		return 200, http.Header{"X-Next-Token": {"c2"}}, `[{"id": 1}, {"id": 2}]`
	})
	r, err := detect.Detect(t.Context(), detect.Request{URL: "https://api.test/users"}, detect.Options{Transport: serve})
	require.NoError(t, err)
	require.False(t, r.Paged)
	require.Contains(t, strings.Join(r.Findings.Advice, " "), "which parameter asks for the next page")
}

type unknownHost struct{}

// RoundTrip implements [http.RoundTripper].
func (unknownHost) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, &net.DNSError{Err: "no such host", Name: "api.test", IsNotFound: true}
}

// TestAnUnknownHostIsOneOfTheAddress names no setting, since there is no configuration yet.
func TestAnUnknownHostIsOneOfTheAddress(t *testing.T) {
	_, err := detect.Detect(t.Context(), detect.Request{URL: "https://api.test/users"}, detect.Options{Transport: unknownHost{}})
	require.ErrorIs(t, err, engine.ErrAPI)
	require.ErrorContains(t, err, "check the host of the address")
}

// TestARecordingIsReadToItsEnd looks at all pages of a recording, since they cost no request.
// The test of a long one has only the first pages.
func TestARecordingIsReadToItsEnd(t *testing.T) {
	for _, pages := range []int{3, 7, 40} {
		t.Run(strconv.Itoa(pages), func(t *testing.T) {
			r := &recording.Recording{}
			for page := 1; page <= pages; page++ {
				r.Exchanges = append(r.Exchanges, recording.Exchange{
					Method: "GET", URL: fmt.Sprintf("https://api.test/users?page=%d&_=%d", page, 1700+page), Status: 200,
					ResponseBody: fmt.Appendf(nil, `{"data": [{"id": %d}, {"id": %d}], "has_more": %t}`, 2*page, 2*page+1, page < pages),
				})
			}
			result, err := detect.FromRecording(t.Context(), r, "")
			require.NoError(t, err)
			require.Empty(t, result.Findings.Doubts)
			require.Contains(t, strings.Join(result.Findings.Evidence, " "), fmt.Sprintf("The end was seen: page %d is the last by", pages))
			require.Less(t, len(result.YAML), 4000, "%s", result.YAML)
			e, err := engine.Load("x.yaml", result.YAML, engine.WithFormat(".yaml", yaml.Parse))
			require.NoError(t, err)
			require.Zero(t, e.Test(t.Context()).Failed())
		})
	}
}

// The address is taken for that of the first page, which nothing in the responses confirms.
func TestAnAddressOfPage1MayNotBeTheFirst(t *testing.T) {
	serve := func(q url.Values, _ *http.Request) (int, http.Header, string) {
		items := map[string]string{"0": `{"id":1},{"id":2}`, "1": `{"id":3},{"id":4}`, "2": `{"id":5}`}[q.Get("p")]
		return 200, http.Header{"Content-Type": {"application/json"}}, `[` + items + `]`
	}
	r, err := detect.Detect(t.Context(), detect.Request{URL: "https://api.test/users?p=1"}, detect.Options{Transport: api(serve)})
	require.NoError(t, err)
	require.Contains(t, strings.Join(r.Findings.Doubts, " "), "If the API counts pages from 0, the page numbered 0 is missing.")
}

// TestNumbersAreRecognizedByTheirArithmetic takes a number for the index of an item, or the number of a
// page, by what it brings or by what the response adds to it, whatever its name is.
func TestNumbersAreRecognizedByTheirArithmetic(t *testing.T) {
	const items, size = 7, 3
	serve := func(param string, indexed bool, next func(from int) string) api {
		return func(q url.Values, _ *http.Request) (int, http.Header, string) {
			from := number(q, param, 0)
			if !indexed {
				from *= size
			}
			var list []string
			for id := from; id < min(from+size, items); id++ {
				list = append(list, fmt.Sprintf(`{"id":%d}`, id))
			}
			return 200, nil, fmt.Sprintf(`{"data": [%s], "next": %s}`, strings.Join(list, ","), next(from))
		}
	}
	nothing := func(int) string { return "null" }
	following := func(step int) func(int) string {
		return func(from int) string {
			if from+size >= items {
				return "null"
			}
			return strconv.Itoa(when(step == 1, from/size, from) + step)
		}
	}
	for _, c := range []struct {
		name, address, param string
		api                  api
	}{
		{"an index called page", "?page=0", "page", serve("page", true, nothing)},
		{"a name with offset in it", "?row_offset=0", "row_offset", serve("row_offset", true, nothing)},
		{"a name with page in it", "?resultPage=0", "resultPage", serve("resultPage", false, nothing)},
		{"the response adds the items of a page", "?row=0", "row", serve("row", true, following(size))},
		{"the response adds one", "?leaf=0", "leaf", serve("leaf", false, following(1))},
		{"the response has the index, the address nothing", "", "offset", serve("offset", true, following(size))},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := detect.Detect(t.Context(), detect.Request{URL: "https://api.test/users" + c.address}, detect.Options{Transport: c.api})
			require.NoError(t, err)
			require.True(t, r.Paged, r.Findings)
			require.Contains(t, string(r.YAML), c.param)
			require.Len(t, obtain(t, r.YAML, c.api), items, "%s", r.YAML)
		})
	}
}

// A parameter of a name that only resembles that of a page number is left alone: its next value may
// bring items of another list.
func TestAnIdentifierIsNotCounted(t *testing.T) {
	serve := api(func(q url.Values, _ *http.Request) (int, http.Header, string) {
		n := number(q, "page_id", 1)
		return 200, nil, fmt.Sprintf(`{"data": [{"id": %d1}, {"id": %d2}]}`, n, n)
	})
	r, err := detect.Detect(t.Context(), detect.Request{URL: "https://api.test/comments?page_id=1"}, detect.Options{Transport: serve})
	require.NoError(t, err)
	require.False(t, r.Paged, r.Findings)
}

// TestTheLastRequestSettlesThePageBefore asks for page 0 if the address begins at page 1, and nothing else
// has to be found out.
func TestTheLastRequestSettlesThePageBefore(t *testing.T) {
	for _, c := range []struct {
		name  string
		first int // number of the first page
		doubt string
	}{
		{"counted from 1", 1, ""},
		{"counted from 0", 0, "The page numbered 0 has items, too, which the configuration does not read. To read them, begin at page=0."},
	} {
		t.Run(c.name, func(t *testing.T) {
			serve := api(func(q url.Values, _ *http.Request) (int, http.Header, string) {
				from := max(number(q, "page", c.first)-c.first, 0) * 2
				return 200, nil, fmt.Sprintf(`{"data": [{"id": %d}, {"id": %d}], "total": 200}`, from, from+1)
			})
			r, err := detect.Detect(t.Context(), detect.Request{URL: "https://api.test/users?page=1"}, detect.Options{Transport: serve})
			require.NoError(t, err)
			require.Equal(t, 3, r.Requests)
			doubts := strings.Join(r.Findings.Doubts, " ")
			require.NotContains(t, doubts, "If the API counts")
			if c.doubt == "" {
				require.Contains(t, strings.Join(r.Findings.Evidence, " "), "Pages are counted from 1: the page numbered 0 has no other items.")
				require.NotContains(t, doubts, "numbered 0")
				return
			}
			require.Contains(t, doubts, c.doubt)
		})
	}
}

// TestAnEmptyPageWithAnotherTokenIsNoEnd goes on, and says so; with the same token it is the end.
func TestAnEmptyPageWithAnotherTokenIsNoEnd(t *testing.T) {
	for _, c := range []struct {
		name  string
		stays bool // whether the last token stays
	}{{"another token", false}, {"the same token", true}} {
		t.Run(c.name, func(t *testing.T) {
			serve := api(func(q url.Values, _ *http.Request) (int, http.Header, string) {
				at := number(q, "cursor", 0)
				list := map[int]string{0: `{"id":1},{"id":2}`, 1: `{"id":3}`}[at]
				next := at + 1
				if c.stays {
					next = min(next, 2)
				}
				return 200, nil, fmt.Sprintf(`{"data": [%s], "next_cursor": "c%d", "cursor": null}`, list, next)
			})
			tokens := api(func(q url.Values, r *http.Request) (int, http.Header, string) {
				q.Set("cursor", strings.TrimPrefix(q.Get("cursor"), "c"))
				return serve(q, r)
			})
			r, err := detect.Detect(t.Context(), detect.Request{URL: "https://api.test/users"}, detect.Options{Transport: tokens})
			require.NoError(t, err)
			rules, _ := setting(r, "api", "pagination", "stopRules").([]any)
			doubts := strings.Join(r.Findings.Doubts, " ")
			if c.stays {
				require.Equal(t, []any{"count == 0"}, rules)
				require.Empty(t, doubts)
				return
			}
			require.Empty(t, rules)
			require.Contains(t, doubts, "page 3 is empty, but it has another value for the next page, so a run goes on.")
		})
	}
}

// TestTheParameterBesideThePageSizeIsTried guesses the name that APIs have next to the parameter of the
// page size in the address.
func TestTheParameterBesideThePageSizeIsTried(t *testing.T) {
	for _, c := range []struct{ size, param string }{
		{"$top", "$skip"}, {"take", "skip"}, {"_limit", "_page"}, {"page[size]", "page[number]"}, {"page[limit]", "page[offset]"},
		{"maxResults", "startAt"}, {"rows", "start"}, {"sysparm_limit", "sysparm_offset"},
	} {
		t.Run(c.size, func(t *testing.T) {
			serve := indexed(c.param, c.size, func(from, size int, _ bool) (http.Header, string) { return nil, window(from, size) })
			if c.param == "_page" || c.param == "page[number]" {
				serve = numbered(c.param, c.size, 1, func(from, size int, _ bool) (http.Header, string) { return nil, window(from, size) })
			}
			r, err := detect.Detect(t.Context(), detect.Request{URL: "https://api.test/users?" + url.QueryEscape(c.size) + "=10"}, detect.Options{Transport: serve})
			require.NoError(t, err)
			require.True(t, r.Paged, r.Findings)
			require.Len(t, obtain(t, r.YAML, serve), wholeList, "%s", r.YAML)
		})
	}
}

// TestACursorIsSentUnderItsNameOrAsAfter tries both names.
func TestACursorIsSentUnderItsNameOrAsAfter(t *testing.T) {
	for _, param := range []string{"cursor", "after"} {
		serve := tokens(param, func(from int, token string, more bool) (http.Header, string) {
			return nil, fmt.Sprintf(`{"data": %s, "pagination": {"cursor": "%s"}}`, window(from, 10), when(more, token, ""))
		})
		r, err := detect.Detect(t.Context(), detect.Request{URL: "https://api.test/streams"}, detect.Options{Transport: serve})
		require.NoError(t, err)
		require.Equal(t, param, setting(r, "api", "pagination", "queryParam"), r.Findings)
		require.Len(t, obtain(t, r.YAML, serve), wholeList)
	}
}

// A range of items is a page, unlike a range of bytes.
func TestARangeOfItemsIsAPage(t *testing.T) {
	serve := func(unit string) api {
		return func(q url.Values, _ *http.Request) (int, http.Header, string) {
			from := number(q, "offset", 0)
			return 206, http.Header{"Content-Range": {fmt.Sprintf("%s%d-%d/25", unit, from, from+9)}}, window(from, 10)
		}
	}
	address := "https://api.test/todos?offset=0&limit=10"
	for _, unit := range []string{"", "items ", "todos "} {
		r, err := detect.Detect(t.Context(), detect.Request{URL: address}, detect.Options{Transport: serve(unit)})
		require.NoError(t, err)
		require.Len(t, obtain(t, r.YAML, serve(unit)), wholeList, "%s", r.YAML)
		archive := &recording.Recording{}
		for from := 0; from < wholeList; from += 10 {
			_, header, body := serve(unit)(url.Values{"offset": {strconv.Itoa(from)}}, nil)
			archive.Exchanges = append(archive.Exchanges, recording.Exchange{Method: "GET", Status: 206, ResponseHeader: header,
				URL: fmt.Sprintf("https://api.test/todos?offset=%d&limit=10", from), ResponseBody: []byte(body)})
		}
		r, err = detect.FromRecording(t.Context(), archive, "")
		require.NoError(t, err)
		require.Len(t, obtain(t, r.YAML, serve(unit)), wholeList, "%s", r.YAML)
	}
	uncounted := api(func(q url.Values, r *http.Request) (int, http.Header, string) {
		from := number(q, "offset", 0)
		return 206, http.Header{"Content-Range": {fmt.Sprintf("%d-%d/*", from, from+9)}}, window(from, 10)
	})
	r, err := detect.Detect(t.Context(), detect.Request{URL: address}, detect.Options{Transport: uncounted})
	require.NoError(t, err)
	require.Len(t, obtain(t, r.YAML, uncounted), wholeList, "%s", r.YAML)

	_, err = detect.Detect(t.Context(), detect.Request{URL: address}, detect.Options{Transport: serve("bytes ")})
	require.ErrorContains(t, err, "set api.http.ignoreErrors to [206]")
}

// TestTokensAreSentUnderTheNamesOfTheirAPIs has tokens under names that say little, and the parameters that
// the APIs expect. The list has 25 items, and pages 10.
func TestTokensAreSentUnderTheNamesOfTheirAPIs(t *testing.T) {
	header := func(name string) func(token string) (http.Header, string) {
		return func(token string) (http.Header, string) { return http.Header{name: {token}}, "" }
	}
	member := func(name string) func(token string) (http.Header, string) {
		return func(token string) (http.Header, string) { return nil, fmt.Sprintf(`, "%s": "%s"`, name, token) }
	}
	for name, c := range map[string]struct {
		param string
		write func(token string) (http.Header, string)
	}{
		"bookmark":               {"bookmark", member("bookmark")},
		"nextPageKey":            {"nextPageKey", member("nextPageKey")},
		"LastEvaluatedKey":       {"ExclusiveStartKey", member("LastEvaluatedKey")},
		"vid-offset":             {"vidOffset", member("vid-offset")},
		"X-Marker":               {"marker", header("X-Marker")},
		"X-Ms-Continuationtoken": {"continuationToken", header("X-Ms-Continuationtoken")},
	} {
		t.Run(name, func(t *testing.T) {
			serve := tokens(c.param, func(from int, token string, more bool) (http.Header, string) {
				h, text := c.write(when(more, token, ""))
				return h, fmt.Sprintf(`{"data": %s%s}`, window(from, 10), text)
			})
			r, err := detect.Detect(t.Context(), detect.Request{URL: "https://api.test/users?size=10"}, detect.Options{Transport: serve})
			require.NoError(t, err)
			require.NotContains(t, strings.Join(r.Findings.Doubts, " "), "one page")
			require.Equal(t, c.param, setting(r, "api", "pagination", "queryParam"))
			require.Len(t, obtain(t, r.YAML, serve), wholeList, "%s", r.YAML)
		})
	}
}

// TestTheEndOfCountedPagesIsTheirNumber has pages of which the third is not requested: the second one shows
// that pages are counted from 1.
func TestTheEndOfCountedPagesIsTheirNumber(t *testing.T) {
	serve := numbered("page", "per_page", 1, func(from, size int, _ bool) (http.Header, string) {
		return http.Header{"X-Wp-Totalpages": {"3"}}, window(from, size)
	})
	r, err := detect.Detect(t.Context(), detect.Request{URL: "https://api.test/posts?per_page=10"}, detect.Options{Transport: serve})
	require.NoError(t, err)
	require.Contains(t, r.Findings.Doubts[0], "the last page is the one whose number X-WP-TotalPages says")
	require.NotContains(t, strings.Join(r.Findings.Doubts, " "), "empty page")
	require.Len(t, obtain(t, r.YAML, serve), wholeList, "%s", r.YAML)
}
