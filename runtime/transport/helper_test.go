package transport

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/runtime/failure"
)

// A testClock advances only when somebody sleeps, and records the waits.
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

// clientFor returns a client whose origin is address, and its clock.
func clientFor(t *testing.T, address string, change ...func(*Options)) (*Client, *testClock) {
	t.Helper()
	clock := &testClock{now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	origin, err := url.Parse(address)
	require.NoError(t, err)
	options := Options{Clock: clock, Origin: origin, UserAgent: "test", Retry: RetryPolicy{
		MaxAttempts: 5, Header: "Retry-After", Statuses: []int{408, 425, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529},
	}}
	for _, f := range change {
		f(&options)
	}
	c := New(options)
	t.Cleanup(c.Close)
	return c, clock
}

// get requests an address. Its errors are of the type that Do promises.
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

// serve serves one answer after another, and the last again and again. It counts
// the requests.
func serve(t *testing.T, answers ...http.HandlerFunc) (*httptest.Server, *atomic.Int64) {
	var n atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		i := min(int(n.Add(1)), len(answers))
		answers[i-1](w, r)
	}))
	t.Cleanup(s.Close)
	return s, &n
}

// status answers with a status, headers and a body that names the status.
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

// serveRaw serves bytes as they are, one answer per connection, and the last
// again and again. It counts the connections.
func serveRaw(t *testing.T, answers ...string) (string, *atomic.Int64) {
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
			answer := answers[min(int(n.Add(1)), len(answers))-1]
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

func zipped(text string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = io.WriteString(w, text)
	_ = w.Close()
	return b.String()
}

// A roundTrip is a transport that answers without a network.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
