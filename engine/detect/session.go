package detect

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/runtime/failure"
)

// An exchange is a request and its response, which are complete.
type exchange struct {
	method  string
	address *url.URL
	sent    []byte

	status int
	header http.Header
	body   []byte // as it was sent
}

// data returns the body, decompressed.
func (x *exchange) data() ([]byte, error) {
	if !bytes.HasPrefix(x.body, []byte{0x1f, 0x8b}) {
		return x.body, nil
	}
	r, err := gzip.NewReader(bytes.NewReader(x.body))
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(r, maxBytes+1))
	if err == nil && len(data) > maxBytes {
		err = errTooLarge
	}
	return data, err
}

var errTooLarge = &failure.Error{Class: failure.Policy, Message: "the page has more than 32 MiB", Hint: "ask for a smaller page"}

// A session is the transport of all runs. It makes a request only if it does not know
// the response yet, and only as long as there are requests left.
type session struct {
	base   http.RoundTripper
	left   int // requests that may still be made
	made   int
	known  []*exchange
	buster string // parameter that only defeats caches, so that it is not compared; empty: none

	starts   bool            // the next request begins a run, so it is that for the first page
	extra    map[string]bool // parameters that it may have besides those of the address
	differs  bool            // it was another one
	refused  bool            // a request was not made, since there is none left
	last     *exchange       // the latest one that was served
	requests []string        // of the current run
	served   map[*exchange]bool
}

// begin starts a run, whose first request may have additional parameters.
func (s *session) begin(extra ...string) {
	s.starts, s.extra, s.differs, s.refused, s.last, s.requests = true, map[string]bool{}, false, false, nil, nil
	s.served = map[*exchange]bool{}
	for _, name := range append(extra, s.buster) {
		s.extra[name] = true
	}
}

// RoundTrip implements [http.RoundTripper].
func (s *session) RoundTrip(r *http.Request) (*http.Response, error) {
	var sent []byte
	if r.Body != nil {
		var err error
		if sent, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
	}
	starts := s.starts
	s.starts = false
	s.requests = append(s.requests, r.Method+" "+r.URL.String())
	if starts && len(s.known) > 0 {
		if !s.covers(s.known[0], r, sent) {
			s.differs = true
			return nil, &failure.Error{Class: failure.Internal, Message: "the first request is another one"}
		}
		return s.serve(s.known[0], r), nil
	}
	// A request that is repeated in a run may bring another response: a token may stand
	// for a position that moves.
	if i := slices.IndexFunc(s.known, func(x *exchange) bool { return !s.served[x] && s.same(x, r, sent) }); i >= 0 {
		return s.serve(s.known[i], r), nil
	}
	if s.left == 0 {
		s.refused = true
		return nil, &failure.Error{Class: failure.Internal, Message: "no request is left"}
	}
	return s.send(r, sent)
}

// send makes a request and remembers its response.
func (s *session) send(r *http.Request, sent []byte) (*http.Response, error) {
	s.left, s.made = s.left-1, s.made+1
	if sent != nil {
		r = r.Clone(r.Context())
		r.Body = io.NopCloser(bytes.NewReader(sent))
	}
	response, err := s.base.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxBytes+1))
	switch {
	case err != nil:
		return nil, err
	case len(body) > maxBytes:
		return nil, errTooLarge
	}
	address := *r.URL
	x := &exchange{method: r.Method, address: &address, sent: sent, status: response.StatusCode, header: response.Header.Clone(), body: body}
	if response.Uncompressed {
		x.header.Del("Content-Encoding")
	}
	s.known = append(s.known, x)
	return s.serve(x, r), nil
}

// serve answers a request with a response that is known.
func (s *session) serve(x *exchange, r *http.Request) *http.Response {
	s.last, s.served[x] = x, true
	header := x.header.Clone()
	if header == nil {
		header = http.Header{}
	}
	return &http.Response{
		Status: fmt.Sprintf("%d %s", x.status, http.StatusText(x.status)), StatusCode: x.status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: header, Request: r,
		Body: io.NopCloser(bytes.NewReader(x.body)), ContentLength: int64(len(x.body)),
	}
}

// same reports whether a request is that of an exchange, whatever the order of its
// parameters.
func (s *session) same(x *exchange, r *http.Request, sent []byte) bool {
	ignored := map[string]bool{s.buster: true}
	return x.method == r.Method && x.address.Scheme == r.URL.Scheme && x.address.Host == r.URL.Host &&
		pathOf(x.address) == pathOf(r.URL) && sameMembers(x.address.Query(), r.URL.Query(), ignored) && sameBody(x.sent, sent, nil)
}

func pathOf(u *url.URL) string {
	if path := u.EscapedPath(); path != "" {
		return path
	}
	return "/"
}

// samePath reports whether two addresses have the same path, in which colons may be
// escaped: the values of inputs are.
func samePath(a, b *url.URL) bool {
	escaped := func(u *url.URL) string { return strings.ReplaceAll(pathOf(u), ":", "%3A") }
	return escaped(a) == escaped(b)
}

// covers reports whether a request is that of the first exchange, with no other
// parameters than those that are allowed.
func (s *session) covers(x *exchange, r *http.Request, sent []byte) bool {
	return x.method == r.Method && x.address.Host == r.URL.Host && pathOf(x.address) == pathOf(r.URL) &&
		sameMembers(x.address.Query(), r.URL.Query(), s.extra) && sameBody(x.sent, sent, s.extra)
}

// sameMembers compares parameters. The second ones may have extra ones, or other values
// for these.
func sameMembers(a, b url.Values, extra map[string]bool) bool {
	a, b = maps.Clone(a), maps.Clone(b)
	for name := range extra {
		delete(a, name)
		delete(b, name)
	}
	return maps.EqualFunc(a, b, slices.Equal)
}

// sameBody compares bodies by their members: those of JSON by their paths.
func sameBody(a, b []byte, extra map[string]bool) bool {
	if bytes.Equal(a, b) {
		return true
	}
	return sameMembers(members(a), members(b), extra)
}

// members returns the members of a body as parameters.
func members(body []byte) url.Values {
	values := url.Values{}
	v, err := parseJSON(body)
	if err != nil {
		values, _ = url.ParseQuery(string(body))
		return values
	}
	flatten(v, "", values)
	return values
}

// redirects reports whether the address of the request answers with a redirect.
func (s *session) redirects() bool {
	return len(s.known) > 0 && s.known[0].status/100 == 3
}

// redirected returns the place that the address of the request redirects to.
func (s *session) redirected() (to string, ok bool) {
	if !s.redirects() || s.last == nil {
		return "", false
	}
	return s.last.address.Scheme + "://" + s.last.address.Host + s.last.address.Path, true
}
