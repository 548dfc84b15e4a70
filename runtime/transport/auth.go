package transport

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/stopwhen/stopwhen/runtime/failure"
)

// Auth is the credentials of every request to the configured origin. They are
// added when a request is sent, so that no log or trace ever holds them. The zero
// Auth is none.
type Auth struct {
	Header [][2]string // names and values
	Query  [][2]string // names and values

	// Token returns the bearer token for a request; nil is none. It is called before
	// every request, possibly from several goroutines.
	Token func(context.Context) (string, error)
}

// BasicAuth is a user name and a password (RFC 7617).
func BasicAuth(username, password string) Auth {
	return HeaderAuth("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(username+":"+password)))
}

// BearerAuth is a bearer token (RFC 6750).
func BearerAuth(token string) Auth { return HeaderAuth("Authorization", "Bearer "+token) }

// HeaderAuth is a key in a header.
func HeaderAuth(name, value string) Auth { return Auth{Header: [][2]string{{name, value}}} }

// QueryAuth is a key in the query.
func QueryAuth(name, value string) Auth { return Auth{Query: [][2]string{{name, value}}} }

// authorize adds the credentials to the headers of a request to the origin.
func (c *Client) authorize(ctx context.Context, request *http.Request) error {
	auth := c.options.Auth
	for _, pair := range auth.Header {
		request.Header.Set(pair[0], pair[1])
	}
	if auth.Token == nil {
		return nil
	}
	token, err := auth.Token(ctx)
	if err != nil {
		if known := (*failure.Error)(nil); errors.As(err, &known) {
			return err
		}
		return &failure.Error{Class: failure.API, Op: "authenticate", Message: fmt.Sprintf("no token: %v", err), Err: err}
	}
	c.options.Redactor.Hide(token)
	request.Header.Set("Authorization", "Bearer "+token)
	return nil
}

// address adds the credentials of the query to an address. A parameter of the
// same name is replaced.
func (a Auth) address(address string) string {
	for _, pair := range a.Query {
		path, query, _ := strings.Cut(address, "?")
		var parts []string
		for part := range strings.SplitSeq(query, "&") {
			name, _, _ := strings.Cut(part, "=")
			if plain, err := url.QueryUnescape(name); part != "" && (err != nil || plain != pair[0]) {
				parts = append(parts, part)
			}
		}
		parts = append(parts, url.QueryEscape(pair[0])+"="+url.QueryEscape(pair[1]))
		address = path + "?" + strings.Join(parts, "&")
	}
	return address
}
