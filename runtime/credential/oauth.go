package credential

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/remedy"
	"github.com/stopwhen/stopwhen/rules/requests"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime/failure"
	"github.com/stopwhen/stopwhen/runtime/redact"
	"github.com/stopwhen/stopwhen/runtime/transport"
)

// An oauth obtains access tokens from a token endpoint (RFC 6749). Only one call is made at a time,
// as [transport.Credentials] promises.
type oauth struct {
	Options
	auth    *rules.Auth
	address string // address of the token endpoint
	client  *transport.Client
	refresh string // replaced refresh token of this run, for grant refresh_token
	warned  bool
}

func newOAuth(auth *rules.Auth, options Options) (transport.Credentials, error) {
	address, err := requests.Resolve(options.BaseURL, auth.Values["tokenUrl"])
	if err == nil {
		err = auth.CheckTokenURL(address)
	}
	if err != nil {
		return transport.Credentials{}, &failure.Error{
			Class: failure.Config, Op: failure.OpAuthenticate, Message: auth.Path + ".tokenUrl: " + err.Error(),
		}
	}
	if options.Offline {
		obtain := func(context.Context) (*transport.Lease, error) { return tokenSet{access: placeholder}.lease(), nil }
		return transport.Credentials{Obtain: obtain}, nil
	}
	o := &oauth{Options: options, auth: auth, address: address}
	o.client = options.client(address)
	return transport.Credentials{Obtain: o.obtain}, nil
}

// obtain returns a new access token.
func (o *oauth) obtain(ctx context.Context) (*transport.Lease, error) {
	if o.auth.Values["grant"] != rules.GrantRefresh {
		issued, err := o.request(ctx, o.form(""))
		return issued.lease(), err
	}
	if o.Store == nil {
		issued, err := o.useRefreshToken(ctx, cmp.Or(o.refresh, o.auth.Values["refreshToken"]))
		if err == nil && issued.rotated != "" && !o.warned {
			o.warned = true
			o.Log.Warn("the API has replaced the refresh token, and there is no file to store the new one in: "+
				"the configured token is probably of no use to the next run",
				"event", "warn", "code", "refresh_token_not_stored", "hint", remedy.New("%s stores it", remedy.TokenStore))
		}
		return issued.lease(), err
	}
	var issued tokenSet
	err := o.Store.Update(ctx, o.storeKey(), func(stored string) (string, error) {
		var err error
		issued, err = o.useRefreshToken(ctx, cmp.Or(stored, o.refresh, o.auth.Values["refreshToken"]))
		return issued.rotated, err
	})
	if err != nil && (issued.rotated != "" || !errors.As(err, new(*failure.Error))) {
		err = o.storeFault(issued, err)
	}
	return issued.lease(), err
}

// storeFault returns the error of a store.
func (o *oauth) storeFault(issued tokenSet, err error) error {
	e := &failure.Error{Class: failure.IO, Op: failure.OpAuthenticate, Err: err,
		Message: "the refresh token cannot be stored: " + err.Error()}
	if issued.rotated != "" {
		e.Message = "the API has replaced the refresh token, and the new one is lost, because it cannot be stored: " + err.Error()
		e.Hint = "the old token is probably of no use: authorize again, and set #refreshToken"
	}
	e.Message = o.Redactor.Text(e.Message)
	return e
}

// storeKey returns the key of the refresh token in a store. It depends on the configured token, so
// that an old token does not hide the token of a new authorization.
func (o *oauth) storeKey() string {
	configured := strings.Join([]string{o.address, o.auth.Values["clientId"], o.auth.Values["refreshToken"]}, "\x00")
	return originOf(o.address).Host + " " + value.SHA256(configured)[:24]
}

// useRefreshToken exchanges a refresh token. The response may hold the only valid refresh token.
func (o *oauth) useRefreshToken(ctx context.Context, refresh string) (tokenSet, error) {
	o.Redactor.HideAs("refresh token", refresh)
	issued, err := o.request(ctx, o.form(refresh))
	if err != nil {
		return issued, err
	}
	if issued.rotated = issued.refresh; issued.rotated == refresh {
		issued.rotated = ""
	}
	if issued.rotated != "" {
		o.refresh = issued.rotated
	}
	return issued, nil
}

// form returns the parameters of the token request, without the client's credentials.
func (o *oauth) form(refresh string) url.Values {
	form := url.Values{}
	o.set(form, o.auth.GrantParams())
	if refresh != "" {
		form.Set("refresh_token", refresh)
	}
	for _, m := range o.auth.Params {
		text, _ := value.Text(m.Value)
		form.Set(m.Name, text)
	}
	return form
}

// request sends a token request with the client's credentials, with retries.
func (o *oauth) request(ctx context.Context, form url.Values) (tokenSet, error) {
	v := o.auth.Values
	header := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}, "Accept": {"application/json"}}
	if o.auth.ClientPlace() == rules.ClientInHeader {
		pair := url.QueryEscape(v["clientId"]) + ":" + url.QueryEscape(v["clientSecret"]) // RFC 6749, 2.3.1
		if pair != ":" {
			header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(pair)))
		}
	}
	o.set(form, o.auth.ClientParams())
	sent := o.Clock.Now()
	call := transport.Call{
		Method: http.MethodPost, URL: o.address, Header: header, Body: []byte(form.Encode()),
		Uninterrupted: v["grant"] == rules.GrantRefresh,
	}
	response, err := o.client.Do(transport.WithoutRecording(ctx), call, o.decide)
	if err != nil {
		return tokenSet{}, asAuthentication("cannot obtain a token: ", withAddressHint(err))
	}
	issued, err := o.read(response)
	if err != nil {
		return tokenSet{}, err
	}
	issued.renew = renewal(sent, issued.lifetime, o.auth.RenewBefore)
	o.Redactor.HideAs(redact.TokenName, issued.access)
	o.Redactor.HideAs("refresh token", issued.refresh)
	o.Log.Debug("obtained a token", "event", "token", "grant", v["grant"], "seconds", issued.lifetime.Seconds())
	return issued, nil
}

// set sets the parameters whose keys have a value.
func (o *oauth) set(form url.Values, params []rules.TokenParam) {
	for _, p := range params {
		if text := o.auth.Values[p.Key]; text != "" {
			form.Set(p.Name, text)
		}
	}
}

// asAuthentication marks an error as an authentication error.
func asAuthentication(action string, err error) error {
	known, ok := errors.AsType[*failure.Error](err)
	if !ok {
		return err
	}
	return known.With(func(e *failure.Error) { e.Op, e.Message = failure.OpAuthenticate, action+e.Message })
}

// withAddressHint replaces the hints of statuses that are about the pages of a list.
func withAddressHint(err error) error {
	known, ok := errors.AsType[*failure.Error](err)
	if !ok {
		return err
	}
	switch known.Status {
	case http.StatusNotFound, http.StatusGone:
		return known.WithHint("nothing is at the address of the token endpoint: check tokenUrl")
	case http.StatusNotModified, http.StatusUnprocessableEntity:
		return known.WithHint("check api.authentication")
	}
	return known
}

// decide adds the remedy to an error response of the token endpoint (RFC 6749, section 5.2).
func (o *oauth) decide(r *transport.Response) transport.ErrorDecision {
	if r.Status != http.StatusBadRequest && r.Status != http.StatusUnauthorized {
		return transport.ErrorDecision{}
	}
	hint := "check api.authentication"
	switch parseFields(r)["error"] {
	case "invalid_grant":
		hint = cmp.Or(map[string]string{
			rules.GrantRefresh:  "the refresh token has expired, was revoked, or was used before: authorize again, and set #refreshToken",
			rules.GrantPassword: "check username and #password",
		}[o.auth.Values["grant"]], hint)
	case "invalid_client", "unauthorized_client":
		hint = "check clientId and #clientSecret, and whether the API wants them in the header or in the body (clientAuth)"
	case "invalid_scope":
		hint = "check scopes"
	}
	return transport.ErrorDecision{Action: transport.Fail, Message: hint}
}

// A tokenSet is a token response of the token endpoint.
type tokenSet struct {
	access   string
	refresh  string
	rotated  string // new refresh token that replaces the used one
	lifetime time.Duration
	renew    time.Time
}

// lease returns the lease for a token, or nil if there is no token.
func (t tokenSet) lease() *transport.Lease {
	if t.access == "" {
		return nil
	}
	return &transport.Lease{
		Header:  []transport.Pair{{Name: "Authorization", Value: "Bearer " + t.access}},
		Secrets: map[string]string{redact.TokenName: t.access},
		Renew:   t.renew,
	}
}

// read parses the response of a token endpoint (RFC 6749, section 5.1). Its errors do not show the
// response, which may contain a token.
func (o *oauth) read(r *transport.Response) (tokenSet, error) {
	fields := parseFields(r)
	out := tokenSet{access: fields["access_token"], refresh: fields["refresh_token"], lifetime: lifetimeOf(fields["expires_in"])}
	if out.access != "" && !strings.ContainsAny(out.access, "\r\n") {
		return out, nil
	}
	e := &failure.Error{
		Class: failure.API, Op: failure.OpAuthenticate, Method: http.MethodPost, URL: o.Redactor.Shown(o.address), Status: r.Status,
		Message: fmt.Sprintf("cannot obtain a token: the response (status %d, %s) has no access_token", r.Status, r.ContentType()),
		Hint:    "check tokenUrl, and whether the API has a token endpoint of OAuth 2.0",
	}
	if fields["error"] != "" {
		e.Message += "; it has the error " + o.Redactor.Excerpt([]byte(fields["error"]), len(fields["error"]))
	}
	return out, e
}

// parseFields returns the scalar fields of a response that is JSON or, as some token
// endpoints send it, a form.
func parseFields(r *transport.Response) map[string]string {
	fields := map[string]string{}
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind == "application/x-www-form-urlencoded" {
		form, _ := url.ParseQuery(string(r.Body))
		for name := range form {
			fields[name] = form.Get(name)
		}
		return fields
	}
	var object map[string]any
	if value.Unmarshal(r.Body, &object) != nil {
		return fields
	}
	for name, v := range object {
		if text, ok := value.Text(v); ok {
			fields[name] = text
		}
	}
	return fields
}

// lifetimeOf parses expires_in: seconds, which some APIs send as text. It returns 0 if the lifetime
// is unknown: then only the API can tell that the token has expired. A lifetime that is not positive
// counts as unknown, since the clock of the API must be wrong.
func lifetimeOf(text string) time.Duration {
	const century = 100 * 365 * 24 * 60 * 60
	seconds, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || math.IsNaN(seconds) || seconds <= 0 {
		return 0
	}
	return time.Duration(min(seconds, century) * float64(time.Second))
}

// renewal returns the time to renew a token: before its end by the given duration, but not before
// half of its lifetime. The lifetime counts from the request, so that a slow response does not
// prolong it. The zero time means never.
func renewal(sent time.Time, lifetime, before time.Duration) time.Time {
	if lifetime <= 0 {
		return time.Time{}
	}
	return sent.Add(lifetime - min(before, lifetime/2))
}
