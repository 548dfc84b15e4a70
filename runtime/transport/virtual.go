package transport

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"time"
)

// A VirtualClock is the clock of a run that reaches no network. Its time advances only where
// the run waits, and waits before retries are the same in every run. It is not safe for
// concurrent use.
type VirtualClock struct{ Time time.Time }

// Now returns the time of the run.
func (c *VirtualClock) Now() time.Time { return c.Time }

// Jitter returns the bound.
func (c *VirtualClock) Jitter(bound time.Duration) time.Duration { return bound }

// Sleep advances the time and returns at once. If the context is done, it returns the error of
// the context and leaves the time as it is.
func (c *VirtualClock) Sleep(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c.Time = c.Time.Add(max(d, 0))
	return nil
}

// NewResponse returns the response of an API in this process.
func NewResponse(r *http.Request, status int, header http.Header, body []byte) *http.Response {
	return &http.Response{
		StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: header, Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)),
	}
}
