package recording_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/recording"
	"github.com/stopwhen/stopwhen/fixtures"
	"github.com/stopwhen/stopwhen/runtime/failure"
	"github.com/stopwhen/stopwhen/runtime/redact"
)

// record makes requests through a recorder and returns the file.
func record(t *testing.T, transport http.RoundTripper, secrets []string, requests ...*http.Request) *bytes.Buffer {
	t.Helper()
	var file bytes.Buffer
	r := recording.NewRecorder(&file, recording.Options{
		Transport: transport, Redactor: redact.New(secrets), Creator: "test",
	})
	for _, request := range requests {
		if resp, err := r.RoundTrip(request); err == nil {
			_, _ = io.Copy(io.Discard, resp.Body)
			require.NoError(t, resp.Body.Close())
		}
	}
	require.NoError(t, r.Close())
	return &file
}

func request(method, address, body string) *http.Request {
	r, err := http.NewRequest(method, address, strings.NewReader(body))
	if err != nil {
		panic(err)
	}
	return r
}

// transport is a function that answers requests without a network.
type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func answer(status int, body string, header ...string) *http.Response {
	r := &http.Response{StatusCode: status, Proto: "HTTP/1.1", Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body))}
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	return r
}

func TestARecordingIsReadAsItWasWritten(t *testing.T) {
	file := record(t, transport(func(r *http.Request) (*http.Response, error) {
		return answer(201, "{\"n\": 12345678901234567890, \"t\": \"\\u00e9 < \u2028\"}", "Link", "<a>", "Link", "<b>"), nil
	}), nil, request("POST", "https://api.test/x?a=1&b=%20", `{"q": "<é>"}`))
	got, err := recording.Read(file)
	require.NoError(t, err)
	require.False(t, got.Truncated)
	x := got.Exchanges[0]
	require.Equal(t, "POST https://api.test/x?a=1&b=%20", x.Method+" "+x.URL)
	require.Equal(t, `{"q": "<é>"}`, string(x.Body))
	require.Equal(t, 201, x.Status)
	require.Equal(t, []string{"<a>", "<b>"}, x.ResponseHeader.Values("Link"))
	require.Equal(t, "{\"n\": 12345678901234567890, \"t\": \"\\u00e9 < \u2028\"}", string(x.ResponseBody))
}

func TestABinaryBodyKeepsItsBytes(t *testing.T) {
	body := "\x00\xff\xfe\"" + strings.Repeat("\x80", 100)
	file := record(t, transport(func(*http.Request) (*http.Response, error) {
		return answer(200, body), nil
	}), nil, request("GET", "https://api.test/", ""))
	got, err := recording.Read(file)
	require.NoError(t, err)
	require.Equal(t, body, string(got.Exchanges[0].ResponseBody))
}

func TestACompressedPageIsRecordedAsItWas(t *testing.T) {
	const page = `{"data": [1, 2]}`
	packed, err := zstd.NewWriter(nil)
	require.NoError(t, err)
	for name, next := range map[string]http.RoundTripper{"by default": nil, "with a transport of a program": http.DefaultTransport} {
		t.Run(name, func(t *testing.T) {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Encoding", "zstd")
				_, _ = w.Write(packed.EncodeAll([]byte(page), nil))
			}))
			defer s.Close()
			file := record(t, next, nil, request("GET", s.URL, ""))
			require.Contains(t, file.String(), `"content":{"size":16,`)
			got, err := recording.Read(file)
			require.NoError(t, err)
			require.Equal(t, page, string(got.Exchanges[0].ResponseBody))
			require.Empty(t, got.Exchanges[0].ResponseHeader.Values("Content-Encoding"))
			played, err := got.NewPlayer(nil).RoundTrip(request("GET", s.URL, ""))
			require.NoError(t, err)
			body, err := io.ReadAll(played.Body)
			require.NoError(t, err)
			require.Equal(t, page, string(body))
		})
	}
}

func TestSecretsAreNotRecorded(t *testing.T) {
	const secret = "marker-5c1d"
	r := request("POST", "https://user:"+secret+"@api.test/x?key=usual-1&q="+secret, `{"token": "`+secret+`"}`)
	r.Header.Set("Authorization", "Bearer usual-2")
	r.Header.Set("X-Api-Key", "usual-3")
	r.Header.Set("Cookie", "s=usual-4")
	r.Header.Set("X-Tenant", secret)
	file := record(t, transport(func(*http.Request) (*http.Response, error) {
		return answer(302, `{"echo": "`+secret+`"}`,
			"Set-Cookie", "s=usual-5", "Location", "https://api.test/?access_token=usual-6", "X-Echo", secret), nil
	}), []string{secret}, r).String()
	require.NotContains(t, file, secret)
	require.NotContains(t, file, "usual-")
	require.Contains(t, file, `"name":"X-Tenant","value":"***"`)
}

func TestARecordedBodyRemainsJSON(t *testing.T) {
	file := record(t, transport(func(*http.Request) (*http.Response, error) {
		return answer(200, `{"id": 7315, "next": "?k=7315"}`), nil
	}), []string{"7315"}, request("POST", "https://api.test/?7315=1", `{"key": 7315}`))
	require.NotContains(t, file.String(), "7315")
	got, err := recording.Read(file)
	require.NoError(t, err)
	require.JSONEq(t, `{"id": "***", "next": "?k=***"}`, string(got.Exchanges[0].ResponseBody))
	require.JSONEq(t, `{"key": "***"}`, string(got.Exchanges[0].Body))
}

func TestErrorsAreRecordedAndPlayed(t *testing.T) {
	file := record(t, transport(func(r *http.Request) (*http.Response, error) {
		if r.URL.Path == "/reset" {
			return nil, errors.New("connection reset by peer")
		}
		resp := answer(200, "")
		resp.Body = io.NopCloser(io.MultiReader(strings.NewReader(`{"data": [`), broken{}))
		return resp, nil
	}), nil, request("GET", "https://api.test/reset", ""), request("GET", "https://api.test/cut", ""))
	got, err := recording.Read(file)
	require.NoError(t, err)
	p := got.NewPlayer(nil)

	_, err = p.RoundTrip(request("GET", "https://api.test/reset", ""))
	require.EqualError(t, err, "connection reset by peer")

	resp, err := p.RoundTrip(request("GET", "https://api.test/cut", ""))
	require.NoError(t, err)
	body, err := io.ReadAll(resp.Body)
	require.EqualError(t, err, "unexpected EOF")
	require.Equal(t, `{"data": [`, string(body))
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func TestABodyThatIsNotReadToTheEndIsRecordedAsIncomplete(t *testing.T) {
	var file bytes.Buffer
	r := recording.NewRecorder(&file, recording.Options{Transport: transport(func(*http.Request) (*http.Response, error) {
		return answer(200, "12345"), nil
	})})
	resp, err := r.RoundTrip(request("GET", "https://api.test/", ""))
	require.NoError(t, err)
	_, err = io.ReadFull(resp.Body, make([]byte, 3))
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.NoError(t, r.Close())
	got, err := recording.Read(&file)
	require.NoError(t, err)
	require.Equal(t, "123", string(got.Exchanges[0].ResponseBody))
	require.Equal(t, "the body was not read to the end", got.Exchanges[0].Error)
}

// TestTheFileOfAKilledRunIsRead cuts a file at every byte. Every exchange that is
// complete must be read.
func TestTheFileOfAKilledRunIsRead(t *testing.T) {
	n := 0
	file := record(t, transport(func(*http.Request) (*http.Response, error) {
		n++
		return answer(200, fmt.Sprintf("[%d]", n)), nil
	}), nil,
		request("GET", "https://api.test/1", ""),
		request("GET", "https://api.test/2", ""),
		request("GET", "https://api.test/3", "")).String()
	lines := strings.SplitAfter(file, "\n")
	for cut := range len(file) {
		complete := -1 // the first line is not an exchange
		for at, i := 0, 0; i < len(lines) && at+len(strings.TrimRight(lines[i], ",\n")) <= cut; i++ {
			at += len(lines[i])
			complete++
		}
		complete = min(complete, 3)
		got, err := recording.Read(strings.NewReader(file[:cut]))
		if complete < 1 {
			require.Error(t, err, "cut at %d", cut)
			continue
		}
		require.NoError(t, err, "cut at %d", cut)
		require.Len(t, got.Exchanges, complete, "cut at %d: %s", cut, file[:cut])
		require.Equal(t, cut < len(file)-1, got.Truncated, "cut at %d", cut)
	}
}

func TestAnArchiveOfABrowserIsRead(t *testing.T) {
	got, err := recording.Read(strings.NewReader(`{"log": {
		"version": "1.2", "creator": {"name": "WebInspector", "version": "537.36"}, "pages": [{"id": "page_1"}],
		"entries": [
			{
				"_initiator": {"type": "other"}, "_resourceType": "xhr", "cache": {}, "connection": "443", "pageref": "page_1",
				"startedDateTime": "2026-03-01T10:00:00.000Z", "time": 120.5,
				"request": {
					"method": "GET", "url": "https://api.test/users?page=1", "headers": [{"name": ":authority", "value": "api.test"}],
					"cookies": [{"name": "s", "value": "x", "path": "/", "expires": "2027-01-01T00:00:00.000Z"}]
				},
				"response": {
					"status": 200,
					"headers": [
						{"name": "content-encoding", "value": "br"}, {"name": "content-length", "value": "11"},
						{"name": "x-next", "value": "t"}
					],
					"content": {"size": 20, "mimeType": "application/json", "text": "WzFd", "encoding": "base64"}
				},
				"timings": {"blocked": 1.5, "dns": -1, "ssl": -1, "connect": -1, "send": 0.1, "wait": 100, "receive": 1}
			},
			{
				"startedDateTime": "2026-03-01T10:00:01.000Z", "time": -1,
				"request": {"method": "GET", "url": "https://api.test/blocked"},
				"response": {"status": 0, "_error": "net::ERR_BLOCKED_BY_CLIENT"}
			}
		]
	}}`))
	require.NoError(t, err)
	x := got.Exchanges[0]
	require.Equal(t, "[1]", string(x.ResponseBody))
	require.Equal(t, http.Header{"X-Next": {"t"}}, x.ResponseHeader, "headers about the encoded body are removed")
	require.Equal(t, 120500*time.Microsecond, x.Took)
	require.Equal(t, 0, got.Exchanges[1].Status)
	require.NotEmpty(t, got.Exchanges[1].Error)
}

func TestAFileThatIsNotAnArchiveIsRefused(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"empty", ``, "not an HTTP archive (HAR)"},
		{"a list", `[]`, "want {, got ["},
		{"log is a number", `{"log": 5}`, "want {, got 5"},
		{"no entries", `{"log": {"entries": []}}`, "the HTTP archive (HAR) has no entries"},
		{"cut in the first entry", `{"log": {"entries": [{`, "not an HTTP archive (HAR)"},
		{"an entry is a number", `{"log": {"entries": [5]}}`, "cannot unmarshal number"},
		{"CSV", `id,name`, "not an HTTP archive (HAR)"},
		{"entries are missing", `{"log": {"version": "1.2"}}`, "has no entries"},
		{"log is missing", `{"config": {"jobs": []}}`, "has no entries"},
		{
			"invalid base64", `{"log":{"entries":[{"response":{"content":{"text":"!","encoding":"base64"}}}]}}`,
			"entry 1: response body: illegal base64",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := recording.Read(strings.NewReader(test.text))
			require.ErrorContains(t, err, test.want)
		})
	}
}

func TestAPlayerAnswersRepeatedRequestsInOrder(t *testing.T) {
	n := 0
	tape, err := recording.Read(record(t, transport(func(*http.Request) (*http.Response, error) {
		n++
		return answer(200, fmt.Sprint(n)), nil
	}), nil,
		request("GET", "https://api.test/x?a=1&b=2", ""),
		request("GET", "https://api.test/x?b=2&a=1", ""),
		request("GET", "https://api.test/x?a=1&b=2", ""),
		request("POST", "https://api.test/x", `{"a": 1, "b": [12345678901234567890]}`),
		request("POST", "https://api.test/x", `a=1&b=2`)))
	require.NoError(t, err)
	p := tape.NewPlayer(nil)
	play := func(method, address, body string) string {
		resp, err := p.RoundTrip(request(method, address, body))
		require.NoError(t, err)
		text, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		return string(text)
	}
	require.Equal(t, "1", play("GET", "https://api.test/x?a=1&b=2", ""))
	require.Equal(t, "3", play("GET", "https://api.test/x?a=1&b=2", ""), "an exact match comes first")
	require.Equal(t, "2", play("GET", "https://api.test/x?a=1&b=2", ""), "then one with the parameters in another order")
	require.Equal(t, "4", play("POST", "https://api.test/x", `{"b":[12345678901234567890],"a":1}`))
	require.Equal(t, "5", play("POST", "https://api.test/x", `b=2&a=1`))
	require.Empty(t, p.Played().Unplayed)
	_, err = p.RoundTrip(request("GET", "https://api.test/x?a=1&b=2", ""))
	require.ErrorContains(t, err, "the recording has this request only 3 times")
	require.Equal(t, "GET https://api.test/x?a=1&b=2", p.Played().Missing)
	require.Len(t, p.Played().Requests, 6)
}

func TestARequestThatWasNotRecordedNamesTheNearest(t *testing.T) {
	tape, err := recording.Read(record(t, transport(func(*http.Request) (*http.Response, error) {
		return answer(200, "[]"), nil
	}), nil, request("GET", "https://api.test/users?limit=10&offset=0", "")))
	require.NoError(t, err)
	const nearest = "the nearest recorded request is GET https://api.test/users?limit=10&offset=0, where "
	for _, test := range []struct{ name, method, address, want string }{
		{"another parameter", "GET", "https://api.test/users?limit=10&offset=10", nearest + "offset is 0"},
		{"two parameters", "GET", "https://api.test/users?limit=20&offset=0&sort=id", nearest + "limit is 10 and sort is missing"},
		{"another origin", "GET", "http://localhost:1/users?limit=10&offset=0", nearest + "the origin is https://api.test (the base URL of the run is another one)"},
		{"another path", "GET", "https://api.test/v2/users?limit=10&offset=0", nearest + "the path is /users"},
		{"another method", "POST", "https://api.test/users?limit=10&offset=0", nearest + "the method is GET"},
		{"nothing similar", "GET", "https://api.test/?a=1&b=2&c=3", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := tape.NewPlayer(nil).RoundTrip(request(test.method, test.address, ""))
			var refused *engine.Error
			require.ErrorAs(t, err, &refused)
			require.Equal(t, "the recording does not have this request", refused.Message)
			require.Equal(t, test.want, refused.Hint)
		})
	}
}

// TestConcurrentExchangesAreEachRecordedOnce is also a test for the race detector.
func TestConcurrentExchangesAreEachRecordedOnce(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.URL.Path) }))
	defer s.Close()
	var file bytes.Buffer
	r := recording.NewRecorder(&file, recording.Options{})
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() {
			resp, err := r.RoundTrip(request("GET", fmt.Sprintf("%s/%d", s.URL, i), ""))
			if err == nil {
				_, _ = io.Copy(io.Discard, resp.Body)
				_ = resp.Body.Close()
			}
		})
	}
	all.Wait()
	require.NoError(t, r.Close())
	tape, err := recording.Read(&file)
	require.NoError(t, err)
	seen := map[string]bool{}
	for _, x := range tape.Exchanges {
		require.Equal(t, strings.TrimPrefix(x.URL, s.URL), string(x.ResponseBody))
		seen[x.URL] = true
	}
	require.Len(t, seen, 50)
}

func TestAnErrorOfWritingIsReturned(t *testing.T) {
	r := recording.NewRecorder(full{}, recording.Options{})
	require.ErrorContains(t, r.Close(), "no space left")
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

// users is an API with three pages of users and an empty one. The second page has
// a flag that says, wrongly, that it is the last.
func users(r *http.Request) (*http.Response, error) {
	return map[string]*http.Response{
		"1": answer(200, `{"data": [{"id": 1}, {"id": 2}]}`),
		"2": answer(200, `{"data": [{"id": 2}, {"id": 3}], "last": true}`),
		"3": answer(200, `{"data": [{"id": 4}]}`),
		"4": answer(200, `{"data": []}`),
	}[r.URL.Query().Get("page")], nil
}

func load(t *testing.T, pagination string) *engine.Engine {
	t.Helper()
	e, err := engine.Load("c.json", []byte(`{
		"api": {"baseUrl": "https://api.test/", "pagination": `+pagination+`},
		"config": {"jobs": [{"endpoint": "users", "dataField": "data"}]}}`))
	require.NoError(t, err)
	return e
}

func TestCompareFindsLostAndAddedItems(t *testing.T) {
	var requests []*http.Request
	for page := 1; page <= 4; page++ {
		requests = append(requests, request("GET", fmt.Sprintf("https://api.test/users?page=%d", page), ""))
	}
	tape, err := recording.Read(record(t, transport(users), nil, requests...))
	require.NoError(t, err)
	one, err := recording.Replay(context.Background(), load(t, `{"method": "pagenum"}`), tape)
	require.NoError(t, err)
	require.Equal(t, []string{"pagenum.empty: count(0) == 0"}, one.Jobs[0].Because)
	require.Equal(t, 4, one.Jobs[0].Pages)
	require.Empty(t, one.Unplayed)

	flag := load(t, `{"method": "pagenum", "nextPageFlag": {"field": "last", "stopOn": true, "ifNotSet": false}}`)
	other, err := recording.Replay(context.Background(), flag, tape)
	require.NoError(t, err)
	require.Equal(t, "nextPageFlag", other.Jobs[0].Reason)
	require.Equal(t, []string{"GET https://api.test/users?page=3", "GET https://api.test/users?page=4"}, other.Unplayed)

	require.Equal(t, []recording.Comparison{{
		Job: "users", Pages: -2, Same: 4, Added: []recording.Item{}, Lost: []recording.Item{{Page: 3, Text: []byte(`{"id":4}`)}},
	}}, recording.Compare(one, other))
	back := recording.Compare(other, one)[0]
	require.Equal(t, 2, back.Pages)
	require.Equal(t, []recording.Item{{Page: 3, Text: []byte(`{"id":4}`)}}, back.Added)

	// An item that occurs twice counts twice.
	second := load(t, `{"method": "pagenum", "firstPage": 2, "forceStop": {"pages": 1}}`)
	fewer, err := recording.Replay(context.Background(), second, tape)
	require.NoError(t, err)
	require.Equal(t, []recording.Item{
		{Page: 1, Text: []byte(`{"id":1}`)}, {Page: 2, Text: []byte(`{"id":2}`)}, {Page: 3, Text: []byte(`{"id":4}`)},
	}, recording.Compare(one, fewer)[0].Lost)
}

// TestWindowsUpToNowAreReplayed: the last window of each job ends at now(), which is the start of the recorded run.
func TestWindowsUpToNowAreReplayed(t *testing.T) {
	e, err := engine.Load("c.json", []byte(`{"api": {"baseUrl": "https://api.test/"}, "config": {"jobs": [
	  {"id": "a", "endpoint": "a", "for": {"w": {"from": "now() - duration('48h')", "to": "now()", "step": "1d"}}, "params": {"since": {"expr": "w.from"}, "until": {"expr": "w.to"}}},
	  {"id": "b", "endpoint": "b", "for": {"w": {"from": "2026-01-01", "to": "now()"}}, "params": {"until": {"expr": "w.to"}}}]}}`))
	require.NoError(t, err)
	var file bytes.Buffer
	r := recording.NewRecorder(&file, recording.Options{Transport: transport(func(*http.Request) (*http.Response, error) {
		return answer(200, `[{"id": 1}]`), nil
	})})
	time.Sleep(time.Millisecond) // what a program does before the run
	_, err = r.Record(e).Run(context.Background(), func(context.Context, *engine.Page) error { return nil })
	require.NoError(t, err)
	require.NoError(t, r.Close())
	tape, err := recording.Read(&file)
	require.NoError(t, err)
	require.True(t, tape.Started.Before(tape.Exchanges[0].Started))

	replayed, err := recording.Replay(context.Background(), e, tape)
	require.NoError(t, err)
	require.Len(t, replayed.Requests, 3)
	require.Empty(t, replayed.Unplayed)
}

// TestATokenWithASecretIsReplayed: the token is hidden in the recorded response, and the request for page 2 has what is shown of it.
func TestATokenWithASecretIsReplayed(t *testing.T) {
	for _, method := range []string{"GET", "POST", "FORM"} {
		t.Run(method, func(t *testing.T) {
			const secret = "marker-5c1d"
			e, err := engine.Load("c.json", []byte(`{"api": {"baseUrl": "https://api.test/", "authentication": {"type": "bearer", "#token": "`+secret+`"},
			  "pagination": {"method": "response.param", "responseParam": "next", "queryParam": "after", "includeParams": true}},
			  "config": {"jobs": [{"endpoint": "a", "method": "`+method+`", "dataField": "data"}]}}`))
			require.NoError(t, err)
			var file bytes.Buffer
			n := 0
			r := recording.NewRecorder(&file, recording.Options{Redactor: e.Redactor(), Transport: transport(func(*http.Request) (*http.Response, error) {
				if n++; n == 3 {
					return answer(200, `{"data": [{"id": 3}]}`), nil
				}
				return answer(200, fmt.Sprintf(`{"data": [{"id": %d}], "next": "tok %s/%d"}`, n, secret, n)), nil
			})})
			_, err = r.Record(e).Run(context.Background(), func(context.Context, *engine.Page) error { return nil })
			require.NoError(t, err)
			require.NoError(t, r.Close())
			require.NotContains(t, file.String(), secret)
			tape, err := recording.Read(&file)
			require.NoError(t, err)
			replayed, err := recording.Replay(context.Background(), e, tape)
			require.NoError(t, err)
			require.Len(t, replayed.Requests, 3)
		})
	}
}

func TestReplayFailsOnARequestThatWasNotRecorded(t *testing.T) {
	tape, err := recording.Read(record(t, transport(users), nil, request("GET", "https://api.test/users?page=1", "")))
	require.NoError(t, err)
	got, err := recording.Replay(context.Background(), load(t, `{"method": "pagenum"}`), tape)
	require.ErrorIs(t, err, failure.ErrResponse)
	require.Equal(t, "GET https://api.test/users?page=2", got.Missing)
	require.Equal(t, 1, got.Jobs[0].Pages)
	require.Equal(t, 2, got.Jobs[0].Items)
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"log":{"version":"1.2","entries":[{"startedDateTime":"2026-03-01T10:00:00Z","time":1.5,` +
		`"request":{"method":"GET","url":"https://a.test/?x=1"},` +
		`"response":{"status":200,"headers":[{"name":"Link","value":"<a>"}],"content":{"text":"W10=","encoding":"base64"}}}]}}`))
	f.Add([]byte(`{"log":{"entries":[{"request":{"method":"POST","url":"%zz","postData":{"text":"a=1&b"}},"response":{"status":-5}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		tape, err := recording.Read(bytes.NewReader(text))
		if err != nil {
			return
		}
		p := tape.NewPlayer(nil)
		for _, x := range tape.Exchanges {
			r, err := http.NewRequest(x.Method, x.URL, bytes.NewReader(x.Body))
			if err != nil || r.Method != x.Method || r.URL.String() != x.URL {
				continue
			}
			resp, err := p.RoundTrip(r)
			if err == nil {
				_, _ = io.Copy(io.Discard, resp.Body)
				continue
			}
			require.NotEmpty(t, err.Error())
			require.NotContains(t, err.Error(), "does not have this request", "a recorded request is played")
		}
	})
}

// A body that is too large to be recorded is an error when it is replayed, and never a
// page without items.
func TestALargeBodyIsNotRecordedAndNotReplayedAsAnEmptyPage(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs a single goroutine")
	size := recording.MaxBodyBytes
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `{"data": [1], "pad": "%s"}`, strings.Repeat("x", size-len(`{"data": [1], "pad": ""}`)))
	}))
	defer api.Close()
	for _, c := range []struct{ more, omitted int }{{0, 0}, {1, 1}} {
		size = recording.MaxBodyBytes + c.more
		e, err := engine.Load("c.json", fmt.Appendf(nil, `{"api": {"baseUrl": "%s/", "pagination": {"method": "single"}},
			"config": {"jobs": [{"endpoint": "x", "dataField": "data"}]}}`, api.URL))
		require.NoError(t, err)
		var file bytes.Buffer
		r := recording.NewRecorder(&file, recording.Options{})
		result, err := e.With(engine.WithTransport(r)).Run(t.Context(), func(context.Context, *engine.Page) error { return nil })
		require.NoError(t, err)
		require.Equal(t, 1, result.Jobs[0].Items, "the run itself is not limited")
		require.NoError(t, r.Close())
		require.Equal(t, c.omitted, r.Omitted())
		require.Less(t, file.Len(), recording.MaxBodyBytes*(1-c.omitted)+4096)

		tape, err := recording.Read(&file)
		require.NoError(t, err)
		replayed, _ := recording.Replay(t.Context(), e, tape)
		if c.omitted == 0 {
			require.NoError(t, replayed.Err)
			continue
		}
		require.ErrorContains(t, replayed.Err, "the recording does not have the body of this response, which has 16777217 bytes")
		require.ErrorContains(t, replayed.Err, "stopwhen those of up to 16.8 MB")
	}
}

// Browsers leave out bodies that they no longer have, or that are too large for them. The text is missing, and the size is that
// of the body, or -1.
func TestAPageWhoseBodyIsLeftOutIsNotReplayedAsAnEmptyPage(t *testing.T) {
	pages := map[string][]string{
		"csv": {"id\n1\n2\n", "id\n3\n4\n", "id\n"}, "ndjson": {"{\"id\": 1}\n{\"id\": 2}\n", "{\"id\": 3}\n", ""},
		"json": {`[{"id": 1}]`, `[{"id": 2}]`, `[]`}, "xml": {"<r><i>1</i></r>", "<r><i>2</i></r>", "<r></r>"},
	}
	for _, c := range []struct{ name, second, err string }{
		{"the text is missing", `{"size": 13}`, "the recording does not have the body of this response, which has 13 bytes"},
		{"the text is empty", `{"size": 13, "text": ""}`, "the recording does not have the body of this response, which has 13 bytes"},
		{"the size is unknown", `{"size": -1}`, "the recording does not have the body of this response ("},
	} {
		for format, bodies := range pages {
			t.Run(c.name+" in "+format, func(t *testing.T) {
				e, err := engine.Load("c.json", fmt.Appendf(nil, `{"api": {"baseUrl": "http://api.test/", "pagination": {"method": "pagenum"}},
					"config": {"jobs": [{"endpoint": "x", "dataField": %q, "response": {"format": %q}}]}}`,
					map[string]string{"xml": "r.i"}[format], format))
				require.NoError(t, err)
				contents := []string{fmt.Sprintf(`{"text": %q}`, bodies[0]), c.second, fmt.Sprintf(`{"text": %q}`, bodies[2])}
				replayed := replayContents(t, e, http.StatusOK, contents...)
				require.ErrorIs(t, replayed.Err, failure.ErrResponse)
				require.ErrorContains(t, replayed.Err, "page 2: ")
				require.ErrorContains(t, replayed.Err, c.err)
				require.Len(t, replayed.Requests, 2, "the request is not repeated")
				require.Equal(t, 1, replayed.Jobs[0].Pages)
			})
		}
	}
}

// replayContents replays pages whose contents are JSON objects of HAR.
func replayContents(t *testing.T, e *engine.Engine, status int, contents ...string) *recording.Replayed {
	t.Helper()
	var entries []string
	for i, content := range contents {
		entries = append(entries, fmt.Sprintf(`{"request": {"method": "GET", "url": "http://api.test/x?page=%d"},
			"response": {"status": %d, "content": %s}}`, i+1, status, content))
	}
	tape, err := recording.Read(strings.NewReader(`{"log": {"entries": [` + strings.Join(entries, ",") + `]}}`))
	require.NoError(t, err)
	replayed, _ := recording.Replay(t.Context(), e, tape)
	return replayed
}

// The body of a redirect or of an error is seldom in a HAR file, and its status says what it is. A response with status 204
// has no body, and browsers do not know its size.
func TestAResponseThatNeedsNoBodyIsReplayedWithoutIt(t *testing.T) {
	e, err := engine.Load("c.json", []byte(`{"api": {"baseUrl": "http://api.test/", "pagination": {"method": "pagenum"}},
		"config": {"jobs": [{"endpoint": "x"}]}}`))
	require.NoError(t, err)
	for _, c := range []struct {
		status int
		want   string
	}{
		{http.StatusNoContent, ""}, {http.StatusNotFound, "status 404"}, {http.StatusFound, "status 302"},
	} {
		replayed := replayContents(t, e, c.status, `{"size": -1}`)
		if c.want == "" {
			require.NoError(t, replayed.Err)
			continue
		}
		require.ErrorContains(t, replayed.Err, c.want)
	}
}

func TestAnArchiveOfTooManyExchangesIsRefused(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs a single goroutine")
	_, err := recording.Read(strings.NewReader(`{"log": {"entries": [` + strings.Repeat("{},", 200_000) + `{}]}}`))
	require.ErrorContains(t, err, "more than 200000 exchanges")
}

// TestAContinuedRecordingIsOneList: a run that failed with pages in flight has recorded a failure
// and a page that the run that resumes it requests again.
func TestAContinuedRecordingIsOneList(t *testing.T) {
	var file bytes.Buffer
	record := func(recorded int, exchanges ...string) {
		status := http.StatusOK
		r := recording.NewRecorder(&file, recording.Options{Recorded: recorded, Transport: transport(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: status, Body: io.NopCloser(strings.NewReader("[]"))}, nil
		})})
		for _, address := range exchanges {
			name, failed := strings.CutPrefix(address, "403 ")
			status = http.StatusOK
			if failed {
				status = http.StatusForbidden
			}
			req, err := http.NewRequest(http.MethodGet, "http://api.test/"+name, nil)
			require.NoError(t, err)
			resp, err := r.RoundTrip(req)
			require.NoError(t, err)
			_, err = io.ReadAll(resp.Body)
			require.NoError(t, err)
		}
		require.Equal(t, recorded+len(exchanges), r.Len())
		if recorded > 0 {
			require.NoError(t, r.Close())
		}
	}
	record(0, "1", "403 3", "403 4", "2")
	record(4, "3", "403 4", "4")
	tape, err := recording.Read(&file)
	require.NoError(t, err)
	require.False(t, tape.Truncated)
	require.Len(t, tape.Exchanges, 7)
	require.True(t, tape.Exchanges[4].Resumed)

	player := tape.NewPlayer(nil)
	for _, want := range []string{"200 1", "200 2", "200 3", "403 4", "200 4"} { // the second attempt for page 4 follows the first one
		status, name, _ := strings.Cut(want, " ")
		req, err := http.NewRequest(http.MethodGet, "http://api.test/"+name, nil)
		require.NoError(t, err)
		resp, err := player.RoundTrip(req)
		require.NoError(t, err)
		require.Equal(t, status, strconv.Itoa(resp.StatusCode), want)
	}
	require.Empty(t, player.Played().Unplayed)
}
