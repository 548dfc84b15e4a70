package transport

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

	"github.com/stopwhen/stopwhen/runtime/failure"
	"github.com/stopwhen/stopwhen/runtime/spool"
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

func newWatchdog(parent context.Context, o Options) (context.Context, *watchdog) {
	ctx, cancel := context.WithCancelCause(parent)
	w := &watchdog{cancel: cancel, limit: o.IdleTimeout, ctx: ctx}
	w.idle = time.AfterFunc(o.HeaderTimeout, func() { cancel(stalled("no response within " + o.HeaderTimeout.String())) })
	w.page = time.AfterFunc(o.PageTimeout, func() { cancel(stalled("the response is not complete after " + o.PageTimeout.String())) })
	return ctx, w
}

// stalled is a passing fault.
func stalled(message string) error {
	return &failure.Error{Class: failure.Transient, Op: "request", Message: message}
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
	if known := (*failure.Error)(nil); errors.As(context.Cause(w.ctx), &known) {
		return known
	}
	return err
}

// body reads a response to its end: framing, decompression and length checked.
func (c *Client) body(r *http.Response, watch *watchdog, into *spool.Buffer) ([]byte, *spool.Window, error) {
	watch.reading()
	fault := func(class failure.Class, message string) *failure.Error {
		return &failure.Error{Class: class, Op: "request", Method: r.Request.Method, URL: c.show(r.Request.URL.String()), Status: r.StatusCode, Message: message}
	}
	if encoding := r.Header.Get("Content-Encoding"); encoding != "" && encoding != "identity" && !r.Uncompressed {
		return nil, nil, fault(failure.Response, fmt.Sprintf("content encoding %s, want gzip or none", encoding))
	}
	max := c.options.MaxBody
	into.Reset(min(r.ContentLength, max))
	reader := &io.LimitedReader{R: r.Body, N: max + 1}
	for {
		n, err := into.ReadPiece(reader)
		if n > 0 {
			watch.progress()
		}
		if into.Len() > max {
			e := fault(failure.Policy, fmt.Sprintf("a response of more than %d bytes, decompressed", max))
			e.Hint = "raise api.http.maxBodyBytes, or ask for smaller pages"
			return nil, nil, e
		}
		switch {
		case errors.Is(err, io.EOF):
			return into.Body()
		case errors.Is(err, gzip.ErrHeader), errors.Is(err, gzip.ErrChecksum):
			return nil, nil, fault(failure.Response, "the response says that it is compressed, but is not gzip")
		case errors.As(err, new(*failure.Error)):
			return nil, nil, watch.cause(err)
		case err != nil:
			e := fault(failure.Transient, fmt.Sprintf("the response broke off after %d bytes: %v", into.Len(), bare(err)))
			e.Err = err
			return nil, nil, watch.cause(e)
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
