package transport

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/klauspost/compress/gzip"

	"github.com/stopwhen/stopwhen/runtime/failure"
	"github.com/stopwhen/stopwhen/runtime/spool"
)

// readBody reads the body of a response into the call's buffer. It checks framing, compression and
// size, and returns the body complete or not at all. It calls arrived with the size of the body
// when all bytes have arrived.
func (c *Client) readBody(call Call, r *http.Response, watch *watchdog, arrived func(bytes int)) ([]byte, *spool.Mapping, error) {
	watch.progress()
	limit := c.options.MaxBody
	call.Into.ReadBy(call.Reader)
	call.Into.Reset(min(r.ContentLength, limit))
	body := r.Body
	if compressed, ok := body.(*decompressed); ok {
		compressed.readAhead(watch, arrived)
	} else {
		body = &bodySource{ReadCloser: body, watch: watch, arrived: arrived}
	}
	reader := unpacked(&io.LimitedReader{R: body, N: limit + 1}, limit)
	err := c.unknownEncoding(call, r)
	for {
		if err == nil {
			_, err = call.Into.ReadPiece(reader)
		}
		if call.Into.Len() > limit {
			return nil, nil, c.fault(call, failure.Error{
				Class: failure.Policy, Status: r.StatusCode, Message: fmt.Sprintf("the response has more than %d bytes, decompressed", limit),
				Hint: cmp.Or(c.options.TooLargeHint, hintTooLarge),
			})
		}
		switch {
		case errors.Is(err, io.EOF):
			return call.Into.Body()
		case err != nil && isForeign(err) && r.StatusCode >= http.StatusMultipleChoices:
			call.Into.Reset(0) // the status is sufficient, as from a proxy that does not know the encoding
			return call.Into.Body()
		case err != nil:
			return nil, nil, watch.cause(c.bodyError(call, r, err))
		}
	}
}

// unpacked decompresses a body that is a gzip or zstd file, up to one byte more than limit. It
// returns any other body unchanged. No text begins like such a file.
func unpacked(body io.Reader, limit int64) io.Reader {
	peeked := bufio.NewReaderSize(body, 16) // larger reads bypass its buffer
	for _, e := range allEncodings {
		if head, _ := peeked.Peek(len(e.magic)); string(head) == e.magic {
			content := e.decompress(io.NopCloser(peeked))
			content.isFile = true
			return &io.LimitedReader{R: content, N: limit + 1}
		}
	}
	return peeked
}

// bodyError returns the error for a body that cannot be read to its end.
func (c *Client) bodyError(call Call, r *http.Response, err error) error {
	if known, ok := errors.AsType[*failure.Error](err); ok { // the error of the buffer, or of the encoding's name
		return known
	}
	if e, ok := errors.AsType[*encodingError](err); ok {
		return c.encodingFault(call, r, e)
	}
	if errors.Is(err, gzip.ErrHeader) || errors.Is(err, gzip.ErrChecksum) { // from a transport that decompresses itself
		return c.encodingFault(call, r, &encodingError{encoding: "gzip", begun: call.Into.Len() > 0, err: err})
	}
	message := fmt.Sprintf("the response was cut off after %d bytes: %v", call.Into.Len(), withoutURL(err))
	return c.fault(call, failure.Error{Class: failure.Transient, Status: r.StatusCode, Message: message, Err: err})
}

// EndsWithConnection reports whether only the end of the connection marks the end of a body, as in
// HTTP/1.0. Then a truncated body looks complete.
//
// The length of a decompressed body is always unknown. If the connection was closed after it, and
// no length marked the end of the compressed body, it may have been truncated between two members
// or frames.
func EndsWithConnection(r *http.Response) bool {
	return r.ProtoMajor == 1 && r.ContentLength < 0 && len(r.TransferEncoding) == 0 && (!r.Uncompressed || r.Close)
}

// cutOff reports whether a body begins a list or an object and does not end it.
func cutOff(body []byte, mapping *spool.Mapping) bool {
	if head := bytes.TrimLeft(body[:min(len(body), 1<<10)], " \t\r\n\ufeff"); len(head) == 0 || head[0] != '{' && head[0] != '[' {
		return false
	}
	depth, inText := 0, false
	mapping.Rewind()
	for i := 0; i < len(body); i++ {
		switch c := body[i]; {
		case inText && c == '\\':
			i++
		case c == '"':
			inText = !inText
		case inText:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			depth--
		}
		if i%spool.ResidentBytes == 0 {
			mapping.Pass(i, i)
		}
	}
	return inText || depth > 0
}

// The time limits of an exchange. A configured timeout replaces HeaderTimeout and PageTimeout.
const (
	HeaderTimeout = time.Minute      // until the headers of the response arrive
	IdleTimeout   = time.Minute      // between two pieces of the body
	PageTimeout   = 10 * time.Minute // for the whole response
)

// A watchdog cancels an exchange that makes no progress: the headers do not arrive, the body
// stalls, or the response takes too long.
type watchdog struct {
	ctx     context.Context
	cancel  context.CancelCauseFunc
	timeout time.Duration // the configured timeout; 0 means no timeout
	end     time.Time     // deadline of the response
	next    *time.Timer   // cancels the exchange, unless there is progress
	arrived atomic.Bool   // whether the headers have arrived
}

// newWatchdog returns a watchdog and the context that it cancels. timeout is the configured timeout; 0
// means that no timeout is configured.
func newWatchdog(parent context.Context, timeout time.Duration) (context.Context, *watchdog) {
	w := &watchdog{timeout: timeout, end: time.Now().Add(cmp.Or(timeout, PageTimeout))}
	w.ctx, w.cancel = context.WithCancelCause(parent)
	w.next = time.AfterFunc(cmp.Or(timeout, HeaderTimeout), w.expire)
	return w.ctx, w
}

// progress reports that the headers or a piece of the body have arrived.
func (w *watchdog) progress() {
	w.arrived.Store(true)
	w.next.Reset(min(IdleTimeout, time.Until(w.end)))
}

// expire cancels the exchange, with the reason as its cause.
func (w *watchdog) expire() {
	var message string
	switch late := !time.Now().Before(w.end); {
	case late && w.timeout > 0:
		message = fmt.Sprintf("no complete response within %s (%s)", w.timeout, settingTimeout)
	case late:
		message = "the response is not complete after " + PageTimeout.String()
	case w.arrived.Load():
		message = "no more data of the body within " + IdleTimeout.String()
	default:
		message = "no response within " + HeaderTimeout.String()
	}
	w.cancel(&failure.Error{Class: failure.Transient, Op: failure.OpRequest, Message: message})
}

// stop stops the watchdog.
func (w *watchdog) stop() {
	w.next.Stop()
	w.cancel(nil)
}

// cause returns the reason why the watchdog cancelled the exchange, or err if it did not.
func (w *watchdog) cause(err error) error {
	if known, ok := errors.AsType[*failure.Error](context.Cause(w.ctx)); ok {
		return known
	}
	return err
}
