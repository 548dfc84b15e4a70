package transport

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/runtime/failure"
)

func TestATruncatedResponseIsRequestedAgain(t *testing.T) {
	const complete = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n[]"
	for _, c := range []struct{ name, truncated string }{
		{"shorter than its length", "HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n[1]"},
		{"chunk cut", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n[1,"},
		{"last chunk missing", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n[1]\r\n"},
		{"reset in the body", "HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n[1<reset>"},
		{"reset before the status", "<reset>"},
		{"closed before the status", ""},
		{"cut where only the connection ends it", "HTTP/1.0 200 OK\r\n\r\n[1, {\"a\": 2}"},
		{"cut in a list of lists", "HTTP/1.0 200 OK\r\n\r\n[[1]"},
		{"cut in a text", "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n [\"a]"},
		{"cut in an escape", "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{\"a\": \"\\\""},
		{"gzip damaged", "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nConnection: close\r\n\r\n" + damaged(zipped("[1, 2, 3]"))},
		{"gzip cut", "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nConnection: close\r\n\r\n" + zipped("[1, 2, 3]")[:15]},
		{"zstd damaged", "HTTP/1.1 200 OK\r\nContent-Encoding: zstd\r\nConnection: close\r\n\r\n" + damaged(zstded("[1, 2, 3]"))},
		{"zstd cut", "HTTP/1.1 200 OK\r\nContent-Encoding: zstd\r\nConnection: close\r\n\r\n" + zstded("[1, 2, 3]")[:15]},
	} {
		t.Run(c.name, func(t *testing.T) {
			address, n := serveRaw(t, c.truncated, complete)
			client, _ := clientFor(t, address)
			r, e := get(t, client, address)
			require.Nil(t, e)
			require.Equal(t, "[]", string(r.Body))
			require.Equal(t, 2, r.Attempts)
			require.EqualValues(t, 2, n.Load())
		})
	}
}

// damaged returns a file with another eighth byte from its end, in the checksum of gzip or
// in the content of zstd.
func damaged(file string) string {
	at := len(file) - 8
	return file[:at] + string(file[at]^1) + file[at+1:]
}

func TestABodyThatEndsWithTheConnectionIsAccepted(t *testing.T) {
	for _, body := range []string{`[1, "]", {"a": "\"["}]`, " {}\n", `"x`, "12", "\ufeff[]"} {
		t.Run(body, func(t *testing.T) {
			address, n := serveRaw(t, "HTTP/1.0 200 OK\r\n\r\n"+body)
			client, _ := clientFor(t, address)
			r, e := get(t, client, address)
			require.Nil(t, e)
			require.Equal(t, body, string(r.Body))
			require.EqualValues(t, 1, n.Load())
		})
	}
}

func TestALargeBodyIsCheckedForItsEndInPieces(t *testing.T) {
	body := "[" + strings.Repeat(`{"a": "[\\"},`, 1<<20)
	address, n := serveRaw(t, "HTTP/1.0 200 OK\r\n\r\n"+body, "HTTP/1.0 200 OK\r\n\r\n"+body+"1]")
	client, _ := clientFor(t, address)
	r, e := get(t, client, address)
	require.Nil(t, e)
	require.Len(t, r.Body, len(body)+2)
	require.EqualValues(t, 2, n.Load())
}

func TestATruncatedLargeResponseIsNotAPage(t *testing.T) {
	body := bytes.Repeat([]byte(`[1,2,3,4]`), 5<<20/9)
	s, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		_, _ = w.Write(body[:len(body)-1])
	})
	c, _ := clientFor(t, s.URL)
	_, err := c.Exchange(t.Context(), Call{Method: "GET", URL: s.URL})
	var e *failure.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, failure.Transient, e.Class)
	require.Contains(t, e.Message, fmt.Sprintf("cut off after %d bytes", len(body)-1))
}

func TestAMislabelledResponseIsRefused(t *testing.T) {
	for _, c := range []struct{ name, header, value, want string }{
		{"other charset", "Content-Type", "application/json; charset=ISO-8859-1", "charset iso-8859-1, want utf-8"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, n := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set(c.header, c.value)
				fmt.Fprint(w, `{"a": 1} and more`)
			})
			client, _ := clientFor(t, s.URL)
			_, e := get(t, client, s.URL)
			require.NotNil(t, e)
			require.Equal(t, failure.Response, e.Class)
			require.Contains(t, e.Message, c.want)
			require.Equal(t, hintCharset, e.Hint)
			require.EqualValues(t, 1, n.Load())
		})
	}
}

// gzipHeader is the header of a body that is compressed.
var gzipHeader = http.Header{"Content-Encoding": {"gzip"}}

func TestAServerThatStallsCannotHangARun(t *testing.T) {
	for _, c := range []struct {
		name    string
		timeout time.Duration // that is configured
		delay   time.Duration // before the headers
		body    *drip
		headers http.Header
		want    string
		took    time.Duration
	}{
		{"no headers", 0, time.Hour, nil, nil, "no response within 1m0s", time.Minute},
		{"a body that stops", 0, 0, &drip{every: time.Hour}, nil, "no more data of the body within 1m0s", time.Minute},
		{"a byte now and then", 0, 0, &drip{every: 50 * time.Second}, nil, "not complete after 10m0s", 10 * time.Minute},
		{"a compressed body that stops", 0, 0, &drip{every: time.Hour}, gzipHeader, "no more data of the body within 1m0s", time.Minute},
		{"a compressed byte now and then", 0, 0, &drip{every: 50 * time.Second}, gzipHeader, "not complete after 10m0s", 10 * time.Minute},
		{"no headers within a long timeout", time.Hour, 2 * time.Hour, nil, nil, "no complete response within 1h0m0s", time.Hour},
		{"a body that stops, and a long timeout", time.Hour, 0, &drip{every: 2 * time.Hour}, nil, "no more data of the body within 1m0s", time.Minute},
		{"a byte now and then, and a timeout", 2 * time.Minute, 0, &drip{every: 50 * time.Second}, nil, "no complete response within 2m0s", 2 * time.Minute},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				origin, _ := url.Parse("http://api.test/")
				answer := func(r *http.Request) (*http.Response, error) {
					select {
					case <-time.After(c.delay):
					case <-r.Context().Done():
						return nil, r.Context().Err()
					}
					c.body.done = r.Context().Done()
					return &http.Response{StatusCode: 200, Header: maps.Clone(c.headers), Body: c.body, ContentLength: -1, Request: r}, nil
				}
				client := New(Options{Origin: origin, Retry: RetryPolicy{MaxAttempts: 1}, Timeout: c.timeout, Transport: roundTrip(answer)})
				began := time.Now()
				_, err := client.Do(t.Context(), Call{Method: "GET", URL: "http://api.test/"}, nil)
				require.ErrorIs(t, err, failure.ErrTransient)
				require.ErrorContains(t, err, c.want)
				require.Equal(t, c.took, time.Since(began))
			})
		})
	}
}

// A drip is a body that sends one byte at a time.
type drip struct {
	every time.Duration
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
