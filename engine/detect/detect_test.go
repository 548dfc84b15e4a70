package detect_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/detect"
	"github.com/stopwhen/stopwhen/engine/recording"
	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/rules/yaml"
)

func constant(status int, contentType, body string) api {
	return func(url.Values, *http.Request) (int, http.Header, string) {
		return status, http.Header{"Content-Type": {contentType}}, body
	}
}

// setting returns a value of the configuration.
func setting(r *detect.Result, keys ...string) any {
	var v any = r.Config
	for _, key := range keys {
		if list, ok := v.([]any); ok {
			v = list[0]
		}
		object, _ := v.(value.Object)
		v, _ = object.Get(key)
	}
	return v
}

func TestWhatIsNoListIsSaidPlainly(t *testing.T) {
	for _, c := range []struct {
		name    string
		api     api
		class   error
		message string
		writes  bool
	}{
		{name: "a web page", api: constant(200, "text/html", "<!DOCTYPE html><html><body>Hi</body></html>"),
			class: engine.ErrResponse, message: "answers with a web page"},
		{name: "a login page", api: constant(200, "text/html", `<html><form><input type="password"></form></html>`),
			class: engine.ErrResponse, message: "answers with a login page"},
		{name: "a login page with bare attributes", api: constant(200, "text/html", `<html><form><input name=pw type=password></form></html>`),
			class: engine.ErrResponse, message: "answers with a login page"},
		{name: "a web page as JSON", api: constant(200, "application/json", "<html></html>"),
			class: engine.ErrResponse, message: "answers with a web page"},
		{name: "no credentials", api: constant(401, "application/json", `{"error": "no"}`), class: engine.ErrAPI, message: "Request.Header"},
		{name: "no such path", api: constant(404, "application/json", `{}`), class: engine.ErrAPI, message: "check the path"},
		{name: "wrong method", api: constant(405, "application/json", `{}`), class: engine.ErrAPI, message: "Request.Method POST"},
		{name: "too many requests", api: constant(429, "application/json", `{}`), class: engine.ErrTransient, message: "try again later"},
		{name: "a server error", api: constant(503, "application/json", `{}`), class: engine.ErrTransient, message: "503"},
		{name: "an empty list", api: constant(200, "application/json", `{"data": [], "total": 0}`),
			class: engine.ErrResponse, message: "the list at data is empty", writes: true},
		{name: "an object", api: constant(200, "application/json", `{"id": 1, "name": "x"}`),
			class: engine.ErrResponse, message: "its keys are id, name"},
		{name: "a scalar", api: constant(200, "application/json", `"x"`), class: engine.ErrResponse, message: "is a string"},
		{name: "half a document", api: constant(200, "application/json", `{"data": [`), class: engine.ErrResponse, message: ""},
		{name: "an empty body", api: constant(200, "application/json", ""), class: engine.ErrResponse, message: ""},
		{name: "UTF-16", api: constant(200, "application/json", "\xff\xfe[\x00]\x00"), class: engine.ErrResponse, message: "UTF-16"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := detect.Detect(t.Context(), detect.Request{URL: "https://api.test/v1/users"}, detect.Options{Transport: c.api})
			require.ErrorIs(t, err, c.class)
			require.ErrorContains(t, err, c.message)
			require.NotNil(t, r)
			require.Equal(t, 1, r.Requests)
			require.Equal(t, c.writes, r.YAML != nil)
			require.False(t, r.Paged)
		})
	}
}

func TestRequestsAreCheckedBeforeTheyAreMade(t *testing.T) {
	for _, c := range []struct {
		name    string
		request detect.Request
		message string
	}{
		{"no scheme", detect.Request{URL: "api.test/users"}, "not an absolute"},
		{"another scheme", detect.Request{URL: "ftp://api.test/users"}, "not an absolute"},
		{"no host", detect.Request{URL: "https:///users"}, "not an absolute"},
		{"not an address", detect.Request{URL: "https://a b/"}, "not an absolute"},
		{"another method", detect.Request{URL: "https://api.test/", Method: "DELETE"}, "DELETE is not supported"},
		{"GET with a body", detect.Request{URL: "https://api.test/", Method: "get", Body: []byte("{}")}, "a GET request has no body"},
		{"a list as body", detect.Request{URL: "https://api.test/", Body: []byte("[1]")}, "the body is a list"},
		{"broken JSON", detect.Request{URL: "https://api.test/", Body: []byte(`{"a":`)}, "the body is not JSON"},
		{"an input without a value", detect.Request{URL: "https://{tenant}.test/"}, "{tenant}, which has no value"},
		{"an input with an empty value", detect.Request{URL: "https://{tenant}.test/", Inputs: map[string]string{"tenant": ""}}, "{tenant} in the address has an empty value"},
		{"a value without an input", detect.Request{URL: "https://api.test/", Inputs: map[string]string{"x": "1"}}, "the address has no {x}"},
		{"broken escapes", detect.Request{URL: "https://api.test/?a=%zz"}, "invalid URL escape"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := detect.Detect(t.Context(), c.request, detect.Options{Transport: api(func(url.Values, *http.Request) (int, http.Header, string) {
				t.Error("a request was made")
				return 500, nil, ""
			})})
			var mistake *detect.RequestError
			require.ErrorAs(t, err, &mistake)
			require.ErrorContains(t, err, c.message)
		})
	}
}

const password = "sekret-12345-67890"

// TestCredentialsAreSentButNotWritten gives the same secret in every place. The API sends it
// back in a link, as some do.
func TestCredentialsAreSentButNotWritten(t *testing.T) {
	header := func(name, text string) detect.Request {
		return detect.Request{URL: "https://api.test/v1/users?limit=2", Header: http.Header{name: {text}}}
	}
	for _, c := range []struct {
		name    string
		request detect.Request
		sent    func(r *http.Request) string
		auth    string // type of the authentication; empty: the secret is elsewhere
	}{
		{"bearer", header("Authorization", "Bearer "+password), authorization, "bearer"},
		{"another scheme", header("Authorization", "Bot "+password), authorization, "header"},
		{"basic", header("Authorization", "Basic dXNlcjpzZWtyZXQtMTIzNDUtNjc4OTA="), basic, "basic"},
		{"a key in a header", header("X-Api-Key", password), func(r *http.Request) string { return r.Header.Get("X-Api-Key") }, "header"},
		{"an unusual header", header("X-Functions-Key", password), func(r *http.Request) string { return r.Header.Get("X-Functions-Key") }, "header"},
		{"a header with a secret in its name", header("X-Secret-Id", password), func(r *http.Request) string { return r.Header.Get("X-Secret-Id") }, "header"},
		{"a cookie", header("Cookie", "session="+password), func(r *http.Request) string { return r.Header.Get("Cookie") }, "header"},
		{"a parameter", detect.Request{URL: "https://api.test/v1/users?limit=2&api_key=" + password},
			func(r *http.Request) string { return r.URL.Query().Get("api_key") }, "query"},
		{"the address", detect.Request{URL: "https://user:" + password + "@api.test/v1/users?limit=2"}, basic, "basic"},
		{"a body", detect.Request{URL: "https://api.test/v1/users", Body: []byte(`{"limit": 2, "access_token": "` + password + `"}`)}, bodyOf, ""},
		{"a form", detect.Request{URL: "https://api.test/v1/users", Body: []byte(`limit=2&access_token=` + password)}, bodyOf, ""},
		{"an input", detect.Request{URL: "https://api.test/{token}/users?limit=2", Inputs: map[string]string{"token": password}},
			func(r *http.Request) string { return r.URL.Path }, ""},
		{"two headers", detect.Request{URL: "https://api.test/v1/users?limit=2", Header: http.Header{"Authorization": {"Bearer t0ken-0000001"}, "X-Api-Key": {password}}},
			func(r *http.Request) string { return r.Header.Get("X-Api-Key") }, "bearer"},
	} {
		t.Run(c.name, func(t *testing.T) {
			requests := 0
			serve := api(func(q url.Values, r *http.Request) (int, http.Header, string) {
				requests++
				require.Contains(t, c.sent(r), password)
				if q.Get("cursor") != "" || strings.Contains(bodyOf(r), "cursor") {
					return 200, nil, `{"data": [{"id": 3}]}`
				}
				return 200, nil, `{"data": [{"id": 1, "api_key": "` + password + `"}, {"id": 2}], "next_cursor": "c2", "self": "https://api.test/x?api_key=` + password + `"}`
			})
			r, err := detect.Detect(t.Context(), c.request, detect.Options{Transport: serve})
			require.NoError(t, err)
			require.True(t, r.Paged, r.Findings)
			require.Equal(t, 2, requests)
			for _, text := range []string{string(r.YAML), string(r.JSON), r.Text(80)} {
				require.NotContains(t, text, password)
				require.NotContains(t, text, "dXNlcjpzZ")
			}
			if c.auth != "" {
				require.Equal(t, c.auth, setting(r, "api", "authentication", "type"))
			}
			e, err := engine.Load("x.yaml", r.YAML, engine.WithFormat(".yaml", yaml.Parse), engine.WithPlaceholders())
			require.NoError(t, err)
			require.Zero(t, e.Test(t.Context()).Failed())
			require.ElementsMatch(t, r.Env, e.Info().Env)
		})
	}
}

func authorization(r *http.Request) string { return r.Header.Get("Authorization") }

func basic(r *http.Request) string {
	_, text, _ := r.BasicAuth()
	return text
}

func bodyOf(r *http.Request) string {
	if r.Body == nil {
		return ""
	}
	text, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(text))
	return string(text)
}

func TestOtherFormats(t *testing.T) {
	xml := func(next string, ids ...string) string {
		return "<feed><items><item><id>" + strings.Join(ids, "</id></item><item><id>") + "</id></item></items>" + next + "</feed>"
	}
	for _, c := range []struct {
		name, contentType, first, second, format, items string
		zipped                                          bool
	}{
		{name: "NDJSON", contentType: "application/x-ndjson", first: "{\"id\":1}\n{\"id\":2}\n", second: "{\"id\":3}\n", format: "ndjson"},
		{name: "NDJSON without a type", contentType: "text/plain", first: "{\"id\":1}\n{\"id\":2}\n", second: "{\"id\":3}\n", format: "ndjson"},
		{name: "CSV", contentType: "text/csv", first: "id,name\n1,a\n2,b\n", second: "id,name\n3,c\n", format: "csv"},
		{name: "XML", contentType: "application/xml", first: xml("<total>3</total>", "1", "2"), second: xml("<total>3</total>", "3"), format: "xml", items: "feed.items.item"},
		{name: "a gzip file", contentType: "application/gzip", zipped: true,
			first: "{\"data\":[{\"id\":1},{\"id\":2}]}", second: "{\"data\":[{\"id\":3}]}", items: "data"},
	} {
		t.Run(c.name, func(t *testing.T) {
			serve := api(func(q url.Values, _ *http.Request) (int, http.Header, string) {
				body := c.first
				switch q.Get("page") {
				case "", "1":
				case "2":
					body = c.second
				default:
					return 404, nil, `{"error": "no such page"}`
				}
				if c.zipped {
					var b bytes.Buffer
					w := gzip.NewWriter(&b)
					_, _ = io.WriteString(w, body)
					_ = w.Close()
					body = b.String()
				}
				return 200, http.Header{"Content-Type": {c.contentType}}, body
			})
			r, err := detect.Detect(t.Context(), detect.Request{URL: "https://api.test/export?page=1"}, detect.Options{Transport: serve})
			require.NoError(t, err)
			require.True(t, r.Paged, r.Findings)
			if c.format != "" {
				require.Equal(t, c.format, setting(r, "api", "response", "format"))
			}
			if c.items != "" {
				require.Equal(t, c.items, setting(r, "config", "jobs", "dataField"))
			}
			require.Equal(t, "page", setting(r, "api", "pagination", "pageParam"))
		})
	}
}

// TestInputs writes names in braces as inputs, wherever they are.
func TestInputs(t *testing.T) {
	serve := api(func(q url.Values, r *http.Request) (int, http.Header, string) {
		require.Equal(t, "acme.test", r.URL.Host)
		require.Equal(t, "/teams/a b/users", r.URL.Path)
		require.Equal(t, "x-7", q.Get("group"))
		if q.Get("cursor") != "" {
			return 200, nil, `{"data": [{"id": 3}]}`
		}
		return 200, nil, `{"data": [{"id": 1}, {"id": 2}], "next_cursor": "c2"}`
	})
	r, err := detect.Detect(t.Context(), detect.Request{
		URL:    "https://{tenant}.test/teams/{team}/users?group=x-{group}",
		Inputs: map[string]string{"tenant": "acme", "team": "a b", "group": "7"},
	}, detect.Options{Transport: serve})
	require.NoError(t, err)
	require.True(t, r.Paged)
	require.Equal(t, []string{"tenant", "team", "group"}, r.Inputs)
	require.Equal(t, "https://{input.tenant}.test/teams/{input.team}/", setting(r, "api", "baseUrl"))
	require.Equal(t, `"x-" + input.group`, setting(r, "config", "jobs", "params", "group", "expr"))
}

// TestARedirectIsARequest follows a redirect, and counts it.
func TestARedirectIsARequest(t *testing.T) {
	c := &counting{api: func(q url.Values, r *http.Request) (int, http.Header, string) {
		switch {
		case r.URL.Path == "/old":
			return 301, http.Header{"Location": {"https://api.test/new?" + r.URL.RawQuery}}, ""
		case q.Get("cursor") != "":
			return 200, nil, `{"data": [{"id": 3}]}`
		}
		return 200, nil, `{"data": [{"id": 1}, {"id": 2}], "next_cursor": "c2"}`
	}}
	r, err := detect.Detect(t.Context(), detect.Request{URL: "https://api.test/old"}, detect.Options{Transport: c})
	require.NoError(t, err)
	require.LessOrEqual(t, c.n, detect.MaxRequests)
	require.Contains(t, strings.Join(r.Findings.Doubts, " "), "redirects to https://api.test/new")

	endless := &counting{api: func(_ url.Values, r *http.Request) (int, http.Header, string) {
		return 302, http.Header{"Location": {r.URL.Path + "x"}}, ""
	}}
	_, err = detect.Detect(t.Context(), detect.Request{URL: "https://api.test/x"}, detect.Options{Transport: endless})
	require.ErrorIs(t, err, engine.ErrAPI)
	require.ErrorContains(t, err, "the address redirects too often (give the address that it redirects to)")
	require.LessOrEqual(t, endless.n, detect.MaxRequests)
}

// TestBothFormsAreTheSameConfiguration reads the YAML and the JSON back.
func TestBothFormsAreTheSameConfiguration(t *testing.T) {
	names := []string{"true", "on", "~", "0x1", "1e3", "a: b", "# c", "é\u2028\"\\", "- x", "{y}", "2026-01-01", " z ", "null", "12", "@odata.x", "$z"}
	body := `{"data": [{"id": 1}, {"id": 2}], "next_cursor": "c2", "odd": {`
	for i, name := range names {
		if i > 0 {
			body += ", "
		}
		text, _ := value.Marshal(name)
		body += string(text) + ": " + string(text)
	}
	body += `, "n": 12345678901234567890.50, "e": 1E400, "m": -0}}`
	r, err := detect.Detect(t.Context(), detect.Request{URL: "https://api.test/users?q=a%3A%20b&on=on"}, detect.Options{Transport: constant(200, "application/json", body)})
	require.NoError(t, err)
	fromYAML, err := yaml.Parse(diag.NewSource("x.yaml", string(r.YAML)))
	require.NoError(t, err, string(r.YAML))
	fromJSON, err := yaml.Parse(diag.NewSource("x.json", string(r.JSON)))
	require.NoError(t, err)
	require.Equal(t, fromJSON, fromYAML)
}

func TestAnAPIThatDoesNotAnswerIsATransientError(t *testing.T) {
	_, err := detect.Detect(t.Context(), detect.Request{URL: "https://api.test/users"}, detect.Options{Transport: broken{}})
	require.ErrorIs(t, err, engine.ErrTransient)
}

func TestACancelledDetectionSaysSo(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	serve := api(func(url.Values, *http.Request) (int, http.Header, string) {
		cancel()
		return 200, nil, `{"data": [{"id": 1}, {"id": 2}], "next_cursor": "c2"}`
	})
	r, err := detect.Detect(ctx, detect.Request{URL: "https://api.test/users"}, detect.Options{Transport: serve})
	require.ErrorIs(t, err, engine.ErrCancelled)
	require.Nil(t, r.YAML)
}

type broken struct{}

// RoundTrip implements [http.RoundTripper].
func (broken) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, errors.New("connection refused")
}

// TestBodiesThatCount pages with numbers in a JSON body, at any depth, and in a form.
func TestBodiesThatCount(t *testing.T) {
	const items = 5
	for _, c := range []struct {
		name, body, says string
		at               []string // of the number in the body
		index, first     int      // 1: the number is that of an item
	}{
		{name: "an index", body: `{"query": {"match_all": {}}, "from": 0, "size": 2}`, at: []string{"from"}, index: 1},
		{name: "a page from 0", body: `{"page": 0, "size": 2}`, at: []string{"page"}},
		{name: "a page from 1 in an object", body: `{"filter": "x", "paging": {"page": 1, "per_page": 2}}`, at: []string{"paging", "page"}, first: 1},
		{name: "a form", body: `q=x&offset=0&limit=2`, at: []string{"offset"}, index: 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			serve := api(func(_ url.Values, r *http.Request) (int, http.Header, string) {
				text := bodyOf(r)
				var n int
				if form, err := url.ParseQuery(text); err == nil && text[0] != '{' {
					n, _ = strconv.Atoi(form.Get(c.at[0]))
					require.Equal(t, "x", form.Get("q"))
				} else {
					var v any
					require.NoError(t, json.Unmarshal([]byte(text), &v))
					for _, key := range c.at {
						v = v.(map[string]any)[key]
					}
					n = int(v.(float64))
				}
				from := (n - c.first) * 2
				if c.index > 0 {
					from = n
				}
				var ids []string
				for id := from; id < min(from+2, items); id++ {
					ids = append(ids, fmt.Sprintf(`{"id":%d}`, id))
				}
				return 200, nil, fmt.Sprintf(`{"total": %d, "rows": [%s]}`, items, strings.Join(ids, ","))
			})
			r, err := detect.Detect(t.Context(), detect.Request{URL: "https://api.test/search", Body: []byte(c.body)}, detect.Options{Transport: serve})
			require.NoError(t, err)
			require.True(t, r.Paged, r.Findings)
			require.Equal(t, []string{`{"id":0}`, `{"id":1}`, `{"id":2}`, `{"id":3}`, `{"id":4}`}, obtain(t, r.YAML, serve), "%s", r.YAML)
		})
	}
}

// TestAnAPIThatLimitsRequestsIsNotAskedAgain stops after a second request with status 429.
func TestAnAPIThatLimitsRequestsIsNotAskedAgain(t *testing.T) {
	c := &counting{api: func(q url.Values, _ *http.Request) (int, http.Header, string) {
		if q.Has("limit") {
			return 429, nil, `{"error": "slow down"}`
		}
		return 200, nil, `{"data": [{"id": 1}, {"id": 2}], "next": "/users?limit=2&page=2", "total": 4}`
	}}
	r, err := detect.Detect(t.Context(), detect.Request{URL: "https://api.test/users"}, detect.Options{Transport: c})
	require.NoError(t, err)
	require.Equal(t, 2, c.n)
	require.Contains(t, strings.Join(r.Findings.Doubts, " "), "not proved: the request for the second page failed with status 429")
	require.Equal(t, "next", setting(r, "api", "pagination", "urlKey"))
}

// TestAShortRetryAfterIsWaitedFor waits for an API that limits requests, as long as requests are left.
func TestAShortRetryAfterIsWaitedFor(t *testing.T) {
	for _, c := range []struct {
		name    string
		refuses int // number of the request that is refused, from 1
		status  int
		after   string
		waits   bool
	}{
		{"the first request", 1, 429, "2", true},
		{"the second request", 2, 429, "2", true},
		{"status 503", 2, 503, "2", true},
		{"status 403", 2, 403, "2", true},
		{"a long wait", 2, 429, "3600", false},
		{"no wait", 2, 429, "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := 0
				begin := time.Now()
				serve := api(func(q url.Values, _ *http.Request) (int, http.Header, string) {
					if n++; n == c.refuses {
						return c.status, http.Header{"Retry-After": {c.after}}, `{"error": "slow down"}`
					}
					if q.Get("page") == "2" {
						return 200, nil, `{"data": [{"id": 3}], "next": null, "total": 3}`
					}
					return 200, nil, `{"data": [{"id": 1}, {"id": 2}], "next": "/users?page=2", "total": 3}`
				})
				r, err := detect.Detect(t.Context(), detect.Request{URL: "https://api.test/users"}, detect.Options{Transport: serve})
				require.NoError(t, err)
				require.Equal(t, c.waits, time.Since(begin) >= 2*time.Second)
				require.Equal(t, "next", setting(r, "api", "pagination", "urlKey"))
				require.Equal(t, !c.waits, strings.Contains(strings.Join(r.Findings.Doubts, " "), "not proved"))
				require.LessOrEqual(t, r.Requests, detect.MaxRequests)
			})
		})
	}
}

// TestAQueryWithoutACursorGetsAdvice cannot page through a connection whose query has no
// variable.
func TestAQueryWithoutACursorGetsAdvice(t *testing.T) {
	serve := constant(200, "application/json", `{"data": {"users": {"nodes": [{"id": 1}], "pageInfo": {"hasNextPage": true, "endCursor": "c"}}}}`)
	r, err := detect.Detect(t.Context(), detect.Request{
		URL: "https://api.test/graphql", Body: []byte(`{"query": "{ users(first: 1) { nodes { id } pageInfo { hasNextPage endCursor } } }"}`),
	}, detect.Options{Transport: serve})
	require.NoError(t, err)
	require.False(t, r.Paged)
	require.NotEmpty(t, r.Findings.Doubts)
	require.Contains(t, strings.Join(r.Findings.Advice, " "), "query($after: String)")
}

// TestTheLastLineOfNDJSONThatPagesIsDoubted says that a line which no other line resembles is not an item.
func TestTheLastLineOfNDJSONThatPagesIsDoubted(t *testing.T) {
	for _, c := range []struct{ last, doubt string }{
		{`{"next_cursor": "10"}`, "The last line has next_cursor, and no other line has a member of it"},
		{`{"next_cursor": null}`, "Nothing in the response says whether the list is complete"},
		{`{"id": 3, "next_cursor": "10"}`, "Nothing in the response says whether the list is complete"},
	} {
		serve := constant(200, "application/x-ndjson", "{\"id\": 1}\n{\"id\": 2}\n"+c.last+"\n")
		r, err := detect.Detect(t.Context(), detect.Request{URL: "https://api.test/events"}, detect.Options{Transport: serve})
		require.NoError(t, err)
		require.Contains(t, strings.Join(r.Findings.Doubts, " "), c.doubt, c.last)
	}
}

// TestAnEmptySecondPageContradictsATotal says so, and does not ask for a smaller page: there is a second one.
// TestAResponseThatIsCutOffIsSaidToBe has lines, the last of which ends within its value.
func TestAResponseThatIsCutOffIsSaidToBe(t *testing.T) {
	serve := func(cut int) api {
		return func(q url.Values, _ *http.Request) (int, http.Header, string) {
			page := number(q, "page", 1)
			lines := fmt.Sprintf("{\"id\": %d1}\n{\"id\": %d2}\n", page, page)
			return 200, http.Header{"Content-Type": {"application/x-ndjson"}}, when(page == cut, lines+`{"id": 3, "na`, lines)
		}
	}
	detected := func(cut int) (*detect.Result, error) {
		return detect.Detect(t.Context(), detect.Request{URL: "https://api.test/events?page=1"}, detect.Options{Transport: serve(cut)})
	}
	_, err := detected(1)
	require.ErrorIs(t, err, engine.ErrResponse)
	require.ErrorContains(t, err, "line 3, the last one, is cut off: unexpected end of the document at byte 13")
	require.ErrorContains(t, err, "the response is cut off: try again")

	r, err := detected(2)
	require.NoError(t, err)
	require.Equal(t, []string{"The pagination is not proved: the response with the second page is cut off."}, r.Findings.Doubts)
	require.Contains(t, r.Findings.Advice, "Try again later: the response with the second page is cut off.")
	require.Equal(t, 2, r.Requests)
	require.Equal(t, "page", setting(r, "api", "pagination", "pageParam"))

	r, err = detected(3)
	require.NoError(t, err)
	require.Contains(t, r.Findings.Doubts, "The end of the list was not seen: the response with the third page is cut off.")
}

func TestAnEmptySecondPageContradictsATotal(t *testing.T) {
	serve := api(func(q url.Values, _ *http.Request) (int, http.Header, string) {
		from, _ := strconv.Atoi(q.Get("offset"))
		until, _ := strconv.Atoi(q.Get("until"))
		return 200, nil, fmt.Sprintf(`{"total": 25, "rows": %s}`, window(from, until-from))
	})
	r, err := detect.Detect(t.Context(), detect.Request{URL: "https://api.test/rows?offset=0&until=10"}, detect.Options{Transport: serve})
	require.NoError(t, err)
	require.Contains(t, strings.Join(r.Findings.Doubts, " "), "the second page is empty, although total is 25. Another parameter may page.")
	require.NotContains(t, strings.Join(r.Findings.Advice, " "), "smaller page")
}

// TestAnAddressInTheMiddleIsDoubted says that pages before the address are not read.
func TestAnAddressInTheMiddleIsDoubted(t *testing.T) {
	for _, c := range []struct{ name, address, body, link string }{
		{name: "the number of a page", address: "?page=3"},
		{name: "an index", address: "?offset=4&limit=2"},
		{name: "a number next to a link", address: "?page=2", link: `</users?page=3>; rel="next"`},
		{name: "a link to the page before", link: `</users?c=3>; rel="next", </users?c=1>; rel="prev"`},
		{name: "a key for the page before", body: `, "next": "/users?c=3", "previous": "/users?c=1"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			first := true
			serve := api(func(url.Values, *http.Request) (int, http.Header, string) {
				if !first {
					return 200, nil, `{"data": [{"id": 3}]}`
				}
				header := http.Header{}
				first = false
				if c.link != "" {
					header.Set("Link", c.link)
				}
				return 200, header, `{"data": [{"id": 1}, {"id": 2}]` + c.body + `}`
			})
			r, err := detect.Detect(t.Context(), detect.Request{URL: "https://api.test/users" + c.address}, detect.Options{Transport: serve})
			require.NoError(t, err)
			require.True(t, r.Paged, r.Findings)
			require.Regexp(t, "before (it|that|is)", strings.Join(r.Findings.Doubts, " "))
		})
	}
}

// TestFromRecordingChoosesAList takes the list with the most pages, or the one that is
// named, and states the others.
func TestFromRecordingChoosesAList(t *testing.T) {
	page := func(address, body string) recording.Exchange {
		return recording.Exchange{Method: "GET", URL: "https://api.test" + address, Status: 200, ResponseBody: []byte(body)}
	}
	r := &recording.Recording{Exchanges: []recording.Exchange{
		page("/menu", `[{"id": 1}, {"id": 2}, {"id": 3}]`),
		page("/users?page=1", `{"data": [{"id": 1}, {"id": 2}], "total_pages": 2}`),
		page("/users?page=1", `{"data": [{"id": 1}, {"id": 2}], "total_pages": 2}`), // again
		{Method: "GET", URL: "https://api.test/users?page=9", Error: "aborted"},
		page("/style.css", "a {}"),
		page("/users?page=2", `{"data": [{"id": 3}], "total_pages": 2}`),
	}}
	result, err := detect.FromRecording(t.Context(), r, "")
	require.NoError(t, err)
	require.True(t, result.Paged, result.Findings)
	require.Equal(t, "total_pages", setting(result, "api", "pagination", "pagesField"))
	require.Empty(t, result.Findings.Doubts)
	require.Contains(t, strings.Join(result.Findings.Evidence, " "), "It also has 1 page of GET https://api.test/menu")

	result, err = detect.FromRecording(t.Context(), r, "https://api.test/menu")
	require.NoError(t, err)
	require.False(t, result.Paged)
	require.NotEmpty(t, result.Findings.Doubts)
	require.Equal(t, "menu", setting(result, "config", "jobs", "endpoint"))

	_, err = detect.FromRecording(t.Context(), r, "https://other.test/")
	require.ErrorIs(t, err, engine.ErrResponse)
}

// A page without its body in the recording is neither an empty page nor the end of the list.
func TestFromRecordingTellsOfBodiesThatAreMissing(t *testing.T) {
	page := func(n int, body string) recording.Exchange {
		x := recording.Exchange{Method: "GET", URL: fmt.Sprintf("https://api.test/users?page=%d", n), Status: 200, ResponseBody: []byte(body)}
		if body == "" {
			x.BodyMissing, x.Error = true, "the recording does not have the body of this response"
		}
		return x
	}
	const doubt = "The recording does not have the body of 1 response at the address of the list, so that pages may be missing."
	for missing := range 4 {
		bodies := []string{`[{"id": 1}, {"id": 2}]`, `[{"id": 3}, {"id": 4}]`, `[{"id": 5}, {"id": 6}]`, `[]`}
		bodies[missing] = ""
		r := &recording.Recording{}
		for i, body := range bodies {
			r.Exchanges = append(r.Exchanges, page(i+1, body))
		}
		result, err := detect.FromRecording(t.Context(), r, "")
		require.NoError(t, err)
		require.Contains(t, result.Findings.Doubts, doubt)
	}
	_, err := detect.FromRecording(t.Context(), &recording.Recording{Exchanges: []recording.Exchange{page(1, ""), page(2, "")}}, "https://api.test/")
	require.ErrorIs(t, err, engine.ErrResponse)
	require.ErrorContains(t, err, "whose address begins with https://api.test/; it does not have the bodies of 2 responses")
}

// TestAShortPageIsNotTakenForTheLastOne looks beyond a short page: it may be one of which
// the API has left out items.
func TestAShortPageIsNotTakenForTheLastOne(t *testing.T) {
	for _, c := range []struct {
		name    string
		items   int // that there are; item 2 is left out
		doubted bool
	}{{"and it is not", 6, true}, {"but it is", 4, false}} {
		t.Run(c.name, func(t *testing.T) {
			var want []string
			for id := range c.items {
				if id != 2 {
					want = append(want, fmt.Sprintf(`{"id":%d}`, id))
				}
			}
			serve := api(func(q url.Values, _ *http.Request) (int, http.Header, string) {
				from, _ := strconv.Atoi(q.Get("offset"))
				var page []string
				for id := from; id < min(from+2, c.items); id++ {
					if id != 2 {
						page = append(page, fmt.Sprintf(`{"id":%d}`, id))
					}
				}
				return 200, nil, "[" + strings.Join(page, ",") + "]"
			})
			request := detect.Request{URL: "https://api.test/users?offset=0&limit=2"}
			r, err := detect.Detect(t.Context(), request, detect.Options{Transport: serve})
			require.NoError(t, err)
			require.Equal(t, 3, r.Requests)
			require.Equal(t, c.doubted, len(r.Findings.Doubts) > 0, r.Findings)
			require.Equal(t, want, obtain(t, r.YAML, serve), "%s", r.YAML)
		})
	}
}
