package credential

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/stopwhen/stopwhen/compile/language"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/requests"
	"github.com/stopwhen/stopwhen/rules/secret"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime/failure"
	"github.com/stopwhen/stopwhen/runtime/transport"
)

// A login sends a request whose response provides headers and parameters for other requests. Only
// one call is made at a time, as [transport.Credentials] promises.
type login struct {
	Options
	auth    *rules.Auth
	call    transport.Call
	client  *transport.Client
	dialect rules.Dialect
}

func newLogin(auth *rules.Auth, options Options) (transport.Credentials, error) {
	l := &login{Options: options, auth: auth, dialect: options.Expressions.Login.Ruleset.Dialect}
	if options.Offline {
		return transport.Credentials{Obtain: func(context.Context) (*transport.Lease, error) { return l.placeholder(), nil }}, nil
	}
	request, err := l.request()
	if err == nil {
		l.call, err = l.encode(request)
	}
	if err != nil {
		return transport.Credentials{}, options.fault(failure.Config, "", err)
	}
	l.client = options.client(l.call.URL)
	return transport.Credentials{Obtain: l.obtain}, nil
}

// placeholder returns a lease for a recording, with the names of the parts and no values.
func (l *login) placeholder() *transport.Lease {
	lease := &transport.Lease{Lists: l.dialect.Switches().LoginLists, Secrets: map[string]string{"login": placeholder}}
	for _, e := range l.Expressions.Parts {
		addPart(lease, e.Rule, placeholder)
	}
	return lease
}

// request returns the login request. If its origin is not the origin of baseUrl, it has only its own
// headers and parameters.
func (l *login) request() (requests.Request, error) {
	job, machine, page := l.Expressions.Login, &language.Machine{}, l.page()
	values, err := job.Compute(machine, page)
	if err != nil {
		return requests.Request{}, err
	}
	builder, err := job.Builder(values)
	if err != nil {
		return requests.Request{}, err
	}
	for i, secret := range builder.Secrets {
		l.hide(fmt.Sprintf("login request %d", i), secret)
	}
	l.Redactor.HideFragments(builder.Derived...)
	_, request, err := builder.Begin(machine, page)
	if err != nil {
		return request, err
	}
	if !sameOrigin(request.Base, request.Endpoint) {
		request.Headers, request.Params = only(request.Headers, l.auth.Login.Headers), only(request.Params, l.auth.Login.Params)
	}
	return request, nil
}

// only returns the members of an object whose names another object also has.
func only(of, names rules.Object) rules.Object {
	var out rules.Object
	for _, m := range of {
		if _, own := names.Get(m.Name); own {
			out = append(out, m)
		}
	}
	return out
}

// sameOrigin reports whether an endpoint is at the origin of a base address.
func sameOrigin(base requests.Base, endpoint string) bool {
	address, err := base.Resolve(endpoint)
	if err != nil {
		return false
	}
	return transport.SameOrigin(originOf(base.String()), originOf(address))
}

func (l *login) encode(request requests.Request) (transport.Call, error) {
	address, err := request.URL()
	if err != nil {
		return transport.Call{}, err
	}
	if !sameOrigin(request.Base, request.Endpoint) {
		if err := l.auth.CheckTokenURL(address); err != nil {
			return transport.Call{}, fmt.Errorf("%s.loginRequest.endpoint: %w", l.auth.Path, err)
		}
	}
	return transport.NewCall(request, address)
}

// obtain logs in.
func (l *login) obtain(ctx context.Context) (*transport.Lease, error) {
	sent := l.Clock.Now()
	response, err := l.client.Do(transport.WithoutRecording(ctx), l.call, func(r *transport.Response) transport.ErrorDecision {
		if r.Status < http.StatusInternalServerError && !l.Retries(r.Status, r.Header) {
			return transport.ErrorDecision{Action: transport.Fail, Message: "check api.authentication.loginRequest"}
		}
		return transport.ErrorDecision{}
	})
	if err != nil {
		return nil, asAuthentication("cannot log in: ", err)
	}
	page := l.page()
	body := l.decoded(response.Body)
	page.Login, page.Header = factsOf(response, body), response.HeaderValue
	lease := &transport.Lease{Lists: l.dialect.Switches().LoginLists, Secrets: map[string]string{}}
	l.hideBody(lease, body)
	machine := &language.Machine{Context: ctx}
	for _, e := range l.Expressions.Parts {
		text, err := l.Expressions.Text(e, machine, page)
		if err != nil {
			return nil, l.unusable(response, err)
		}
		addPart(lease, e.Rule, text)
		hideText(lease, e, text)
	}
	if lease.Renew, err = l.end(machine, page, response, sent); err != nil {
		return nil, l.unusable(response, err)
	}
	seconds := 0.0
	if !lease.Renew.IsZero() {
		seconds = lease.Renew.Sub(sent).Seconds()
	}
	l.Log.Debug("logged in", "event", "token", "grant", rules.AuthLogin, "seconds", seconds)
	return lease, nil
}

// addPart adds the header or the query parameter that a rule sets, with a value.
func addPart(lease *transport.Lease, rule rules.Rule, text string) {
	part := transport.Pair{Name: rule.Target, Value: text}
	if rule.Role == rules.RoleHeader {
		lease.Header = append(lease.Header, part)
	} else {
		lease.Query = append(lease.Query, part)
	}
}

// hideText hides the value of a part, and the credentials in it. A text of the configuration, as in login.body.mode ?? "full", is
// no secret of the response.
func hideText(lease *transport.Lease, e *language.Expression, text string) {
	credentials := secret.CredentialsIn(text)
	if len(credentials) == 0 && slices.Contains(e.Literals(), any(text)) {
		return
	}
	for i, credential := range append([]string{text}, credentials...) {
		lease.Secrets[fmt.Sprintf("login %s %d", e.Rule.Target, i)] = credential
	}
}

// unusable returns the error for a response that lacks the values that the configuration reads.
func (l *login) unusable(r *transport.Response, err error) error {
	what := fmt.Sprintf("the response of the login (status %d, %s) does not give what requests need: ", r.Status, r.ContentType())
	return l.fault(failure.Response, what, err).With(func(e *failure.Error) {
		e.Method, e.URL, e.Status = l.call.Method, l.Redactor.Shown(l.call.URL), r.Status
	})
}

// hideBody hides the values of the response from which the parts are made.
func (l *login) hideBody(lease *transport.Lease, body any) {
	for _, path := range l.Expressions.LoginPaths() {
		v := body
		for _, key := range path {
			object, _ := value.Members(v)
			v, _ = object.Get(key)
		}
		if text, ok := value.Text(v); ok && text != "" {
			name := "login " + strings.Join(path, ".")
			lease.Secrets[name] = text
			l.Redactor.HideAs(name, text) // also if the response lacks another part
		}
	}
}

// decoded returns a body as expressions see it: as JSON or, if it is not JSON, as text. Under a
// configured format, the key data holds text, or JSON that is neither an object nor a list.
func (l *login) decoded(body []byte) any {
	if l.auth.Format == rules.LoginText {
		return map[string]any{"data": string(body)}
	}
	if !json.Valid(body) {
		return string(body)
	}
	var v any
	_ = value.Unmarshal(body, &v) // the body is valid
	if _, isScalar := value.Text(v); isScalar && l.auth.Format == rules.LoginJSON {
		return map[string]any{"data": v}
	}
	return v
}

// factsOf returns the response of a login as its expressions see it.
func factsOf(r *transport.Response, body any) rules.Object {
	headers := map[string]any{}
	for name := range r.Header {
		headers[name] = r.Header.Get(name)
	}
	return rules.Object{{Name: "status", Value: r.Status}, {Name: "headers", Value: headers}, {Name: "body", Value: body}}
}

// end returns the time of the next login. A time is compared with the time of the response, so that
// a wrong clock does not matter.
func (l *login) end(m *language.Machine, c *rules.Context, r *transport.Response, sent time.Time) (time.Time, error) {
	if l.Expressions.Expires == nil {
		return time.Time{}, nil
	}
	expiresAt, after, err := l.Expressions.End(m, c)
	if err != nil {
		return time.Time{}, err
	}
	if !expiresAt.IsZero() {
		served, err := http.ParseTime(r.Header.Get("Date"))
		if err != nil {
			served = sent
		}
		after = expiresAt.Sub(served)
	}
	if after <= 0 && l.dialect.Switches().LoginEndsAtOnce {
		return sent, nil
	}
	return renewal(sent, after, l.auth.RenewBefore), nil
}

func originOf(address string) *url.URL {
	u, err := url.Parse(address)
	if err != nil {
		return &url.URL{}
	}
	return &url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}
}
