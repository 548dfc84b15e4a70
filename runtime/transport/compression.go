package transport

import (
	"maps"
	"net/http"
	"slices"
	"strings"
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
