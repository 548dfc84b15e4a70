package transport

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/stopwhen/stopwhen/runtime/failure"
	"github.com/stopwhen/stopwhen/runtime/spool"
)

// readBody reads the body of a response into the call's buffer. It checks
// framing, compression and size, and returns the body complete or not at all.
func (c *Client) readBody(call Call, r *http.Response, watch *watchdog) ([]byte, *spool.Window, error) {
	watch.reading()
	if encoding := r.Header.Get("Content-Encoding"); encoding != "" && encoding != "identity" && !r.Uncompressed {
		return nil, nil, c.fault(failure.Response, call, r.StatusCode, fmt.Sprintf("content encoding %s, want gzip or none", encoding))
	}
	limit := c.options.MaxBody
	call.Into.Reset(min(r.ContentLength, limit))
	reader, err := unpacked(&io.LimitedReader{R: watched{r.Body, watch}, N: limit + 1}, limit)
	for {
		if err == nil {
			_, err = call.Into.ReadPiece(reader)
		}
		if call.Into.Len() > limit {
			e := c.fault(failure.Policy, call, r.StatusCode, fmt.Sprintf("the response has more than %d bytes, decompressed", limit))
			e.Hint = cmp.Or(c.options.TooLarge, "raise api.http.maxBodyBytes, or request smaller pages")
			return nil, nil, e
		}
		switch {
		case errors.Is(err, io.EOF):
			return call.Into.Body()
		case err != nil:
			return nil, nil, watch.cause(c.bodyError(call, r, err))
		}
	}
}

// watched reports progress to a watchdog.
type watched struct {
	io.Reader
	watch *watchdog
}

// Read implements [io.Reader].
func (w watched) Read(p []byte) (int, error) {
	n, err := w.Reader.Read(p)
	if n > 0 {
		w.watch.progress()
	}
	return n, err
}

// unpacked returns what is in a body that is a gzip file, up to limit bytes and one more,
// and any other body as it is. No text begins like a gzip file.
func unpacked(body io.Reader, limit int64) (io.Reader, error) {
	const magic = "\x1f\x8b"
	peeked := bufio.NewReaderSize(body, 16) // larger reads bypass its buffer
	if head, _ := peeked.Peek(len(magic)); string(head) != magic {
		return peeked, nil
	}
	content, err := gzip.NewReader(peeked)
	return &io.LimitedReader{R: content, N: limit + 1}, err
}

// bodyError returns the error for a body that cannot be read to its end.
func (c *Client) bodyError(call Call, r *http.Response, err error) error {
	switch {
	case errors.Is(err, gzip.ErrHeader) && !r.Uncompressed:
		return c.fault(failure.Response, call, r.StatusCode, "the response begins like a gzip file, but is none")
	case errors.Is(err, gzip.ErrHeader):
		return c.fault(failure.Response, call, r.StatusCode, "the response is marked as gzip, but is not gzip")
	case errors.Is(err, gzip.ErrChecksum):
		return c.fault(failure.Transient, call, r.StatusCode, "the response was damaged on its way: its gzip checksum does not match")
	case errors.As(err, new(*failure.Error)): // of the buffer
		return err
	}
	message := fmt.Sprintf("the response was cut off after %d bytes: %v", call.Into.Len(), withoutURL(err))
	e := c.fault(failure.Transient, call, r.StatusCode, message)
	e.Err = err
	return e
}

// endsWithConnection reports whether only the end of the connection marks the end of a
// body, as in HTTP/1.0: then a body that is cut off looks complete.
func endsWithConnection(r *http.Response) bool {
	return r.ProtoMajor == 1 && r.ContentLength < 0 && len(r.TransferEncoding) == 0 && !r.Uncompressed
}

// cutOff reports whether a body begins a list or an object that it does not end.
func cutOff(body []byte, window *spool.Window) bool {
	if head := bytes.TrimLeft(body[:min(len(body), 1<<10)], " \t\r\n\ufeff"); len(head) == 0 || head[0] != '{' && head[0] != '[' {
		return false
	}
	depth, inText := 0, false
	window.Rewind()
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
		if i%spool.WindowBytes == 0 {
			window.Pass(i, i)
		}
	}
	return inText || depth > 0
}
