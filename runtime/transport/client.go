package transport

import (
	"cmp"
	"context"
	"log/slog"
	"math"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/stopwhen/stopwhen/rules/requests"
	"github.com/stopwhen/stopwhen/runtime/redact"
)

// Options configure a [Client]. All fields are optional, but a client without Origin trusts no address: it sends no
// credentials, and only requests to origins that are allowed otherwise.
type Options struct {
	Transport http.RoundTripper // nil means [Default]; responses are decompressed as by [Decompressed]
	Clock     Clock             // nil means [SystemClock]
	Log       *slog.Logger      // nil means no log
	Redactor  *redact.Redactor  // nil means no secrets
	UserAgent string

	Origin         *url.URL // receives the credentials, also credentials in the URL; nil means no origin
	AllowedOrigins []string // URLs of further origins, without credentials
	AnyOrigin      bool     // whether all other origins are allowed, without credentials
	Auth           Credentials
	SecretHeaders  []string // names of headers that only Origin receives

	Retry     RetryPolicy
	RateLimit RateLimit
	Pacer     *Pacer // nil means no pace
	// Timeout is the time for a request, from sending it to the last byte of its response. 0 means
	// a minute for the headers, and ten minutes in all.
	Timeout      time.Duration
	MaxBody      int64  // limit in decompressed bytes; 0 means no limit
	TooLargeHint string // hint for a larger response; "" means a hint about pages

	Observe func(context.Context, Event) // called from several goroutines; nil means no observer
}

// A Client makes HTTP exchanges. It may be used by several goroutines.
type Client struct {
	options   Options
	http      http.Client
	transport *decompressingTransport                 // transport of http
	jitter    func(bound time.Duration) time.Duration // returns a wait up to a bound
	budget    budget
	gate      *gate
	pace      SharedPace // gate, unless the pace is shared with other processes
	leases    leases
	served    atomic.Bool // a response has arrived, so the host exists
	parsed    atomic.Pointer[parsedAddress]
	headers   http.Header // headers of every request, unless the call has its own
	origin    string      // scheme, host and port of Options.Origin
}

// New returns a client.
func New(options Options) *Client {
	if options.Transport == nil {
		options.Transport = Default()
	}
	options.Origin = cmp.Or(options.Origin, &url.URL{}) // matches no address
	options.Clock = cmp.Or(options.Clock, SystemClock)
	options.Log = cmp.Or(options.Log, slog.New(slog.DiscardHandler))
	options.Redactor = cmp.Or(options.Redactor, redact.New(nil))
	options.Pacer = cmp.Or(options.Pacer, NewPacer(Pace{}))
	options.MaxBody = cmp.Or(options.MaxBody, math.MaxInt64-1)
	c := &Client{options: options, jitter: randomJitter}
	c.origin = OriginOf(options.Origin)
	c.headers = http.Header{"User-Agent": {options.UserAgent}, "Accept": {requests.AcceptJSON}}
	c.gate = newGate(options.Clock, options.Pacer)
	if c.pace = options.Pacer.shared; c.pace == nil {
		c.pace = c.gate
	}
	if j, ok := options.Clock.(jitterer); ok {
		c.jitter = j.Jitter
	}
	c.transport = decompressingOf(options.Transport)
	c.http = http.Client{Transport: c.transport, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse // Exchange follows redirects, to trusted origins only
	}}
	return c
}

// Close closes the idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Do sends a call, with retries, and returns its response. The error is a [*failure.Error].
//
// Do returns a response with a status below 400 if it can be a page. decide judges any other
// response, and with [Call.JudgesPages] also pages. If decide is nil or makes no decision, transient
// errors are retried, and all others are returned.
func (c *Client) Do(ctx context.Context, call Call, decide func(*Response) ErrorDecision) (*Response, error) {
	response, err := c.Exchange(ctx, call)
	return c.Complete(ctx, call, Attempt{Response: response, Err: err}, decide)
}

// Complete continues [Client.Do] for a call whose first attempt was made.
func (c *Client) Complete(ctx context.Context, call Call, first Attempt, decide func(*Response) ErrorDecision) (*Response, error) {
	response, err, requests := first.Response, first.Err, 0
	call.ahead, call.Ticket = first.Ended, 0 // a retry is another request
	for attempt := 1; ; attempt++ {
		if call.attempt = attempt; attempt > 1 {
			response, err = c.Exchange(ctx, call)
		}
		if c.repeatWithNewLease(&call, response) {
			requests++
			response, err = c.Exchange(ctx, call)
		}
		requests++
		if response != nil {
			response.Attempts = requests
			c.served.Store(true)
		}
		failed, retry := c.classify(ctx, call, response, err, decide)
		if failed == nil {
			c.budget.refill()
			return response, nil
		}
		if !retry {
			return nil, failed
		}
		if err := c.waitToRetry(ctx, call, response, failed); err != nil {
			return nil, err
		}
	}
}

// show returns an address without secrets.
func (c *Client) show(address string) string { return c.options.Redactor.Shown(address) }
