package stress

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"time"

	"github.com/stopwhen/stopwhen/runtime/failure"
)

// respond answers a request at a time. The error says that the request cannot be read, or that
// the model cannot answer with a page that has all that the rules read.
func (a *api) respond(r *http.Request, now time.Time) (*http.Response, error) {
	q, err := requestOf(r)
	if err != nil {
		return nil, err
	}
	if a.base == "" {
		address := *r.URL
		address.RawQuery = ""
		a.base = address.String()
	}
	reply := a.answer(q)
	body, err := a.body(reply)
	if err != nil {
		return nil, &failure.Error{Class: failure.Internal, Message: err.Error()}
	}
	response := &http.Response{
		StatusCode: reply.status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: a.header(reply), Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)),
	}
	response.Header.Set("Date", now.Format(http.TimeFormat))
	if reply.cut {
		response.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body[:len(body)/2]), failing{}))
	}
	return response, nil
}

// failing is the rest of a body whose connection has ended.
type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// A clock is the time of a run. It advances only where the run waits.
type clock struct{ now time.Time }

// newClock returns a clock whose time is after all times in the lists of the model.
func newClock() clock { return clock{keyStart.AddDate(1, 0, 0)} }

// Now returns the time of the run.
func (c *clock) Now() time.Time { return c.now }

// Jitter returns the bound, so that each run waits the same.
func (c *clock) Jitter(bound time.Duration) time.Duration { return bound }

// Sleep advances the time and returns at once.
func (c *clock) Sleep(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c.now = c.now.Add(max(d, 0))
	return nil
}
