package transport

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/runtime/failure"
)

// testClock stands still and remembers the waits.
type testClock struct {
	mu    sync.Mutex
	now   time.Time
	waits []time.Duration
}

func (c *testClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *testClock) Sleep(ctx context.Context, d time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now, c.waits = c.now.Add(d), append(c.waits, d)
	return ctx.Err()
}

func clientFor(t *testing.T, address string, change ...func(*Options)) (*Client, *testClock) {
	t.Helper()
	clock := &testClock{now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	origin, err := url.Parse(address)
	require.NoError(t, err)
	transport := NewTransport()
	options := Options{Clock: clock, Origin: origin, UserAgent: "test", Transport: transport}
	for _, f := range change {
		f(&options)
	}
	c := New(options)
	t.Cleanup(c.Close)
	return c, clock
}

func get(t *testing.T, c *Client, address string) (*Response, *failure.Error) {
	t.Helper()
	r, err := c.Do(t.Context(), Call{Method: "GET", URL: address}, nil)
	if err == nil {
		return r, nil
	}
	var e *failure.Error
	require.ErrorAs(t, err, &e)
	return r, e
}

// answers serves one answer after another, the last again and again.
func answers(t *testing.T, list ...http.HandlerFunc) (*httptest.Server, *atomic.Int64) {
	var n atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		i := min(int(n.Add(1)), len(list))
		list[i-1](w, r)
	}))
	t.Cleanup(s.Close)
	return s, &n
}

func status(code int, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(code)
		if code >= 200 && code != 204 && code != 304 {
			fmt.Fprintf(w, `{"status": %d}`, code)
		}
	}
}

// raw serves bytes as they are, one connection an answer.
func raw(t *testing.T, list ...string) (string, *atomic.Int64) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	var n atomic.Int64
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			answer := list[min(int(n.Add(1)), len(list))-1]
			go func() {
				defer conn.Close()
				_, _ = http.ReadRequest(bufio.NewReader(conn))
				if rest, reset := strings.CutSuffix(answer, "<reset>"); reset {
					_, _ = io.WriteString(conn, rest)
					_ = conn.(*net.TCPConn).SetLinger(0)
					return
				}
				_, _ = io.WriteString(conn, answer)
			}()
		}
	}()
	return "http://" + listener.Addr().String() + "/", &n
}

const fine = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n[]"

func TestAResponseThatBreaksOffIsAskedForAgainAsAWhole(t *testing.T) {
	for name, broken := range map[string]string{
		"shorter than its length":      "HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n[1]",
		"chunk cut":                    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n[1,",
		"last chunk missing":           "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n[1]\r\n",
		"reset in the body":            "HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n[1<reset>",
		"reset before the status":      "<reset>",
		"closed before the status":     "",
		"gzip that ends in its middle": "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nConnection: close\r\n\r\n" + zipped("[1, 2, 3]")[:15],
	} {
		t.Run(name, func(t *testing.T) {
			address, n := raw(t, broken, fine)
			c, _ := clientFor(t, address)
			r, e := get(t, c, address)
			require.Nil(t, e)
			require.Equal(t, "[]", string(r.Body))
			require.Equal(t, 2, r.Attempts)
			require.EqualValues(t, 2, n.Load())
		})
	}
}

func zipped(text string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = io.WriteString(w, text)
	_ = w.Close()
	return b.String()
}

func TestWhatIsNoHTTPAnswerIsRefused(t *testing.T) {
	address, _ := raw(t, "SSH-2.0-OpenSSH_9.2\r\n")
	c, _ := clientFor(t, address)
	_, e := get(t, c, address)
	require.Equal(t, failure.API, e.Class)
	require.Contains(t, e.Error(), "malformed HTTP")
}

func TestStatuses(t *testing.T) {
	for code, want := range map[int]struct {
		class    failure.Class
		requests int64
	}{
		200: {"", 1}, 201: {"", 1}, 203: {"", 1}, 204: {"", 1},
		202: {failure.Response, 1}, 206: {failure.Response, 1}, 304: {failure.Response, 1},
		400: {failure.API, 1}, 401: {failure.API, 1}, 403: {failure.API, 1}, 404: {failure.API, 1}, 422: {failure.API, 1}, 501: {failure.API, 1}, 505: {failure.API, 1}, 599: {failure.API, 1},
		408: {failure.Transient, 5}, 429: {failure.Transient, 5}, 500: {failure.Transient, 5}, 502: {failure.Transient, 5}, 503: {failure.Transient, 5}, 504: {failure.Transient, 5}, 529: {failure.Transient, 5},
	} {
		s, n := answers(t, status(code))
		c, _ := clientFor(t, s.URL)
		r, e := get(t, c, s.URL)
		require.Equal(t, want.requests, n.Load(), code)
		if want.class == "" {
			require.Nil(t, e, code)
			require.Equal(t, code, r.Status)
			continue
		}
		require.NotNil(t, e, code)
		require.Equal(t, want.class, e.Class, code)
		require.Equal(t, code, e.Status)
		require.ErrorIs(t, e, &failure.Error{Class: want.class})
	}
}

func TestARefusalShowsStatusAddressBodyAndCure(t *testing.T) {
	s, _ := answers(t, status(404, "Content-Type", "application/json"))
	c, _ := clientFor(t, s.URL)
	_, e := get(t, c, s.URL+"/users?page=3")
	require.Equal(t, "GET "+s.URL+`/users?page=3: status 404 Not Found, with application/json beginning "{\"status\": 404}" (is baseUrl with endpoint right? if it is a page beyond the last, stop before it with nextPageFlag, forceStop or stopRules, or let onError stop there)`, e.Error())
}

func TestTheDecisionAboutAnErrorResponseIsFollowed(t *testing.T) {
	s, n := answers(t, status(400), status(200))
	c, _ := clientFor(t, s.URL)
	do := func(d Decision) (*Response, error) {
		n.Store(0)
		return c.Do(t.Context(), Call{Method: "GET", URL: s.URL}, func(*Response) Decision { return d })
	}
	r, err := do(Decision{Action: Accept})
	require.NoError(t, err)
	require.Equal(t, 400, r.Status)
	r, err = do(Decision{Action: Retry})
	require.NoError(t, err)
	require.Equal(t, 200, r.Status)
	_, err = do(Decision{Action: Fail, Message: "no such page"})
	require.ErrorIs(t, err, failure.ErrAPI)
	require.ErrorContains(t, err, "no such page")
}

func TestRetryAfterIsNeverShortened(t *testing.T) {
	for header, want := range map[string]time.Duration{
		"7":                              7 * time.Second,
		" 0 ":                            0,
		"Fri, 02 Jan 2026 03:05:05 GMT":  time.Minute,
		"Friday, 02-Jan-26 03:05:05 GMT": time.Minute,
		"Fri Jan  2 03:05:05 2026":       time.Minute,
		"Thu, 01 Jan 2026 03:05:05 GMT":  0,
	} {
		s, _ := answers(t, status(429, "Retry-After", header, "Date", "Fri, 02 Jan 2026 03:04:05 GMT"), status(200))
		c, clock := clientFor(t, s.URL)
		_, e := get(t, c, s.URL)
		require.Nil(t, e, header)
		require.Equal(t, []time.Duration{want}, clock.waits, header)
	}
}

func TestARetryAfterBeyondTheLimitEndsTheRunAndSaysWhenToComeBack(t *testing.T) {
	for _, header := range []string{"3600", "10000000000", "9223372036854775807", "99999999999999999999"} {
		s, n := answers(t, status(503, "Retry-After", header))
		c, clock := clientFor(t, s.URL)
		_, e := get(t, c, s.URL)
		require.Equal(t, failure.Transient, e.Class, header)
		require.Contains(t, e.Message, "asks to come back")
		require.EqualValues(t, 1, n.Load())
		require.Empty(t, clock.waits)
	}
}

func TestARetryAfterThatIsNoneFallsBackToBackoff(t *testing.T) {
	for _, header := range []string{"-5", "1.5", "soon", ""} {
		s, _ := answers(t, status(429, "Retry-After", header), status(200))
		c, clock := clientFor(t, s.URL)
		_, e := get(t, c, s.URL)
		require.Nil(t, e)
		require.Len(t, clock.waits, 1)
		require.Greater(t, clock.waits[0], time.Duration(0))
		require.LessOrEqual(t, clock.waits[0], time.Second, "the first backoff is at most the base")
	}
}

func FuzzRetryAfter(f *testing.F) {
	for _, seed := range []string{"7", "-1", "Fri, 02 Jan 2026 03:05:05 GMT", "99999999999999999999", "1e3", " 5 "} {
		f.Add(seed)
	}
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	f.Fuzz(func(t *testing.T, header string) {
		wait, ok := retryAfter(header, "", now)
		require.GreaterOrEqual(t, wait, time.Duration(0))
		require.True(t, ok || wait == 0)
	})
}

func TestTheRetryBudgetOfARunEndsAndRefills(t *testing.T) {
	b := newBudget()
	taken := 0
	for b.take() {
		taken++
	}
	require.Equal(t, budgetStart/retryCosts, taken)
	for range retryCosts {
		b.success()
	}
	require.True(t, b.take(), "successes pay for a retry")
	require.False(t, b.take())
}

func TestADeadHostCostsItsAttemptsAndNoMore(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := "http://" + listener.Addr().String()
	require.NoError(t, listener.Close())
	c, clock := clientFor(t, address)
	_, e := get(t, c, address)
	require.Equal(t, failure.Transient, e.Class)
	require.Contains(t, e.Message, "after 5 attempts")
	require.Len(t, clock.waits, 4)
}

func TestACertificateThatIsNotTrustedIsNotRetried(t *testing.T) {
	var n atomic.Int64
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { n.Add(1) }))
	s.Config.ErrorLog = quiet()
	s.StartTLS()
	defer s.Close()
	c, clock := clientFor(t, s.URL)
	_, e := get(t, c, s.URL)
	require.Equal(t, failure.API, e.Class)
	require.Contains(t, e.Error(), "certificate")
	require.Empty(t, clock.waits)
	require.Zero(t, n.Load())
}

func TestAnUnknownHostIsNotRetriedOnTheFirstRequest(t *testing.T) {
	c, clock := clientFor(t, "http://api.test/", func(o *Options) {
		o.Transport = roundTrip(func(*http.Request) (*http.Response, error) {
			return nil, &net.DNSError{Err: "no such host", Name: "api.test", IsNotFound: true}
		})
	})
	_, e := get(t, c, "http://api.test/users")
	require.Equal(t, "GET http://api.test/users: unknown host api.test (check api.baseUrl)", e.Error())
	require.Empty(t, clock.waits)
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestCredentialsGoToTheOriginAlone(t *testing.T) {
	const marker = "SECRET-7f3a"
	var elsewhere bytes.Buffer
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _ = r.Write(&elsewhere); fmt.Fprint(w, "[]") }))
	defer other.Close()
	var here bytes.Buffer
	s, _ := answers(t, func(w http.ResponseWriter, r *http.Request) {
		_ = r.Write(&here)
		http.Redirect(w, r, other.URL+"/next", http.StatusFound)
	})
	for name, allow := range map[string]func(*Options){
		"allowed": func(o *Options) { o.AllowedOrigins = []string{other.URL} },
		"any":     func(o *Options) { o.AnyOrigin = true },
	} {
		c, _ := clientFor(t, s.URL, allow, func(o *Options) {
			o.Auth = BearerAuth(marker)
			o.Auth.Query = [][2]string{{"api_key", marker}}
			o.SecretHeaders = []string{"x-key"}
		})
		r, err := c.Do(t.Context(), Call{Method: "GET", URL: s.URL + "/?a=1", Header: http.Header{"X-Key": {marker}, "Cookie": {marker}}}, nil)
		require.NoError(t, err, name)
		require.Equal(t, other.URL+"/next", r.URL)
		require.Contains(t, here.String(), "Authorization: Bearer "+marker)
		require.Contains(t, here.String(), "GET /?a=1&api_key="+marker)
		require.Contains(t, elsewhere.String(), "GET /next")
		require.NotContains(t, elsewhere.String(), marker)
		require.NotContains(t, elsewhere.String(), "Referer")
	}
}

func TestOtherOriginsAreRefusedBeforeAnyConnection(t *testing.T) {
	var asked atomic.Int64
	c, _ := clientFor(t, "https://api.test/v1/", func(o *Options) {
		o.Transport = roundTrip(func(*http.Request) (*http.Response, error) {
			asked.Add(1)
			return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("[]")), Request: &http.Request{URL: &url.URL{}}}, nil
		})
	})
	for _, address := range []string{
		"http://api.test/v1/", "https://api.test:8443/", "https://evil.test/", "https://api.test.evil.test/", "https://user:pw@api.test/", "https://api.test@evil.test/",
		"file:///etc/passwd", "gopher://api.test/", "javascript:alert(1)", "https:evil", "https:///x", "https://[::1]/", "https://169.254.169.254/",
		"https://api.test/" + strings.Repeat("x", 8<<10),
	} {
		_, e := get(t, c, address)
		require.NotNil(t, e, address)
		require.Equal(t, failure.Policy, e.Class, address)
	}
	require.Zero(t, asked.Load())
	for _, address := range []string{"https://API.test/x", "https://api.test.:443/x"} {
		_, e := get(t, c, address)
		require.Nil(t, e, address)
	}
	require.EqualValues(t, 2, asked.Load())
}

func FuzzOrigin(f *testing.F) {
	for _, seed := range []string{"https://api.test/x", "https://api.test@evil/", "//evil", "https:evil", "HTTPS://API.TEST:443", "https://api.test\\@evil"} {
		f.Add(seed)
	}
	origin, _ := url.Parse("https://api.test/v1/")
	c := New(Options{Origin: origin})
	f.Fuzz(func(t *testing.T, address string) {
		if _, err := c.trust("GET", address); err != nil {
			return
		}
		u, err := url.Parse(address)
		require.NoError(t, err)
		require.Nil(t, u.User)
		require.Equal(t, "https", u.Scheme)
		require.Equal(t, "api.test", strings.TrimSuffix(strings.ToLower(u.Hostname()), "."))
		require.Contains(t, []string{"", "443"}, u.Port())
	})
}

func TestRedirects(t *testing.T) {
	t.Run("a loop ends", func(t *testing.T) {
		s, n := answers(t, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/again", http.StatusTemporaryRedirect)
		})
		c, _ := clientFor(t, s.URL)
		_, e := get(t, c, s.URL)
		require.Equal(t, failure.API, e.Class)
		require.Contains(t, e.Message, "more than 10 redirects")
		require.EqualValues(t, 11, n.Load())
	})
	for code, want := range map[int]string{301: "", 302: "", 303: "GET ", 307: `POST {"a":1}`, 308: `POST {"a":1}`} {
		var got string
		s, _ := answers(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/there", code) },
			func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				got = r.Method + " " + string(body)
				fmt.Fprint(w, "[]")
			})
		c, _ := clientFor(t, s.URL)
		_, err := c.Do(t.Context(), Call{Method: "POST", URL: s.URL, Body: []byte(`{"a":1}`), Header: http.Header{"Content-Type": {"application/json"}}}, nil)
		if want == "" {
			require.ErrorIs(t, err, failure.ErrAPI, code)
			require.ErrorContains(t, err, "without its body")
			continue
		}
		require.NoError(t, err, code)
		require.Equal(t, want, got, code)
	}
}

func TestTheBodyLimitCountsDecompressedBytes(t *testing.T) {
	s, _ := answers(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = io.WriteString(w, zipped(strings.Repeat("a", 1<<20)))
	})
	c, _ := clientFor(t, s.URL, func(o *Options) { o.MaxBody = 1000 })
	_, e := get(t, c, s.URL)
	require.Equal(t, failure.Policy, e.Class)
	require.Contains(t, e.Message, "more than 1000 bytes")
	c, _ = clientFor(t, s.URL, func(o *Options) { o.MaxBody = 1 << 20 })
	r, e := get(t, c, s.URL)
	require.Nil(t, e)
	require.Len(t, r.Body, 1<<20)
}

func TestWhatIsNotWhatItSaysIsUnacceptable(t *testing.T) {
	for name, c := range map[string]struct{ header, value, want string }{
		"plain marked as gzip": {"Content-Encoding", "gzip", "is not gzip"},
		"other encoding":       {"Content-Encoding", "br", "content encoding br"},
		"other charset":        {"Content-Type", "application/json; charset=ISO-8859-1", "charset iso-8859-1, want utf-8"},
	} {
		s, n := answers(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set(c.header, c.value)
			fmt.Fprint(w, `{"a": 1} and more`)
		})
		client, _ := clientFor(t, s.URL)
		_, e := get(t, client, s.URL)
		require.NotNil(t, e, name)
		require.Equal(t, failure.Response, e.Class, name)
		require.Contains(t, e.Message, c.want)
		require.EqualValues(t, 1, n.Load())
	}
}

func TestAServerThatStallsCannotHangARun(t *testing.T) {
	for name, c := range map[string]struct {
		body io.ReadCloser
		wait time.Duration // before the headers
		want string
		took time.Duration
	}{
		"no headers":          {nil, time.Hour, "no response within 1m0s", time.Minute},
		"a body that stops":   {&drip{every: time.Hour, limit: 10}, 0, "nothing more of the body within 1m0s", 0},
		"a byte now and then": {&drip{every: 50 * time.Second, limit: 1 << 20}, 0, "not complete after 10m0s", 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				origin, _ := url.Parse("http://api.test/")
				client := New(Options{Origin: origin, Retry: RetryPolicy{MaxAttempts: 1}, Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
					if c.wait > 0 {
						select {
						case <-time.After(c.wait):
						case <-r.Context().Done():
							return nil, r.Context().Err()
						}
					}
					body := c.body.(*drip)
					body.done = r.Context().Done()
					return &http.Response{StatusCode: 200, Header: http.Header{}, Body: body, ContentLength: -1, Request: r}, nil
				})})
				began := time.Now()
				_, err := client.Do(t.Context(), Call{Method: "GET", URL: "http://api.test/"}, nil)
				require.ErrorIs(t, err, failure.ErrTransient)
				require.ErrorContains(t, err, c.want)
				require.LessOrEqual(t, time.Since(began), 11*time.Minute)
			})
		})
	}
}

// drip gives one byte at a time.
type drip struct {
	every time.Duration
	limit int
	done  <-chan struct{}
}

func (d *drip) Read(p []byte) (int, error) {
	select {
	case <-time.After(d.every):
		p[0] = ' '
		return 1, nil
	case <-d.done:
		return 0, errors.New("cancelled")
	}
}

func (d *drip) Close() error { return nil }

func TestCancellingReturnsAtOnceAlsoInALongWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		origin, _ := url.Parse("http://api.test/")
		client := New(Options{Origin: origin, Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 429, Header: http.Header{"Retry-After": {"600"}}, Body: http.NoBody, Request: r}, nil
		})})
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		began := time.Now()
		_, err := client.Do(ctx, Call{Method: "GET", URL: "http://api.test/"}, nil)
		require.ErrorIs(t, err, failure.ErrCancelled)
		require.ErrorIs(t, err, context.Canceled)
		require.Equal(t, time.Second, time.Since(began))
	})
}

func TestLinkHeader(t *testing.T) {
	r := &Response{URL: "https://api.test/v1/users?page=1", Header: http.Header{"Link": {
		`<https://api.test/v1/users?page=2>; rel="next"; results="true", </v1/users?page=9>; REL=last`,
		`<x;y,z>; title="a, \"b\"; c"; rel="first prev"`,
	}}}
	link := r.Link
	require.Equal(t, "https://api.test/v1/users?page=2", link("next"))
	require.Equal(t, "true", link("next", "results"))
	require.Nil(t, link("next", "nope"))
	require.Equal(t, "https://api.test/v1/users?page=9", link("LAST"))
	require.Equal(t, "https://api.test/v1/x;y,z", link("prev"))
	require.Equal(t, `a, "b"; c`, link("first", "title"))
	require.Nil(t, link("up"))
}

func FuzzLinkHeader(f *testing.F) {
	f.Add(`<a>; rel="next", <b>; rel=prev; x="\"`)
	f.Fuzz(func(t *testing.T, header string) {
		for _, l := range parseLinks(header) {
			require.NotContains(t, l.target, ">")
		}
	})
}

func TestHeadersThatNetHTTPKeepsToItselfAreHeeded(t *testing.T) {
	s, _ := answers(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "identity")
		fmt.Fprintf(w, "%s %s", r.Host, r.Header.Get("Accept-Encoding"))
	})
	c, _ := clientFor(t, s.URL)
	r, err := c.Do(t.Context(), Call{Method: "GET", URL: s.URL, Header: http.Header{"Host": {"virtual.test"}, "Accept-Encoding": {"br"}}}, nil)
	require.NoError(t, err)
	require.Equal(t, "virtual.test gzip", string(r.Body))
}

func TestOneConnectionServesAllRequestsAndGzipIsOffered(t *testing.T) {
	var connections atomic.Int64
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Accept-Encoding") == "gzip" {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = io.WriteString(w, zipped(`{"data": [1]}`))
		}
	}))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	s.Start()
	defer s.Close()
	c, _ := clientFor(t, s.URL)
	for range 5 {
		r, e := get(t, c, s.URL)
		require.Nil(t, e)
		require.Equal(t, `{"data": [1]}`, string(r.Body))
	}
	require.EqualValues(t, 1, connections.Load())
}

func TestWhenThereAreRequestsAgain(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	for header, want := range map[string]time.Duration{
		"0": 0, "30": 30 * time.Second, " 7 ": 7 * time.Second, "999999999": 999999999 * time.Second,
		"1700000060": time.Minute, "1700000060000": time.Minute, "1600000000": 0,
	} {
		got, ok := resetIn(header, now)
		require.True(t, ok, header)
		require.Equal(t, want, got, header)
	}
	for _, header := range []string{"", "soon", "-1", "1.5", "9223372036854775808", "9223372036854775807"} {
		_, ok := resetIn(header, now)
		require.False(t, ok, header)
	}
}

func TestARateLimitThatIsFarAwayIsTold(t *testing.T) {
	api, n := answers(t, status(200, "Content-Type", "application/json", "X-Left", "0", "X-Reset", "36000"))
	c, clock := clientFor(t, api.URL, func(o *Options) {
		o.RateLimit = RateLimit{Remaining: "X-Left", Reset: "X-Reset"}
		o.Retry.MaxAttempts = 1
	})
	_, _ = get(t, c, api.URL)
	before := n.Load()
	_, e := get(t, c, api.URL)
	require.NotNil(t, e)
	require.Equal(t, failure.Transient, e.Class)
	require.Contains(t, e.Message, "no requests are left; by X-Reset there are more in 10h0m0s, at 2026-01-02T13:04:05Z")
	require.Equal(t, before, n.Load(), "it is not asked")
	clock.now = clock.now.Add(10 * time.Hour)
	_, _ = get(t, c, api.URL)
	require.Equal(t, before+1, n.Load())
}

func TestALargeResponseThatBreaksOffIsNotAPage(t *testing.T) {
	body := bytes.Repeat([]byte(`[1,2,3,4]`), 5<<20/9)
	api, _ := answers(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		_, _ = w.Write(body[:len(body)-1])
	})
	c, _ := clientFor(t, api.URL)
	_, err := c.once(t.Context(), Call{Method: "GET", URL: api.URL})
	var fault *failure.Error
	require.ErrorAs(t, err, &fault)
	require.Equal(t, failure.Transient, fault.Class)
	require.Contains(t, fault.Message, fmt.Sprintf("broke off after %d bytes", len(body)-1))
}
