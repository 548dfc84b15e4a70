package engine

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/stopwhen/stopwhen/runtime/failure"

	"github.com/stopwhen/stopwhen/rules"
)

// script is the transport of a test: it answers with the test's pages, in
// order, and reaches no network.
type script struct {
	answers []rules.Answer
	origin  *url.URL
	redact  func(string) string
	now     time.Time // the test's clock; see [script.Now]

	requests []string // all that was asked for
	beyond   string   // the first request after the last page; empty: none
}

// scriptStart is the instant at which every test begins.
var scriptStart = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

// RoundTrip answers with the next page.
func (s *script) RoundTrip(r *http.Request) (*http.Response, error) {
	request, err := s.describe(r)
	if err != nil {
		return nil, err
	}
	if len(s.requests) >= len(s.answers) {
		s.beyond = request
		return nil, &Error{Class: failure.Internal, Message: "the test has no further page"}
	}
	answer := s.answers[len(s.requests)]
	s.requests = append(s.requests, request)
	s.now = s.now.Add(answer.After)
	response := &http.Response{
		StatusCode: answer.Status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{"Content-Type": {"application/json"}, "Date": {s.now.Format(http.TimeFormat)}},
		Body:   io.NopCloser(bytes.NewReader(answer.Body)), ContentLength: int64(len(answer.Body)),
	}
	if response.StatusCode == 0 {
		response.StatusCode = http.StatusOK
	}
	for name, values := range answer.Headers {
		response.Header[http.CanonicalHeaderKey(name)] = values
	}
	return response, nil
}

// describe writes a request as expectations do: GET /v1/users?page=1, its host
// only where it is not the configuration's, its body behind it.
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

// Now is the test's own time: it moves by what a page's `after` says, and by
// waiting, which takes no time.
func (s *script) Now() time.Time { return s.now }

// Sleep moves the time on and returns at once.
func (s *script) Sleep(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.now = s.now.Add(max(d, 0))
	return nil
}

// problem is what is wrong with how many pages were asked for.
func (s *script) problem() string {
	given, asked := len(s.answers), len(s.requests)
	switch {
	case s.beyond != "":
		return fmt.Sprintf("asks for a %s page (%s), the test gives %s", ordinal(given+1), s.beyond, cardinal(given))
	case asked == given:
		return ""
	}
	left := fmt.Sprintf("page %d was", given)
	if asked+1 < given {
		left = fmt.Sprintf("pages %d to %d were", asked+1, given)
	}
	if asked == 0 {
		return fmt.Sprintf("stopped before page 1; %s never asked for", left)
	}
	return fmt.Sprintf("stopped after page %d; %s never asked for", asked, left)
}

var (
	ordinals  = strings.Fields("zeroth first second third fourth fifth sixth seventh eighth ninth tenth")
	cardinals = strings.Fields("none one two three four five six seven eight nine ten")
)

func ordinal(n int) string {
	if n < len(ordinals) {
		return ordinals[n]
	}
	switch {
	case n%10 == 1 && n%100 != 11:
		return fmt.Sprintf("%dst", n)
	case n%10 == 2 && n%100 != 12:
		return fmt.Sprintf("%dnd", n)
	case n%10 == 3 && n%100 != 13:
		return fmt.Sprintf("%drd", n)
	}
	return fmt.Sprintf("%dth", n)
}

func cardinal(n int) string {
	if n < len(cardinals) {
		return cardinals[n]
	}
	return fmt.Sprint(n)
}
