package transport

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/stopwhen/stopwhen/rules/requests"
	"github.com/stopwhen/stopwhen/runtime/failure"
	"github.com/stopwhen/stopwhen/runtime/redact"
)

// A Pair is the name and the value of a header or of a query parameter.
type Pair struct{ Name, Value string }

// Credentials are added to every request to the configured origin, when the
// request is sent, so that no log or trace contains them. The zero Credentials add none.
type Credentials struct {
	Header []Pair
	Query  []Pair

	// Token returns the bearer token for a request; nil means no token. It is called before every
	// request, from several goroutines.
	Token func(context.Context) (string, error)

	// Obtain returns credentials that expire. It may be nil. It is called before the first request,
	// when a lease must be renewed, and once for each request that the API refuses with status 401.
	// Only one call is made at a time. Its error is final, since it makes its own retries.
	Obtain func(context.Context) (*Lease, error)

	// Sign adds a signature to the headers or the address of a request that is otherwise complete;
	// nil means no signature. It is called for every attempt, from several goroutines. body is nil
	// if the request has no body.
	Sign func(request *http.Request, body []byte) error

	Computed []string // names of the headers and parameters that Sign adds
}

// BasicAuth returns credentials with a user name and a password (RFC 7617).
func BasicAuth(username, password string) Credentials {
	return HeaderAuth("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(username+":"+password)))
}

// BearerAuth returns credentials with a fixed bearer token (RFC 6750).
func BearerAuth(token string) Credentials { return HeaderAuth("Authorization", "Bearer "+token) }

// HeaderAuth returns credentials in a header.
func HeaderAuth(name, value string) Credentials { return Credentials{Header: []Pair{{name, value}}} }

// QueryAuth returns credentials in a query parameter.
func QueryAuth(name, value string) Credentials { return Credentials{Query: []Pair{{name, value}}} }

// authorize adds the credentials to the headers of a request.
func (c *Client) authorize(ctx context.Context, request *http.Request, lease *Lease) error {
	auth := c.options.Auth
	if user := c.options.Origin.User; user != nil && request.URL.User == nil && request.Header.Get("Authorization") == "" {
		password, _ := user.Password()
		request.SetBasicAuth(user.Username(), password)
	}
	for _, pair := range auth.Header {
		request.Header.Set(pair.Name, pair.Value)
	}
	if lease != nil {
		for _, pair := range lease.Header {
			request.Header.Set(pair.Name, pair.Value)
		}
	}
	return c.addToken(ctx, request)
}

// addToken adds the bearer token that [Credentials.Token] returns.
func (c *Client) addToken(ctx context.Context, request *http.Request) error {
	auth := c.options.Auth
	if auth.Token == nil {
		return nil
	}
	token, err := fetchToken(ctx, auth.Token)
	if err != nil {
		if errors.As(err, new(*failure.Error)) {
			return err
		}
		return &failure.Error{Class: failure.API, Op: failure.OpAuthenticate, Err: err,
			Message: fmt.Sprintf("cannot fetch a token: %v", err)}
	}
	c.options.Redactor.Hide(token)
	request.Header.Set("Authorization", "Bearer "+token)
	return nil
}

// Secret returns the current value of a secret that is fetched during a run: the bearer token of
// [Credentials.Token], or a secret of a lease. It reports false if the credentials have no secret of that
// name. From then on the secret is hidden.
func (c *Client) Secret(ctx context.Context, name string) (string, bool, error) {
	if c.options.Auth.Obtain != nil {
		lease, err := c.lease(ctx, Call{})
		if err != nil {
			return "", false, err
		}
		if text, ok := lease.Secrets[name]; ok {
			return text, true, nil
		}
	}
	if c.options.Auth.Token == nil || name != redact.TokenName {
		return "", false, nil
	}
	token, err := fetchToken(ctx, c.options.Auth.Token)
	if err == nil {
		c.options.Redactor.Hide(token)
	}
	return token, err == nil, err
}

// WithQuery returns an address with the parameters added. A new parameter takes the place of an
// existing one with the same name.
func WithQuery(address string, query []Pair) string {
	for _, pair := range query {
		path, query, _ := strings.Cut(address, "?")
		added, placed := url.QueryEscape(pair.Name)+"="+url.QueryEscape(pair.Value), false
		var parts []string
		for p := range requests.Params(query) {
			switch same := p.Name == pair.Name; {
			case p.Text == "" || same && placed:
			case same:
				parts, placed = append(parts, added), true
			default:
				parts = append(parts, p.Text)
			}
		}
		if !placed {
			parts = append(parts, added)
		}
		address = path + "?" + strings.Join(parts, "&")
	}
	return address
}

// cutQuery returns an address without the parameters of a name, and the values of these parameters.
func cutQuery(address, name string) (string, []string) {
	path, query, _ := strings.Cut(address, "?")
	var rest, values []string
	for p := range requests.Params(query) {
		if p.Name == name {
			values = append(values, p.Value)
		} else {
			rest = append(rest, p.Text)
		}
	}
	return path + "?" + strings.Join(rest, "&"), values
}

// fetchToken calls source for a token. It returns when the context is done, even if source does
// not.
func fetchToken(ctx context.Context, source func(context.Context) (string, error)) (string, error) {
	type result struct {
		token string
		err   error
	}
	results := make(chan result, 1)
	go func() {
		token, err := "", failure.Exited()
		defer func() { results <- result{token, failure.Recovered("", recover(), err)} }()
		if token, err = source(ctx); err == nil && token == "" {
			err = errors.New("the token is empty")
		}
	}()
	select {
	case r := <-results:
		return r.token, r.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}
