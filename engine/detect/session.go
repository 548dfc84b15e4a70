package detect

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/stopwhen/stopwhen/engine/recording"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime/failure"
	"github.com/stopwhen/stopwhen/runtime/transport"
)

// An exchange is a request and its response, which are complete. The body of the response is as it
// was sent.
type exchange struct {
	recording.Exchange
	address *url.URL
}

// data returns the body, decompressed.
func (x *exchange) data() ([]byte, error) {
	if !bytes.HasPrefix(x.ResponseBody, []byte{0x1f, 0x8b}) {
		return x.ResponseBody, nil
	}
	r, err := gzip.NewReader(bytes.NewReader(x.ResponseBody))
	if err != nil {
		return nil, err
	}
	return readAll(r)
}

// readAll reads a body that has at most maxBytes.
func readAll(r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxBytes+1))
	if err == nil && len(data) > maxBytes {
		err = &failure.Error{Class: failure.Policy, Message: "the page has more than 32 MiB", Hint: "ask for a smaller page"}
	}
	return data, err
}

// link returns the target of a link in the Link header of the response, or the value of a
// parameter of it. It returns nil if there is no such link or parameter.
func (x *exchange) link(rel string, param ...string) any {
	response := &transport.Response{Header: x.ResponseHeader, URL: x.address.String()}
	return response.Link(rel, param...)
}

// A session is the transport of all runs. It makes a request only if it does not know
// the response yet, and only as long as there are requests left.
type session struct {
	base   http.RoundTripper
	left   int // requests that may still be made
	made   int
	known  []*exchange
	buster string        // parameter that only defeats caches, so that it is not compared; may be empty
	wait   time.Duration // wait that the latest response that limits requests has asked for; 0 if it asked for no wait
	replay               // replay of the current run
}

// A replay describes the requests of one run.
type replay struct {
	extra   []string // parameters of its first request that the address need not have
	started bool
	differs bool      // its first request was not the request for the first page
	refused bool      // whether a request was refused, because the budget is used up
	last    *exchange // latest exchange that was served
	second  *url.URL  // address of the latest request after the first, or nil
	served  map[*exchange]bool
}

// RoundTrip implements [http.RoundTripper].
func (s *session) RoundTrip(r *http.Request) (*http.Response, error) {
	asked := &exchange{recording.Exchange{Method: r.Method}, r.URL}
	if r.Body != nil {
		var err error
		if asked.Body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
	}
	if !s.started {
		s.started = true
		if len(s.known) > 0 {
			if !s.known[0].isFor(asked, append(s.extra, s.buster)...) {
				s.differs = true
				return nil, &failure.Error{Class: failure.Internal, Message: "the first request is another one"}
			}
			return s.serve(s.known[0], r), nil
		}
	} else {
		s.second = r.URL
	}
	// A request that is repeated in a run may bring another response: a token may stand
	// for a position that moves.
	if i := slices.IndexFunc(s.known, func(x *exchange) bool { return !s.served[x] && x.isFor(asked, s.buster) }); i >= 0 {
		return s.serve(s.known[i], r), nil
	}
	if s.left == 0 {
		s.refused = true
		return nil, &failure.Error{Class: failure.Internal, Message: "no request is left"}
	}
	return s.send(r, asked)
}

// limits says which responses tell the session to wait. A longer wait than longestWait is not worth
// the time of the user.
var limits = transport.Options{Retry: transport.RetryPolicy{
	Limited: []int{http.StatusTooManyRequests, http.StatusServiceUnavailable, http.StatusForbidden}, Header: "Retry-After",
}}

const longestWait = 30 * time.Second

// send makes a request and remembers its response. If the response asks for a short wait and there are
// requests left, send waits, and makes the request again.
func (s *session) send(r *http.Request, x *exchange) (*http.Response, error) {
	s.left, s.made = s.left-1, s.made+1
	if x.Body != nil {
		r = r.Clone(r.Context())
		r.Body = io.NopCloser(bytes.NewReader(x.Body))
	}
	response, err := s.base.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	wait, limited := limits.Retry.RequestedWait(response.Header, time.Now())
	limited = limited && limits.Retries(response.StatusCode, response.Header)
	if s.wait = 0; limited {
		s.wait = wait
	}
	if limited && wait <= longestWait && s.left > 0 {
		if err := transport.SystemClock.Sleep(r.Context(), wait); err != nil {
			return nil, err
		}
		return s.send(r, x)
	}
	if x.ResponseBody, err = readAll(response.Body); err != nil {
		return nil, err
	}
	address := *r.URL
	x.address, x.Status, x.ResponseHeader = &address, response.StatusCode, response.Header.Clone()
	if response.Uncompressed {
		x.ResponseHeader.Del("Content-Encoding")
	}
	s.known = append(s.known, x)
	return s.serve(x, r), nil
}

// later says when to try again after a response that limits requests.
func (s *session) later() string {
	if s.wait == 0 {
		return "try again later"
	}
	return "try again after " + s.wait.Round(time.Second).String() + ", for which the API asks"
}

// serve answers a request with a response that is known.
func (s *session) serve(x *exchange, r *http.Request) *http.Response {
	s.last, s.served[x] = x, true
	return transport.NewResponse(r, x.Status, x.ResponseHeader.Clone(), x.ResponseBody)
}

// isFor reports whether the response of an exchange answers a request. The order of parameters and
// the values of ignored parameters may differ.
func (x *exchange) isFor(asked *exchange, ignored ...string) bool {
	return x.Method == asked.Method && transport.OriginOf(x.address) == transport.OriginOf(asked.address) &&
		pathOf(x.address) == pathOf(asked.address) && sameParams(x.address.Query(), asked.address.Query(), ignored) &&
		(bytes.Equal(x.Body, asked.Body) || sameParams(bodyParams(x.Body), bodyParams(asked.Body), ignored))
}

// pathOf returns the path of an address, with plain colons. A request has escaped colons in the values of
// inputs.
func pathOf(u *url.URL) string {
	return cmp.Or(strings.NewReplacer("%3A", ":", "%3a", ":").Replace(u.EscapedPath()), "/")
}

// sameParams compares parameters, except for the ignored ones.
func sameParams(a, b url.Values, ignored []string) bool {
	isIgnored := func(name string, _ []string) bool { return slices.Contains(ignored, name) }
	maps.DeleteFunc(a, isIgnored)
	maps.DeleteFunc(b, isIgnored)
	return maps.EqualFunc(a, b, slices.Equal)
}

// bodyParams returns the parameters of a form, or the members of a JSON value by their paths.
func bodyParams(body []byte) url.Values {
	values, _ := url.ParseQuery(string(body))
	if v, err := parseJSON(body); err == nil {
		values = url.Values{}
		value.Scalars(v, func(keys []string, v any) { values.Add(strings.Join(keys, "."), textOf(v)) })
	}
	return values
}

// redirects reports whether the address of the request answers with a redirect.
func (s *session) redirects() bool { return len(s.known) > 0 && s.known[0].Status/100 == 3 }
