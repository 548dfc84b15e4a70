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

// acceptedEncodings is the value of Accept-Encoding, in the order of preference.
const acceptedEncodings = "zstd, gzip"

// maxEncodings limits how often a body may be compressed, one time over another.
const maxEncodings = 3

// Negotiated returns a transport that requests zstd or gzip of next and decompresses the
// responses, as [Decompressed] does. A request that has a header Accept-Encoding is sent with
// that header, and one for a range of bytes without any.
func Negotiated(next http.RoundTripper) http.RoundTripper {
	return &decompressing{next: next, accept: acceptedEncodings}
}

// Decompressed returns a transport that decompresses the responses of next: those whose
// Content-Encoding is gzip, zstd, or a sequence of these. As with net/http, Uncompressed is
// then set, the length is unknown, and the headers that describe the compressed body are
// removed. All other responses are as next returns them. It requests nothing by itself, so
// that it can be put around any transport.
//
// Reading a body returns an error if its content is not what the headers say, is damaged, or
// ends early, and at the latest after its last byte.
func Decompressed(next http.RoundTripper) http.RoundTripper { return decompressingOf(next) }

func decompressingOf(next http.RoundTripper) *decompressing {
	if t, ok := next.(*decompressing); ok {
		return t
	}
	return &decompressing{next: next}
}

// decompressing is a transport that decompresses responses.
type decompressing struct {
	next   http.RoundTripper
	accept string // Accept-Encoding of requests that have none; "" adds none
}

// RoundTrip sends a request.
func (t *decompressing) RoundTrip(r *http.Request) (*http.Response, error) {
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
	for _, e := range slices.Backward(encodings) { // the last one was applied last
		response.Body = e.decompress(response.Body)
	}
	response.Header.Del("Content-Encoding")
	response.Header.Del("Content-Length")
	response.ContentLength, response.Uncompressed = -1, true
	return response, nil
}

// negotiates reports whether a request needs the header Accept-Encoding.
func (t *decompressing) negotiates(r *http.Request) bool {
	return t.accept != "" && r.Method != http.MethodHead && r.Header.Get("Range") == "" && len(r.Header.Values("Accept-Encoding")) == 0
}

// negotiated returns a request with the header Accept-Encoding, if it needs one.
func (t *decompressing) negotiated(r *http.Request) *http.Request {
	if !t.negotiates(r) {
		return r
	}
	changed := *r
	changed.Header = maps.Clone(r.Header)
	t.negotiate(&changed)
	return &changed
}

// negotiate adds the header Accept-Encoding to a request, if it needs one.
func (t *decompressing) negotiate(r *http.Request) {
	if t.negotiates(r) {
		r.Header["Accept-Encoding"] = []string{t.accept}
	}
}

// CloseIdleConnections closes the connections that are not in use.
func (t *decompressing) CloseIdleConnections() {
	if c, ok := t.next.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// hasBody reports whether the response to a request has a body, which may be empty.
func hasBody(method string, r *http.Response) bool {
	without := method == http.MethodHead || r.StatusCode == http.StatusNoContent || r.StatusCode == http.StatusNotModified
	return !without && r.ContentLength != 0 && r.Body != nil
}

// encodingsOf returns the encodings of a body in the order in which they were applied, and
// whether they are known. A body that is plain, or was decompressed already, has none.
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

// An encodingError says why a body cannot be decompressed.
type encodingError struct {
	encoding string
	isFile   bool // no header says that the body is compressed
	begun    bool // something was decompressed
	err      error
}

// Error describes the error.
func (e *encodingError) Error() string { return fmt.Sprintf("%s: %v", e.encoding, e.err) }

// Unwrap returns the error of the decompressor.
func (e *encodingError) Unwrap() error { return e.err }

// is reports whether the error of the decompressor is one of several.
func (e *encodingError) is(targets ...error) bool {
	for _, target := range targets {
		if errors.Is(e.err, target) {
			return true
		}
	}
	return false
}

// errEncoding is the error of a body whose encoding is unknown.
var errEncoding = errors.New("unknown content encoding")

// unknownEncoding returns the error for a body whose encoding is unknown.
func (c *Client) unknownEncoding(call Call, r *http.Response) error {
	if _, known := encodingsOf(r); known || !hasBody(call.Method, r) {
		return nil
	}
	names := strings.Join(r.Header.Values("Content-Encoding"), ", ")
	e := c.fault(failure.Response, call, r.StatusCode, fmt.Sprintf("content encoding %s, want gzip, zstd or none", names))
	e.Err = errEncoding
	if slices.ContainsFunc(slices.Collect(maps.Keys(call.Header)), isAcceptEncoding) {
		e.Hint = "the configuration has a header Accept-Encoding: remove it, so that only gzip and zstd are requested"
	}
	return e
}

// isAcceptEncoding reports whether a header, as it was written, is Accept-Encoding.
func isAcceptEncoding(name string) bool { return strings.EqualFold(name, "Accept-Encoding") }

// isForeign reports whether a body cannot be read because of its encoding, whose bytes are
// not damaged.
func isForeign(err error) bool {
	e, ok := errors.AsType[*encodingError](err)
	return errors.Is(err, errEncoding) || errors.Is(err, gzip.ErrHeader) || ok && e.isForeign()
}

func (e *encodingError) isForeign() bool {
	return e.is(gzip.ErrHeader, zstd.ErrMagicMismatch, zstd.ErrWindowSizeExceeded, zstd.ErrDecoderSizeExceeded, zstd.ErrUnknownDictionary)
}

// encodingFault returns the error for a body that cannot be decompressed.
func (c *Client) encodingFault(call Call, r *http.Response, e *encodingError) *failure.Error {
	out := c.fault(failure.Response, call, r.StatusCode, "")
	out.Err = e
	const hint = "set the header Accept-Encoding to gzip"
	switch {
	case e.is(zstd.ErrWindowSizeExceeded, zstd.ErrDecoderSizeExceeded):
		out.Message = fmt.Sprintf("the response is compressed by zstd with a window of more than %d MiB", maxWindow>>20)
		out.Hint = hint
	case e.is(zstd.ErrUnknownDictionary):
		out.Message, out.Hint = "the response is compressed by zstd with a dictionary", hint
	case e.isForeign() && e.begun:
		out.Message = fmt.Sprintf("the response has other bytes after the end of its %s content", e.encoding)
	case e.isForeign() && e.isFile:
		out.Message = fmt.Sprintf("the response begins like a %s file, but is none", e.encoding)
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
