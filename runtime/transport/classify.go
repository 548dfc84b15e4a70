package transport

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"mime"
	"net"
	"net/http"
	"net/url"
	"path"
	"strings"

	"github.com/stopwhen/stopwhen/rules/requests"
	"github.com/stopwhen/stopwhen/runtime/failure"
	"github.com/stopwhen/stopwhen/runtime/redact"
)

// An ErrorDecision determines the treatment of a response that is not a page because of its status,
// such as 202, 304, or 400 and above. With [Call.JudgesPages], it also determines the treatment of pages.
type ErrorDecision struct {
	Action  Action
	Message string // hint of the error, for [Fail]; "" means the usual one of the status
}

// An Action is the treatment of an error response. The zero Action retries transient errors and
// fails with all others.
type Action int

// The actions.
const (
	Accept Action = iota + 1 // return the response
	Retry                    // send the request again
	Fail                     // return an error
)

// classify returns the error of an attempt, which is nil if it succeeded, and reports whether to
// retry it.
func (c *Client) classify(
	ctx context.Context, call Call, r *Response, err error, decide func(*Response) ErrorDecision,
) (*failure.Error, bool) {
	switch {
	case err != nil:
		return c.classifyError(ctx, call, err)
	case requests.IsPage(r.Status):
		failed, retry := c.classifyPage(call, r)
		if failed != nil || decide == nil || !call.JudgesPages {
			return failed, retry
		}
	}
	var decision ErrorDecision
	if decide != nil {
		decision = decide(r)
	}
	switch action := decision.Action; {
	case action == Accept, action == 0 && requests.IsPage(r.Status):
		return nil, false
	case action == Retry, action == 0 && c.options.Retries(r.Status, r.Header) && !r.refusesLease():
		return c.statusError(failure.Transient, call, r), true
	case action == Fail:
		e := c.statusError(failure.API, call, r)
		return e.WithHint(cmp.Or(decision.Message, e.Hint)), false
	case r.Status < http.StatusBadRequest:
		return c.classifyPage(call, r)
	}
	return c.statusError(failure.API, call, r), false
}

// classifyError classifies an attempt without a response. It treats an error as transient
// unless it is known to be permanent, since there is no complete list of network errors.
func (c *Client) classifyError(ctx context.Context, call Call, err error) (*failure.Error, bool) {
	if ctx.Err() != nil {
		cause := errors.Join(ctx.Err(), context.Cause(ctx))
		return c.fault(call, failure.Error{Class: failure.Cancelled, Message: Interruption(ctx), Err: cause}), false
	}
	call = c.lastCall(call, err)
	e := c.fault(call, failure.Error{Class: failure.Transient})
	if known, ok := errors.AsType[*failure.Error](err); ok {
		placed := known
		if known.URL == "" {
			placed = known.With(func(k *failure.Error) { k.Method, k.URL = e.Method, e.URL })
		}
		return placed, known.Class == failure.Transient && !errors.Is(known, errTooLate) && !errors.Is(known, errNoLease)
	}
	e.Err = withoutURL(err)
	e.Message = c.options.Redactor.Text(e.Err.Error())
	switch {
	case c.unknownHost(err):
		u, _ := c.parse(call.URL) // it was looked up, so it is valid
		e.Class, e.Message = failure.API, "unknown host "+u.Host
		if hostname(u) == hostname(c.options.Origin) {
			e.Hint = hintUnknownHost
		}
	case c.permanent(err):
		e.Class = failure.API
	}
	return e, e.Class == failure.Transient
}

// Interruption returns the reason why a context ended. If the cause is an error of the run, such as
// the failure of another job, the reason is that error.
func Interruption(ctx context.Context) string {
	if cause, ok := errors.AsType[*failure.Error](context.Cause(ctx)); ok {
		return cause.Message
	}
	return "interrupted"
}

// classifyPage classifies a response with a status below 400.
func (c *Client) classifyPage(call Call, r *Response) (*failure.Error, bool) {
	if r.Unframed && cutOff(r.Body, r.Mapping) {
		message := fmt.Sprintf("the response was cut off after %d bytes: the connection ended within the document", len(r.Body))
		return c.fault(call, failure.Error{Class: failure.Transient, Status: r.Status, Message: message}), true
	}
	if what, retries := doubtful(call, r); call.attempt <= retries && call.attempt < c.options.Retry.MaxAttempts {
		message := fmt.Sprintf("status %d with %s", r.Status, what)
		return c.fault(call, failure.Error{Class: failure.Response, Status: r.Status, Message: message}), true
	}
	reason, hint := statusProblem(r.Status), statusHint(r.Status)
	if reason == "" {
		reason, hint = charsetProblem(r), hintCharset
	}
	if reason == "" {
		return nil, false
	}
	return c.fault(call, failure.Error{
		Class: failure.Response, Status: r.Status, Message: fmt.Sprintf("status %d: %s", r.Status, reason), Hint: hint,
	}), false
}

// doubtful describes a body that a proxy, or a server that is just starting, may send with status
// 200. It returns the number of retries before the body is accepted, or 0 for any other body.
func doubtful(call Call, r *Response) (what string, retries int) {
	if r.Status != http.StatusOK {
		return "", 0
	}
	head := bytes.TrimLeft(r.Head(), " \t\r\n")
	switch {
	case len(head) == 0 && call.MayBeEmpty != nil && call.MayBeEmpty(r.Header.Get("Content-Type")):
		return "", 0
	case len(head) == 0 && r.Size < redact.ExcerptBytes:
		return "an empty body", 1
	case len(head) > 0 && head[0] == '<' && strings.Contains(r.Header.Get("Content-Type"), "html"):
		return "an HTML page", 2
	}
	return "", 0
}

// Head returns the first bytes of the body.
func (r *Response) Head() []byte {
	if r.head != nil {
		return r.head
	}
	return r.Body[:min(len(r.Body), redact.ExcerptBytes)]
}

// KeepHead saves the result of Head, for a body that is about to be changed.
func (r *Response) KeepHead() { r.head = bytes.Clone(r.Head()) }

// statusProblem describes why a response with a status below 400 cannot be a page. It returns "" if
// it can.
func statusProblem(status int) string {
	if requests.IsPage(status) {
		return ""
	}
	switch status {
	case http.StatusPartialContent:
		return "the content is partial, so it is not read as a page"
	case http.StatusAccepted:
		return "the API has not finished processing the request"
	}
	return "want " + requests.PageStatuses
}

// charsetProblem describes the charset of a response that is not UTF-8. It returns "" for UTF-8, or if
// none is stated.
func charsetProblem(r *Response) string {
	_, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	charset := strings.ToLower(params["charset"])
	if err != nil || charset == "" || charset == "utf-8" || charset == "utf8" || charset == "us-ascii" {
		return ""
	}
	return fmt.Sprintf("the content type says charset %s, want utf-8", charset)
}

// statusError returns the error for a response that its status, or an onError rule, makes a failure.
func (c *Client) statusError(class failure.Class, call Call, r *Response) *failure.Error {
	message := strings.TrimSpace(fmt.Sprintf("status %d %s", r.Status, http.StatusText(r.Status)))
	if len(bytes.TrimSpace(r.Body)) > 0 {
		message += fmt.Sprintf("; the response (%s) begins with %s", r.ContentType(), c.options.Redactor.Excerpt(r.Head(), len(r.Body)))
	}
	hint := ""
	if class != failure.Transient { // the hint is for a permanent status
		hint = statusHint(r.Status)
	}
	if lost := c.lostPath(call.URL); lost != "" && r.Status == http.StatusNotFound {
		hint = hintLostPath(lost)
	}
	return c.fault(call, failure.Error{Class: class, Status: r.Status, Message: message, Hint: hint})
}

// lostPath returns the last part of the path of baseUrl if the request lost it, because baseUrl
// does not end in a slash.
func (c *Client) lostPath(address string) string {
	base := c.options.Origin
	dir, last := path.Split(base.Path)
	to, err := url.Parse(address)
	if err != nil || last == "" || !strings.HasPrefix(to.Path, dir) || strings.HasPrefix(to.Path, base.Path) {
		return ""
	}
	return last
}

// fault returns an error with the request of a call.
func (c *Client) fault(call Call, e failure.Error) *failure.Error {
	e.Op, e.Method, e.URL = failure.OpRequest, call.Method, c.show(call.URL)
	return &e
}

// lastCall returns the request of a call that got no response: if redirects have led to another host, the one to that
// host, without its query, which may be a signature.
func (c *Client) lastCall(call Call, err error) Call {
	failed, ok := errors.AsType[*url.Error](err)
	if !ok {
		return call
	}
	first, _ := c.parse(call.URL) // it was requested, so it is valid
	last, err := url.Parse(failed.URL)
	if err == nil && last.Host != first.Host {
		last.RawQuery = ""
		call.Method, call.URL = strings.ToUpper(failed.Op), last.String()
	}
	return call
}

// withoutURL unwraps a [url.Error], whose URL may hold credentials.
func withoutURL(err error) error {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		return wrapped.Err
	}
	return err
}

// permanent reports whether a retry cannot fix an error. A host that has sent a response speaks HTTP, so a malformed
// response of it may be a broken connection.
func (c *Client) permanent(err error) bool {
	if errors.As(err, new(*tls.CertificateVerificationError)) {
		return true
	}
	text := err.Error() // net/http has no types for these errors
	return strings.Contains(text, "unsupported protocol scheme") || strings.Contains(text, "invalid header field") ||
		strings.Contains(text, "server gave HTTP response to HTTPS client") || strings.Contains(text, "malformed HTTP") && !c.served.Load()
}

// unknownHost reports whether the host does not exist. After the host has sent a response, the same
// error is a transient one of the resolver.
func (c *Client) unknownHost(err error) bool {
	dns, ok := errors.AsType[*net.DNSError](err)
	return ok && dns.IsNotFound && !c.served.Load()
}
