package engine

import (
	"context"
	"errors"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/runtime/transport"
)

// Auth holds the credentials of a configuration. They are sent only to the origin of
// its base address, and never printed. The zero Auth has none.
type Auth struct {
	credentials transport.Auth
	hidden      []string
}

// A TokenSource returns the bearer token for a request. It is called before every
// request, possibly from several goroutines, so it should cache the token. Its
// error ends the run with class "api", unless it is an [*Error] itself.
type TokenSource interface {
	Token(ctx context.Context) (string, error)
}

// Token is a [TokenSource] that always returns the same token.
type Token string

// Token returns the token.
func (t Token) Token(context.Context) (string, error) { return string(t), nil }

// Bearer sends a bearer token (RFC 6750): engine.Bearer(engine.Token("…")), or a
// source of tokens that expire.
func Bearer(source TokenSource) *Auth {
	if t, ok := source.(Token); ok {
		return &Auth{transport.BearerAuth(string(t)), []string{string(t)}}
	}
	return &Auth{credentials: transport.Auth{Token: func(ctx context.Context) (string, error) {
		if source == nil {
			return "", errors.New("there is no token source")
		}
		return source.Token(ctx)
	}}}
}

// Basic sends a user name and a password (RFC 7617).
func Basic(username, password string) *Auth {
	return &Auth{transport.BasicAuth(username, password), []string{password}}
}

// HeaderKey sends a key in a header.
func HeaderKey(name, key string) *Auth { return &Auth{transport.HeaderAuth(name, key), []string{key}} }

// QueryKey sends a key as a parameter of the query.
func QueryKey(name, key string) *Auth { return &Auth{transport.QueryAuth(name, key), []string{key}} }

func (a *Auth) secrets() []string {
	if a == nil {
		return nil
	}
	return a.hidden
}

// credentials returns the credentials of an option or, without it, those of the
// configuration.
func credentials(override *Auth, configured *rules.Auth) transport.Auth {
	switch {
	case override != nil:
		return override.credentials
	case configured == nil:
		return transport.Auth{}
	}
	switch configured.Type {
	case rules.AuthBasic:
		return transport.BasicAuth(configured.Username, configured.Secret)
	case rules.AuthBearer:
		return transport.BearerAuth(configured.Secret)
	case rules.AuthHeader:
		return transport.HeaderAuth(configured.Name, configured.Secret)
	}
	return transport.QueryAuth(configured.Name, configured.Secret)
}
