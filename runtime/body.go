package runtime

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"
)

// watchdog cancels an exchange that does not get on: headers that never come,
// a body of which nothing more arrives, a response that takes too long.
type watchdog struct {
	cancel context.CancelCauseFunc
	idle   *time.Timer
	page   *time.Timer
	limit  time.Duration
	ctx    context.Context
}

func newWatchdog(parent context.Context, o ClientOptions) (context.Context, *watchdog) {
	ctx, cancel := context.WithCancelCause(parent)
	w := &watchdog{cancel: cancel, limit: o.IdleTimeout, ctx: ctx}
	w.idle = time.AfterFunc(o.HeaderTimeout, func() { cancel(stalled("no response within " + o.HeaderTimeout.String())) })
	w.page = time.AfterFunc(o.PageTimeout, func() { cancel(stalled("the response is not complete after " + o.PageTimeout.String())) })
	return ctx, w
}

// stalled is a passing fault.
func stalled(message string) error {
	return &Error{Class: ClassTransient, Op: "request", Message: message}
}

// progress is called for every piece of a body.
func (w *watchdog) progress() { w.idle.Reset(w.limit) }

// reading changes from waiting for headers to waiting for pieces of the body.
func (w *watchdog) reading() {
	w.idle.Stop()
	w.idle = time.AfterFunc(w.limit, func() { w.cancel(stalled("nothing more of the body within " + w.limit.String())) })
}

func (w *watchdog) stop() {
	w.idle.Stop()
	w.page.Stop()
	w.cancel(nil)
}

// cause is why an exchange was cancelled, if it was, in the place of the error
// that this brought about.
func (w *watchdog) cause(err error) error {
	if known := (*Error)(nil); errors.As(context.Cause(w.ctx), &known) {
		return known
	}
	return err
}

// body reads a response to its end: framing, decompression and length checked.
func (c *Client) body(r *http.Response, watch *watchdog) ([]byte, error) {
	watch.reading()
	if encoding := r.Header.Get("Content-Encoding"); encoding != "" && encoding != "identity" && !r.Uncompressed {
		return nil, &Error{Class: ClassResponse, Op: "request", Method: r.Request.Method, URL: c.show(r.Request.URL.String()), Status: r.StatusCode, Message: fmt.Sprintf("content encoding %s, want gzip or none", encoding)}
	}
	max := c.options.MaxBody
	size := r.ContentLength
	if size < 0 || size > max {
		size = 16 << 10
	}
	body := make([]byte, 0, size+1)
	reader := &io.LimitedReader{R: r.Body, N: max + 1}
	for {
		if len(body) == cap(body) {
			body = append(body, 0)[:len(body)]
		}
		n, err := reader.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		if n > 0 {
			watch.progress()
		}
		if int64(len(body)) > max {
			return nil, &Error{Class: ClassPolicy, Op: "request", Method: r.Request.Method, URL: c.show(r.Request.URL.String()), Status: r.StatusCode,
				Message: fmt.Sprintf("a response of more than %d bytes, decompressed", max), Hint: "raise api.http.maxBodyBytes, or ask for smaller pages"}
		}
		switch {
		case errors.Is(err, io.EOF):
			return body, nil
		case errors.Is(err, gzip.ErrHeader), errors.Is(err, gzip.ErrChecksum):
			return nil, &Error{Class: ClassResponse, Op: "request", Method: r.Request.Method, URL: c.show(r.Request.URL.String()), Status: r.StatusCode, Message: "the response says that it is compressed, but is not gzip"}
		case err != nil:
			return nil, watch.cause(&Error{Class: ClassTransient, Op: "request", Method: r.Request.Method, URL: c.show(r.Request.URL.String()), Status: r.StatusCode,
				Message: fmt.Sprintf("the response broke off after %d bytes: %v", len(body), bare(err)), Err: err})
		}
	}
}

// charsetFault names a charset that is not UTF-8.
func charsetFault(r *Response) string {
	_, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	charset := strings.ToLower(params["charset"])
	if err != nil || charset == "" || charset == "utf-8" || charset == "utf8" || charset == "us-ascii" {
		return ""
	}
	return fmt.Sprintf("charset %s, want utf-8", charset)
}
