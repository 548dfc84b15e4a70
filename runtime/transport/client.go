package transport

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"io"
	"log/slog"
	"math"
	"net"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/stopwhen/stopwhen/runtime/failure"
	"github.com/stopwhen/stopwhen/runtime/redact"
)

// Options configure a [Client]. The zero Options are ready to use.
type Options struct {
	Transport http.RoundTripper // nil means [Default]; responses are decompressed as by [Decompressed]
	Clock     Clock             // nil means [SystemClock]
	Log       *slog.Logger      // nil means no log
	Redactor  *redact.Redactor  // nil means no secrets
	UserAgent string

	Origin         *url.URL // receives the credentials, also credentials in the URL; nil means every origin
	AllowedOrigins []string // URLs of further origins, without credentials
	AnyOrigin      bool     // whether all other origins are allowed, without credentials
	Auth           Auth
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
}

// New returns a client.
func New(options Options) *Client {
	if options.Transport == nil {
		options.Transport = Default()
	}
	options.Clock = cmp.Or(options.Clock, SystemClock)
	options.Log = cmp.Or(options.Log, slog.New(slog.DiscardHandler))
	options.Redactor = cmp.Or(options.Redactor, redact.New(nil))
	options.Pacer = cmp.Or(options.Pacer, NewPacer(Pace{}))
	options.MaxBody = cmp.Or(options.MaxBody, math.MaxInt64-1)
	c := &Client{options: options, jitter: randomJitter}
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

// Default returns the default transport of a client: [NewTransport], requesting zstd and gzip as
// [Negotiated] does.
func Default() http.RoundTripper { return Negotiated(NewTransport()) }

// ProxyPasswords returns the passwords of the proxies of the environment, by the scheme of the
// addresses that are requested through them.
func ProxyPasswords() map[string]string {
	passwords := map[string]string{}
	for _, scheme := range []string{"http", "https"} {
		anywhere := &http.Request{URL: &url.URL{Scheme: scheme, Host: "example.com"}}
		if proxy, err := http.ProxyFromEnvironment(anywhere); err == nil && proxy != nil {
			if password, has := proxy.User.Password(); has {
				passwords[scheme] = password
			}
		}
	}
	return passwords
}

// NewTransport returns the default connections of a client, with keep-alive, HTTP/2, the proxy of
// the environment, time limits on connecting, and the guard that refuses connections to private
// addresses.
func NewTransport() *http.Transport {
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second, ControlContext: guardDial}).DialContext,
		DisableCompression:     true, // net/http would request gzip, and decompress it more slowly
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

// Close closes the idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Do sends a call, with retries, and returns its response. The error is a [*failure.Error].
//
// Do returns a response with a status below 400 if it can be a page. decide judges any other
// response, and with [Call.JudgesPages] also pages. If decide is nil or makes no decision, transient
// errors are retried, and all others are returned.
func (c *Client) Do(ctx context.Context, call Call, decide func(*Response) ErrorDecision) (*Response, error) {
	response, err := c.Exchange(ctx, call)
	return c.Complete(ctx, call, response, err, decide)
}

// Complete continues [Client.Do] for a call whose first attempt was made: response and err are the
// results of [Client.Exchange].
func (c *Client) Complete(
	ctx context.Context, call Call, response *Response, err error, decide func(*Response) ErrorDecision,
) (*Response, error) {
	requests := 0
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
		failed, retry := c.judge(ctx, call, response, err, decide)
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
func (c *Client) show(address string) string { return c.options.Redactor.URL(address) }

// A Clock tells the time and waits. A Clock with the method
//
//	Jitter(bound time.Duration) time.Duration
//
// also determines the waits before retries, up to a bound.
type Clock interface {
	Now() time.Time
	// Sleep waits for d. It returns the context's error if the context is done first.
	Sleep(ctx context.Context, d time.Duration) error
}

// SystemClock is the clock of the machine.
var SystemClock Clock = systemClock{}

type systemClock struct{}

func (systemClock) Now() time.Time { return time.Now() }

func (systemClock) Sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// A jitterer is a [Clock] that determines the waits before retries.
type jitterer interface {
	Jitter(bound time.Duration) time.Duration
}

// An Event describes part of an exchange: a request that was made, or a wait before one.
type Event struct {
	Kind     string // [EventRequest], [EventRetry] or [EventWait]
	Job      string // id of the call's job
	Page     int    // page of the call
	Time     time.Time
	Duration time.Duration // duration of the exchange, or of the wait that follows

	Method  string
	URL     string // address without secrets
	Attempt int    // from 1
	Status  int    // HTTP status; 0 if there was no response
	Bytes   int64  // size of the decompressed body
	Source  string // for a wait: the header that asked for it, or "backoff"
	Err     error  // reason why there is no complete response, or why it is retried
}

// The kinds of events.
const (
	EventRequest = "request"
	EventRetry   = "retry"
	EventWait    = "wait"
)

// observe reports an event of a call.
func (c *Client) observe(ctx context.Context, call Call, e Event) {
	wait := call.Waits != nil && e.Kind != EventRequest
	if c.options.Observe == nil && !wait {
		return
	}
	e.Job, e.Page, e.Method, e.URL, e.Attempt = call.Job, call.Page, call.Method, c.show(call.URL), max(call.attempt, 1)
	e.Err = failure.Redact(e.Err, c.options.Redactor.String)
	if wait {
		*call.Waits = append(*call.Waits, e)
	}
	if c.options.Observe != nil {
		c.options.Observe(ctx, e)
	}
}

// WithCertificates returns the default transport with the certificates of config for connections to
// an origin. Other origins do not receive the client's certificate, and the authorities of config
// do not apply to them.
func WithCertificates(origin *url.URL, config *tls.Config) http.RoundTripper {
	own := NewTransport()
	own.TLSClientConfig = config.Clone()
	return Negotiated(&certifiedTransport{origin: origin, own: own, others: NewTransport()})
}

// A certifiedTransport uses certificates for one origin.
type certifiedTransport struct {
	origin      *url.URL
	own, others *http.Transport
}

// RoundTrip implements [http.RoundTripper].
func (t *certifiedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if SameOrigin(t.origin, r.URL) {
		return t.own.RoundTrip(r)
	}
	return t.others.RoundTrip(r)
}

// CloseIdleConnections closes the idle connections of both transports.
func (t *certifiedTransport) CloseIdleConnections() {
	t.own.CloseIdleConnections()
	t.others.CloseIdleConnections()
}

// A VirtualClock is the clock of a run without a network. Its time advances only while the run
// waits, and the waits before retries are the same in every run. It is not safe for concurrent use.
type VirtualClock struct{ Time time.Time }

// Now returns the time of the run.
func (c *VirtualClock) Now() time.Time { return c.Time }

// Jitter returns the bound.
func (c *VirtualClock) Jitter(bound time.Duration) time.Duration { return bound }

// Sleep advances the time and returns at once. If the context is done, it returns the error of
// the context and leaves the time as it is.
func (c *VirtualClock) Sleep(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c.Time = c.Time.Add(max(d, 0))
	return nil
}

// NewResponse returns a response of an API within this process.
func NewResponse(r *http.Request, status int, header http.Header, body []byte) *http.Response {
	return &http.Response{
		StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: header, Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)),
	}
}
