package transport

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/stopwhen/stopwhen/runtime/failure"
	"github.com/stopwhen/stopwhen/runtime/redact"
	"github.com/stopwhen/stopwhen/runtime/spool"
)

// Call is one HTTP exchange to make, fully built but for the credentials.
type Call struct {
	Method string
	URL    string
	Header http.Header
	Body   []byte // nil: none

	Into *spool.Buffer // takes the response's body; nil: a new one

	Reserved bool // Client.Reserve has counted it already

	Job  string // for events and errors
	Page int

	attempt int // of the call, from 1; 0 is the first
}

// Response is what came back, read to its end and decompressed.
type Response struct {
	Status   int
	Header   http.Header
	Body     []byte // valid until its buffer is used again
	URL      string // after redirects
	Attempts int    // requests made for it, from 1

	Window *spool.Window // of a body that is in a file; nil for one in memory
}

// A Decision says what to do with a response of status 400 and above.
type Decision struct {
	Action  Action
	Message string // of Fail
}

// An Action is what to do with an error response.
type Action int

// The actions.
const (
	Default Action = iota // retry transient errors, fail with all others
	Accept                // return the response
	Retry                 // make the request again
	Fail
)

// Options say how exchanges are made. The zero value is usable.
type Options struct {
	Transport      http.RoundTripper // nil: NewTransport()
	Clock          Clock             // nil: SystemClock
	Log            *slog.Logger      // nil: silent
	UserAgent      string
	Origin         *url.URL // the configured base address; credentials go nowhere else
	AllowedOrigins []string // origins that a response may lead to, without credentials
	AnyOrigin      bool     // a response may lead anywhere, without credentials
	Auth           Auth
	SecretHeaders  []string         // names of headers that hold secrets
	Redactor       *redact.Redactor // nil: nothing is secret
	Retry          RetryPolicy
	RateLimit      RateLimit
	MaxBody        int64         // decompressed bytes; 0: 1 GiB
	HeaderTimeout  time.Duration // until the headers come; 0: 60 s
	IdleTimeout    time.Duration // between two pieces of a body; 0: 60 s
	PageTimeout    time.Duration // for a whole response; 0: 10 min

	Observe func(context.Context, Event) // is called for every event, concurrently; may be nil
}

// Client makes exchanges: whole responses or an [*failure.Error], with retries,
// redirects and the rule about other origins.
type Client struct {
	options Options
	http    http.Client
	budget  budget
	quota   quota
	served  atomic.Bool // a response has come: the host exists
}

// NewTransport is the transport of a client that is given none: keep-alive,
// HTTP/2, gzip, a proxy from the environment, and limits on connecting.
func NewTransport() *http.Transport {
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second, ControlContext: guardDial}).DialContext,
		ForceAttemptHTTP2:      true,
		HTTP2:                  &http.HTTP2Config{SendPingTimeout: 30 * time.Second, PingTimeout: 30 * time.Second},
		MaxIdleConns:           100,
		MaxIdleConnsPerHost:    16,
		IdleConnTimeout:        90 * time.Second,
		TLSHandshakeTimeout:    15 * time.Second,
		MaxResponseHeaderBytes: 1 << 20,
		ReadBufferSize:         64 << 10,
	}
}

// New makes a client. It may be used by several goroutines.
func New(options Options) *Client {
	if options.Transport == nil {
		options.Transport = NewTransport()
	}
	if options.Clock == nil {
		options.Clock = SystemClock
	}
	if options.Log == nil {
		options.Log = slog.New(slog.DiscardHandler)
	}
	if options.Redactor == nil {
		options.Redactor = redact.New(nil)
	}
	options.MaxBody = cmp.Or(options.MaxBody, 1<<30)
	options.HeaderTimeout = cmp.Or(options.HeaderTimeout, time.Minute)
	options.IdleTimeout = cmp.Or(options.IdleTimeout, time.Minute)
	options.PageTimeout = cmp.Or(options.PageTimeout, 10*time.Minute)
	if j, ok := options.Clock.(jitterer); ok && options.Retry.Jitter == nil {
		options.Retry.Jitter = j.Jitter
	}
	options.Retry = options.Retry.withDefaults()
	c := &Client{options: options, budget: newBudget()}
	c.http = http.Client{Transport: options.Transport, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse // redirects are followed by exchange, under the rule of origins
	}}
	return c
}

// Close gives back the idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Do makes one exchange, with retries of the whole of it. decide, which may be
// nil, is asked about responses of status 400 and above; without a decision
// passing faults are retried and the others are errors.
func (c *Client) Do(ctx context.Context, call Call, decide func(*Response) Decision) (*Response, error) {
	response, err := c.Exchange(ctx, call)
	return c.Complete(ctx, call, response, err, decide)
}

// settle makes one exchange of what its first attempt brought.
func (c *Client) Complete(ctx context.Context, call Call, response *Response, err error, decide func(*Response) Decision) (*Response, error) {
	for attempt := 1; ; attempt++ {
		if call.attempt = attempt; attempt > 1 {
			response, err = c.Exchange(ctx, call)
		}
		if response != nil {
			response.Attempts = attempt
			c.served.Store(true)
		}
		verdict := c.verdict(ctx, call, response, err, decide)
		if verdict.err == nil {
			c.budget.success()
			return response, nil
		}
		if !verdict.retry {
			return nil, verdict.err
		}
		if err := c.wait(ctx, call, attempt, response, verdict.err); err != nil {
			return nil, err
		}
	}
}

// verdict is what becomes of one attempt: nil, an error, or another attempt.
type verdict struct {
	err   *failure.Error
	retry bool
}

func (c *Client) verdict(ctx context.Context, call Call, r *Response, err error, decide func(*Response) Decision) verdict {
	if err != nil {
		return c.faultOf(ctx, call, err)
	}
	if r.Status < 400 {
		if what, times := doubtful(r); r.Attempts <= times && r.Attempts < c.options.Retry.MaxAttempts {
			e := &failure.Error{Class: failure.Response, Op: "request", Method: call.Method, URL: c.show(call.URL), Status: r.Status, Message: fmt.Sprintf("status %d with %s", r.Status, what)}
			return verdict{err: e, retry: true}
		}
		return verdict{err: c.acceptable(call, r)}
	}
	var decision Decision
	if decide != nil {
		decision = decide(r)
	}
	switch decision.Action {
	case Accept:
		return verdict{}
	case Retry:
		return verdict{err: c.refused(call, r, failure.Transient), retry: true}
	case Fail:
		e := c.refused(call, r, failure.API)
		e.Hint = decision.Message
		return verdict{err: e}
	}
	if c.options.Retry.repeats(r.Status) {
		return verdict{err: c.refused(call, r, failure.Transient), retry: true}
	}
	return verdict{err: c.refused(call, r, failure.API)}
}

// doubtful tells the bodies that a proxy or a server that is just starting sends
// with status 200, and how often they are asked for again before they count.
func doubtful(r *Response) (what string, times int) {
	body := bytes.TrimLeft(r.Body[:min(len(r.Body), redact.ExcerptBytes)], " \t\r\n")
	switch {
	case r.Status != http.StatusOK:
	case len(body) == 0 && len(r.Body) < redact.ExcerptBytes:
		return "an empty body", 1
	case len(body) > 0 && body[0] == '<' && strings.Contains(r.Header.Get("Content-Type"), "html"):
		return "a page of HTML", 2
	}
	return "", 0
}

// acceptable tells the statuses that can be a page from those that cannot.
func (c *Client) acceptable(call Call, r *Response) *failure.Error {
	reason := ""
	switch {
	case r.Status == http.StatusOK, r.Status == http.StatusCreated, r.Status == http.StatusNonAuthoritativeInfo, r.Status == http.StatusNoContent:
	case r.Status == http.StatusPartialContent:
		reason = "only a part of the content, which never counts as a page"
	case r.Status == http.StatusAccepted:
		reason = "the API has not finished; it is no page yet"
	default:
		reason = "not a status that a page has"
	}
	if reason == "" {
		reason = charsetFault(r)
	}
	if reason == "" {
		return nil
	}
	return &failure.Error{Class: failure.Response, Op: "request", Method: call.Method, URL: c.show(call.URL), Status: r.Status,
		Message: fmt.Sprintf("status %d: %s", r.Status, reason)}
}

// refused is the error for a response of status 400 and above.
func (c *Client) refused(call Call, r *Response, class failure.Class) *failure.Error {
	message := fmt.Sprintf("status %d %s", r.Status, http.StatusText(r.Status))
	if len(bytes.TrimSpace(r.Body)) > 0 {
		message += fmt.Sprintf(", with %s beginning %s", r.ContentType(), c.options.Redactor.Excerpt(r.Body[:min(len(r.Body), redact.ExcerptBytes)], len(r.Body)))
	}
	return &failure.Error{Class: class, Op: "request", Method: call.Method, URL: c.show(call.URL), Status: r.Status, Message: strings.TrimSpace(message), Hint: hintFor(r.Status)}
}

// hintFor is what usually cures a status.
func hintFor(status int) string {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return "check api.authentication"
	case http.StatusNotFound, http.StatusGone:
		return "is baseUrl with endpoint right? if it is a page beyond the last, stop before it with nextPageFlag, forceStop or stopRules, or let onError stop there"
	case http.StatusBadRequest, http.StatusUnprocessableEntity:
		return "if it is a page beyond the last, stop before it with nextPageFlag, forceStop or stopRules, or let onError stop there"
	case http.StatusProxyAuthRequired:
		return "the proxy refused, not the API"
	}
	return ""
}

func (c *Client) show(address string) string { return c.options.Redactor.URL(address) }

// exchange makes one request, follows its redirects and reads the response.
func (c *Client) Exchange(ctx context.Context, call Call) (*Response, error) {
	const most = 10
	for range most + 1 {
		response, err := c.once(ctx, call)
		if err != nil {
			return nil, err
		}
		location := response.Header.Get("Location")
		if response.Status < 300 || response.Status > 399 || response.Status == http.StatusNotModified || location == "" {
			return response, nil
		}
		if call, err = c.redirected(call, response, location); err != nil {
			return nil, err
		}
		call.Reserved = false
	}
	return nil, &failure.Error{Class: failure.API, Op: "request", Method: call.Method, URL: c.show(call.URL), Message: fmt.Sprintf("more than %d redirects", most)}
}

// once makes one request and reads its response to the end.
func (c *Client) once(ctx context.Context, call Call) (response *Response, err error) {
	if !call.Reserved {
		c.quota.ask()
	}
	defer c.quota.answered()
	trusted, err := c.trust(call.Method, call.URL)
	if err != nil {
		return nil, err
	}
	if err := c.quotaWait(ctx, call); err != nil {
		return nil, err
	}
	if !trusted {
		if ctx, err = c.guard(ctx, call.URL); err != nil {
			return nil, err
		}
	}
	event := Event{Kind: EventRequest, Time: c.options.Clock.Now()}
	defer func() {
		event.Duration, event.Err = c.options.Clock.Now().Sub(event.Time), err
		if response != nil {
			event.Bytes = int64(len(response.Body))
		}
		c.observe(ctx, call, event)
	}()
	timed, watch := newWatchdog(ctx, c.options)
	defer watch.stop()
	request, err := c.request(timed, call, trusted)
	if errors.As(err, new(*failure.Error)) {
		return nil, err
	}
	if err != nil {
		return nil, &failure.Error{Class: failure.Config, Op: "request", Method: call.Method, URL: c.show(call.URL),
			Message: "the request cannot be made: " + c.options.Redactor.String(bare(err).Error())}
	}
	answer, err := c.http.Do(request)
	if err != nil {
		return nil, watch.cause(err)
	}
	defer answer.Body.Close()
	event.Status = answer.StatusCode
	c.note(answer.Header)
	if call.Into == nil {
		call.Into = &spool.Buffer{}
	}
	body, window, err := c.body(answer, watch, call.Into)
	if err != nil {
		return nil, err
	}
	return &Response{Status: answer.StatusCode, Header: answer.Header, Body: body, URL: call.URL, Window: window}, nil
}

// request builds the request; credentials are added for the origin alone.
func (c *Client) request(ctx context.Context, call Call, trusted bool) (*http.Request, error) {
	address := call.URL
	if trusted {
		address = c.options.Auth.address(address)
	}
	var body io.Reader
	if call.Body != nil {
		body = bytes.NewReader(call.Body)
	}
	request, err := http.NewRequestWithContext(ctx, call.Method, address, body)
	if err != nil {
		return nil, err
	}
	request.Header.Set("User-Agent", c.options.UserAgent)
	request.Header.Set("Accept", "application/json, */*;q=0.5")
	for name, values := range call.Header {
		request.Header[http.CanonicalHeaderKey(name)] = values
	}
	request.Header.Del("Accept-Encoding") // the transport asks for gzip, and takes it off again
	if host := request.Header.Get("Host"); host != "" {
		request.Host = host // net/http sends this one alone
		request.Header.Del("Host")
	}
	if trusted {
		return request, c.authorize(ctx, request)
	}
	for _, name := range append([]string{"Authorization", "Cookie", "Proxy-Authorization"}, c.options.SecretHeaders...) {
		request.Header.Del(name)
	}
	return request, nil
}

// ContentType returns the response's content type, or "no content type".
func (r *Response) ContentType() string {
	return cmp.Or(r.Header.Get("Content-Type"), "no content type")
}

// HeaderValue returns the first value of a header, or nil when it is absent.
func (r *Response) HeaderValue(name string) any {
	if values := r.Header.Values(name); len(values) > 0 {
		return values[0]
	}
	return nil
}
