package configtest

import (
	"cmp"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime/failure"
	"github.com/stopwhen/stopwhen/runtime/transport"
)

// A script is the transport and the clock of a test: it answers with the test's
// pages in order, and reaches no network.
type script struct {
	answers                []rules.Answer
	format                 string // of the responses of the job
	origin                 *url.URL
	redact                 func(string) string
	transport.VirtualClock // the delays of pages advance it, too

	requests []string // in order, without credentials
	beyond   string   // the first request after the last page; "" if there is none
}

// scriptStart is the time at which every test begins.
var scriptStart = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

// RoundTrip answers with the next page.
func (s *script) RoundTrip(r *http.Request) (*http.Response, error) {
	request, err := s.describe(r)
	if err != nil {
		return nil, err
	}
	if len(s.requests) >= len(s.answers) {
		s.beyond = request
		return nil, &failure.Error{Class: failure.Internal, Message: "the test has no more pages"}
	}
	answer := s.answers[len(s.requests)]
	s.requests = append(s.requests, request)
	s.Time = s.Time.Add(answer.After)
	body, contentType := bodyOf(answer, s.format)
	header := http.Header{"Content-Type": {contentType}, "Date": {s.Time.Format(http.TimeFormat)}}
	for name, values := range answer.Headers {
		header[http.CanonicalHeaderKey(name)] = values
	}
	return transport.NewResponse(r, cmp.Or(answer.Status, http.StatusOK), header, body), nil
}

// describe writes a request as expectations do: GET /v1/users?page=1, with the
// host only if it is not the configuration's, and followed by the body.
func (s *script) describe(r *http.Request) (string, error) {
	target := r.URL.RequestURI()
	if r.URL.Scheme != s.origin.Scheme || r.URL.Host != s.origin.Host {
		target = r.URL.String()
	}
	text := r.Method + " " + target
	if r.Body != nil {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return "", err
		}
		if len(body) > 0 {
			text += " " + string(body)
		}
	}
	return s.redact(text), nil
}

// problem describes a wrong number of requests, or returns "".
func (s *script) problem() string {
	pages, requested := len(s.answers), len(s.requests)
	switch {
	case s.beyond != "":
		return fmt.Sprintf("requests page %d (%s), but the test has %s", pages+1, s.beyond, value.Counted(pages, "page"))
	case requested == pages:
		return ""
	}
	left := fmt.Sprintf("page %d was", pages)
	if requested+1 < pages {
		left = fmt.Sprintf("pages %d to %d were", requested+1, pages)
	}
	if requested == 0 {
		return fmt.Sprintf("stopped before page 1; %s never requested", left)
	}
	return fmt.Sprintf("stopped after page %d; %s never requested", requested, left)
}
