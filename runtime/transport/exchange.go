package transport

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/stopwhen/stopwhen/rules/requests"
	"github.com/stopwhen/stopwhen/rules/secret"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime/failure"
	"github.com/stopwhen/stopwhen/runtime/spool"
)

// A Call is an HTTP request to send, complete except for its credentials.
type Call struct {
	Method string
	URL    string // absolute address
	Header http.Header
	Body   []byte // nil means no body

	// MayBeEmpty reports whether an empty body of a content type can be a page. If it is nil or
	// reports false, an empty body is requested once more.
	MayBeEmpty func(contentType string) bool

	BodyTarget

	OnWait func(Event) // called with the events of the call's waits, in order; may be nil

	// Uninterrupted keeps cancellation of the context from ending an attempt that has begun,
	// because its response may exist only once.
	Uninterrupted bool

	JudgesPages bool // the decision function of [Client.Do] also judges responses that can be pages

	Origins []string // origins that the call may also go to, without credentials, if they are public

	Ticket int // number in the order of requests, from [Client.CountRequest], if the request was counted there; otherwise 0

	Job       string // for events and errors
	Partition string // for events
	Page      int    // for events and errors, from 1

	attempt int       // from 1; 0 also means the first
	ahead   time.Time // end of the first attempt, if it was made ahead; see [Attempt.Ended]
	refused *Lease    // lease that the API has refused in this call, or nil
}

// A BodyTarget says where the body of a response goes. The zero BodyTarget is a new buffer.
type BodyTarget struct {
	Into *spool.Buffer // receives the body; nil means a new buffer

	// Reader reads the body of a page while it arrives, if it is large, unless the body must be seen
	// as it was sent: the decision function judges pages, or the body may be truncated. Reader may be
	// nil. Its result is [Response.Scan].
	Reader spool.Consumer

	// Arrived is called when the body of a page has arrived, with the number of bytes received. A
	// compressed body must still be decompressed, and may be damaged. Arrived may be nil.
	Arrived func(bytes int)
}

// An Attempt is the result of [Client.Exchange].
type Attempt struct {
	Response *Response
	Err      error

	// Ended is the end of an attempt that was made ahead; otherwise it is zero. The first retry after
	// such an attempt does not count against the retries of the run, since one incident fails all
	// requests in flight.
	Ended time.Time
}

// NewCall returns the call for a request with the URL address.
func NewCall(request requests.Request, address string) (Call, error) {
	body, contentType, err := request.Payload()
	if err != nil {
		return Call{}, err
	}
	call := Call{Method: request.Verb(), URL: address, Body: body, Header: http.Header{}}
	if contentType != "" {
		call.Header.Set("Content-Type", contentType)
	}
	for _, m := range request.Headers {
		text, _ := value.Text(m.Value)
		call.Header.Set(m.Name, text)
	}
	return call, nil
}

// A Response is a complete, decompressed HTTP response.
type Response struct {
	Status   int
	Header   http.Header
	Trailer  http.Header // headers that follow the body; nil if there are none
	Body     []byte      // valid until [BodyTarget.Into] is reused
	URL      string      // address after redirects
	Attempts int         // number of requests made, from 1
	Received int         // number of bytes received for the body

	Size    int            // number of bytes of the body as it was sent, decompressed
	Mapping *spool.Mapping // mapping of a body in a file; nil for a body in memory
	Scan    any            // result of [BodyTarget.Reader], which has changed the body; nil if the reader was not used

	// Unframed reports that only the end of the connection marked the end of the body, so that it
	// may be truncated. [Client.Complete] checks for that.
	Unframed bool

	lease *Lease // lease of the request, or nil
	head  []byte // see KeepHead
}

// ContentType returns the content type, or the text "no content type".
func (r *Response) ContentType() string {
	return cmp.Or(r.Header.Get("Content-Type"), "no content type")
}

// HeaderValue returns the first value of a header as a string, or nil if the
// header is missing.
func (r *Response) HeaderValue(name string) any {
	if values := r.Header.Values(name); len(values) > 0 {
		return values[0]
	}
	return nil
}

// Exchange makes one attempt: it sends a call, follows redirects and reads the response, which may
// have any status. [Client.Complete] classifies its error.
func (c *Client) Exchange(ctx context.Context, call Call) (*Response, error) {
	const maxRedirects = 10
	for range maxRedirects + 1 {
		response, err := c.roundTrip(ctx, call)
		if err != nil {
			return nil, err
		}
		location := response.Header.Get("Location")
		if response.Status < 300 || response.Status > 399 || response.Status == http.StatusNotModified || location == "" {
			return response, nil
		}
		if call, err = c.redirected(call, response.Status, location); err != nil {
			return nil, err
		}
		call.Ticket = 0
	}
	return nil, c.fault(call, failure.Error{Class: failure.API, Message: fmt.Sprintf("more than %d redirects", maxRedirects)})
}

// redirected returns the call for a redirect. Only status 303 turns a POST into a GET; for any
// other status that would be a different request.
func (c *Client) redirected(call Call, status int, location string) (Call, error) {
	from, _ := c.parse(call.URL) // it was requested, so it is valid
	to, err := from.Parse(location)
	if err != nil {
		message := fmt.Sprintf("status %d redirects to an invalid URL", status)
		return call, c.fault(call, failure.Error{Class: failure.API, Status: status, Message: message})
	}
	to.Fragment = ""
	switch status {
	case http.StatusSeeOther:
		call.Method, call.Body = http.MethodGet, nil
		call.Header = call.Header.Clone()
		call.Header.Del("Content-Type")
	case http.StatusMovedPermanently, http.StatusFound:
		if call.Method != http.MethodGet {
			message := fmt.Sprintf("status %d redirects a %s to %s without its body", status, call.Method, c.show(to.String()))
			return call, c.fault(call, failure.Error{Class: failure.API, Status: status, Message: message, Hint: hintRedirect})
		}
	}
	call.URL = to.String()
	c.options.Log.Debug("redirect", "event", "redirect", "from", c.show(from.String()), "to", c.show(call.URL))
	return call, nil
}

// roundTrip waits until a request may be made, sends it if its address is allowed, and reads the
// response.
func (c *Client) roundTrip(ctx context.Context, call Call) (*Response, error) {
	if call.Ticket == 0 {
		call.Ticket = c.CountRequest()
	}
	defer c.gate.endRequest()
	trust, err := c.trustOf(call)
	if err != nil {
		return nil, err
	}
	if trust == foreign {
		if c.options.Redactor.Contains(string(call.Body)) {
			return nil, c.fault(call, failure.Error{
				Class:   failure.Policy,
				Message: "refused: the body contains a secret, and the address is outside " + c.ownOrigin(),
				Hint:    hintSecretInBody,
			})
		}
		if ctx, err = c.guard(ctx, call.URL); err != nil {
			return nil, &url.Error{Op: call.Method, URL: call.URL, Err: err} // as [http.Client] returns it
		}
	}
	prepared, err := c.prepare(ctx, call, trust)
	if err != nil {
		return nil, err
	}
	defer prepared.ended()
	event := Event{Kind: EventRequest, Time: c.options.Clock.Now()}
	response, status, err := c.send(ctx, call, prepared)
	event.Duration, event.Status, event.Err = c.options.Clock.Now().Sub(event.Time), status, shownError(err)
	if response != nil {
		event.Bytes = int64(response.Size)
	}
	c.observe(ctx, call, event)
	return response, err
}

// shownError returns an error for an observer, without the URL.
func shownError(err error) error {
	if _, ok := errors.AsType[*failure.Error](err); ok {
		return err
	}
	return withoutURL(err)
}

// send sends one request and reads the response. It returns the status, or 0 if no response
// arrived.
func (c *Client) send(ctx context.Context, call Call, p *preparedRequest) (*Response, int, error) {
	if call.Uninterrupted {
		ctx = context.WithoutCancel(ctx)
	}
	ctx, watch := newWatchdog(ctx, c.options.Timeout)
	defer watch.stop()
	if sign := c.options.Auth.Sign; sign != nil && p.trust == trusted {
		if err := sign(p.request, call.Body); err != nil {
			return nil, 0, err
		}
		ctx = context.WithValue(ctx, credentialNames, c.options.Auth.Computed)
	}
	c.transport.negotiate(p.request) // here, since a later change would need a copy
	answer, err := c.http.Do(p.request.WithContext(ctx))
	if err != nil {
		return nil, 0, watch.cause(err)
	}
	defer answer.Body.Close()
	c.gate.noteQuota(c.options.RateLimit, answer.Header)
	c.noteHold(call, answer)
	if call.Into == nil {
		call.Into = &spool.Buffer{}
	}
	response := &Response{
		Status: answer.StatusCode, Header: answer.Header, URL: call.URL, Unframed: EndsWithConnection(answer), lease: p.lease,
	}
	notify := call.Arrived // alone, so that the closure does not retain the call
	arrived := func(bytes int) {
		response.Received = bytes
		if notify != nil && requests.IsPage(response.Status) {
			notify(bytes)
		}
	}
	if call.JudgesPages || response.Unframed || !requests.IsPage(response.Status) {
		call.Reader = nil
	}
	if response.Body, response.Mapping, err = c.readBody(call, answer, watch, arrived); err != nil {
		call.Into.Release() // nobody reads the rest of it
		return nil, answer.StatusCode, err
	}
	response.Trailer = answer.Trailer
	response.Size = int(call.Into.Len())
	response.Scan, response.head = call.Into.Consumed()
	return response, answer.StatusCode, nil
}

// newRequest builds the HTTP request of a call. If the address is trusted, it adds the credentials,
// except for a signature; otherwise it removes all secret headers.
func (c *Client) newRequest(ctx context.Context, call Call, t trust, lease *Lease) (*http.Request, error) {
	address := call.URL
	if t == trusted {
		address = WithQuery(address, c.options.Auth.Query)
	}
	if lease != nil {
		address = lease.address(address)
	}
	var body io.Reader
	if call.Body != nil {
		body = bytes.NewReader(call.Body)
	}
	request, err := http.NewRequestWithContext(ctx, call.Method, address, body)
	if err != nil {
		message := "invalid request: " + c.options.Redactor.Text(withoutURL(err).Error())
		return nil, c.fault(call, failure.Error{Class: failure.Config, Message: message})
	}
	request.Header = maps.Clone(c.headers)
	for name, values := range call.Header {
		request.Header[http.CanonicalHeaderKey(name)] = values
	}
	if host := request.Header.Get("Host"); host != "" {
		request.Host = host // net/http ignores the header
		request.Header.Del("Host")
	}
	if t == trusted {
		return request, c.authorize(ctx, request, lease)
	}
	for _, name := range c.options.SecretHeaders {
		request.Header.Del(name)
	}
	maps.DeleteFunc(request.Header, func(name string, values []string) bool {
		return secret.IsName(name) || slices.ContainsFunc(values, c.options.Redactor.Contains)
	})
	return request, nil
}
