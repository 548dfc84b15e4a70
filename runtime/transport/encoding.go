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
