package transport

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/stopwhen/stopwhen/runtime/failure"
)

// AcceptedEncodings is the value of Accept-Encoding, with the preferred encoding first.
const AcceptedEncodings = "zstd, gzip"

// maxEncodings is the largest number of encodings that a body may have, one applied to another.
const maxEncodings = 3

// Negotiated returns a transport that requests zstd or gzip from next, and decompresses the
// responses as [Decompressed] does. It leaves a request with its own Accept-Encoding unchanged, and
// adds no header to a request for a byte range.
func Negotiated(next http.RoundTripper) http.RoundTripper {
	return &decompressingTransport{next: next, accept: AcceptedEncodings}
}

// Decompressed returns a transport that decompresses the responses of next if their
// Content-Encoding is gzip, zstd, or a sequence of these. As with net/http, it then sets
// Uncompressed and an unknown length, and removes the headers that describe the compressed body. It
// returns all other responses unchanged. It requests no encoding itself, so it can wrap any
// transport.
//
// Reading a body returns an error if the content does not match the headers, is damaged, or ends
// early, also before its first byte if the status is one of success. The error comes after the last
// byte at the latest.
func Decompressed(next http.RoundTripper) http.RoundTripper { return decompressingOf(next) }

func decompressingOf(next http.RoundTripper) *decompressingTransport {
	if t, ok := next.(*decompressingTransport); ok {
		return t
	}
	return &decompressingTransport{next: next}
}

// A decompressingTransport decompresses responses.
type decompressingTransport struct {
	next   http.RoundTripper
	accept string // Accept-Encoding for requests without one; "" means no header
}

// RoundTrip implements [http.RoundTripper].
func (t *decompressingTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := t.next.RoundTrip(t.negotiated(r))
	if err != nil || response == nil || !hasBody(r.Method, response) {
		return response, err
	}
	if response.Request != nil {
		response.Request = r
	}
	encodings, known := encodingsOf(response)
	if len(encodings) == 0 || !known {
		return response, nil
	}
	isSufficient := response.StatusCode >= http.StatusMultipleChoices // without a body
	isUnframed := EndsWithConnection(response)
	for _, e := range slices.Backward(encodings) { // the last encoding was applied last
		content := e.decompress(response.Body)
		content.mayBeNothing = isSufficient || e.omitsEmpty && !isUnframed
		response.Body = content
	}
	response.Close = response.Close && response.ContentLength < 0 // otherwise, the length marks the end: see EndsWithConnection
	response.Header.Del("Content-Encoding")
	response.Header.Del("Content-Length")
	response.ContentLength, response.Uncompressed = -1, true
	return response, nil
}

// negotiates reports whether a request needs the header Accept-Encoding.
func (t *decompressingTransport) negotiates(r *http.Request) bool {
	return t.accept != "" && r.Method != http.MethodHead && r.Header.Get("Range") == "" && len(r.Header.Values("Accept-Encoding")) == 0
}

// negotiated returns a request with the header Accept-Encoding, if it needs one.
func (t *decompressingTransport) negotiated(r *http.Request) *http.Request {
	if !t.negotiates(r) {
		return r
	}
	changed := *r
	changed.Header = maps.Clone(r.Header)
	t.negotiate(&changed)
	return &changed
}

// negotiate adds the header Accept-Encoding to a request, if it needs one.
func (t *decompressingTransport) negotiate(r *http.Request) {
	if t.negotiates(r) {
		r.Header["Accept-Encoding"] = []string{t.accept}
	}
}

// CloseIdleConnections closes the idle connections of the transport.
func (t *decompressingTransport) CloseIdleConnections() {
	if c, ok := t.next.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// hasBody reports whether the response to a request has a body, even an empty one.
func hasBody(method string, r *http.Response) bool {
	without := method == http.MethodHead || r.StatusCode == http.StatusNoContent || r.StatusCode == http.StatusNotModified
	return !without && r.ContentLength != 0 && r.Body != nil
}

// encodingsOf returns the encodings of a body in the order in which they were applied, and whether
// all are known. A body that is plain or already decompressed
// has no encodings.
func encodingsOf(r *http.Response) (encodings []*encoding, known bool) {
	if r.Uncompressed {
		return nil, true
	}
	for _, value := range r.Header.Values("Content-Encoding") {
		for name := range strings.SplitSeq(value, ",") {
			name = strings.ToLower(strings.TrimSpace(name))
			if name == "" || name == "identity" {
				continue
			}
			i := slices.IndexFunc(allEncodings, func(e *encoding) bool { return slices.Contains(e.names, name) })
			if i < 0 || len(encodings) == maxEncodings {
				return nil, false
			}
			encodings = append(encodings, allEncodings[i])
		}
	}
	return encodings, true
}

// An encodingError says why a body could not be decompressed.
type encodingError struct {
	encoding string
	isFile   bool // whether the body is a compressed file: no header says so
	begun    bool // whether some content was decompressed
	err      error
}

// Error returns the encoding and the error of the decompressor.
func (e *encodingError) Error() string { return fmt.Sprintf("%s: %v", e.encoding, e.err) }

// Unwrap returns the error of the decompressor.
func (e *encodingError) Unwrap() error { return e.err }

// is reports whether the error of the decompressor is one of targets.
func (e *encodingError) is(targets ...error) bool {
	return slices.ContainsFunc(targets, func(target error) bool { return errors.Is(e.err, target) })
}

// errEncoding is the error for a body with an unknown encoding.
var errEncoding = errors.New("unknown content encoding")

// unknownEncoding returns the error for a body with an unknown encoding.
func (c *Client) unknownEncoding(call Call, r *http.Response) error {
	if _, known := encodingsOf(r); known || !hasBody(call.Method, r) {
		return nil
	}
	names := strings.Join(r.Header.Values("Content-Encoding"), ", ")
	e := c.fault(call, failure.Error{
		Class: failure.Response, Status: r.StatusCode, Err: errEncoding,
		Message: fmt.Sprintf("content encoding %s, want gzip, zstd or none", names),
	})
	if slices.ContainsFunc(slices.Collect(maps.Keys(call.Header)), isAcceptEncoding) {
		e.Hint = hintEncoding
	}
	return e
}

// isAcceptEncoding reports whether a header name, in any case, is Accept-Encoding.
func isAcceptEncoding(name string) bool { return strings.EqualFold(name, "Accept-Encoding") }

// isForeign reports whether a body cannot be read because of its encoding, although its bytes are
// intact.
func isForeign(err error) bool {
	e, ok := errors.AsType[*encodingError](err)
	return errors.Is(err, errEncoding) || errors.Is(err, gzip.ErrHeader) || ok && e.isForeign()
}

func (e *encodingError) isForeign() bool {
	return e.is(gzip.ErrHeader, zstd.ErrMagicMismatch, zstd.ErrWindowSizeExceeded, zstd.ErrDecoderSizeExceeded, zstd.ErrUnknownDictionary)
}

// encodingFault returns the error for a body that cannot be decompressed.
func (c *Client) encodingFault(call Call, r *http.Response, e *encodingError) *failure.Error {
	out := c.fault(call, failure.Error{Class: failure.Response, Status: r.StatusCode, Err: e})
	switch {
	case e.is(zstd.ErrWindowSizeExceeded, zstd.ErrDecoderSizeExceeded):
		out.Message = fmt.Sprintf("the response is compressed by zstd with a window of more than %d MiB", maxWindow>>20)
		out.Hint = hintGzipOnly
	case e.is(zstd.ErrUnknownDictionary):
		out.Message, out.Hint = "the response is compressed by zstd with a dictionary", hintGzipOnly
	case e.isForeign() && e.begun:
		out.Message = fmt.Sprintf("the response has other bytes after the end of its %s content", e.encoding)
	case e.isForeign() && e.isFile:
		out.Message = fmt.Sprintf("the response begins like a %s file, but is not one", e.encoding)
	case e.isForeign():
		out.Message = fmt.Sprintf("the response is marked as %s, but is not %s", e.encoding, e.encoding)
	case e.is(gzip.ErrChecksum, zstd.ErrCRCMismatch):
		out.Class = failure.Transient
		out.Message = fmt.Sprintf("the response was damaged on its way: its %s checksum does not match", e.encoding)
	default:
		out.Class = failure.Transient
		out.Message = fmt.Sprintf("the response was damaged on its way: %v", e)
	}
	return out
}
