package engine

import (
	"context"
	"slices"

	"github.com/stopwhen/stopwhen/runtime/transport"
)

// Auth holds the credentials of a configuration. They are sent only to the origin of
// its base address, and never printed. The zero Auth has none.
type Auth struct {
	credentials transport.Auth
	hidden      []string
	problem     string // why they cannot be used; "" if they can

	kind    string // type in a configuration file, of credentials that are compiled; "" of others
	options any    // their keys there
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
	t, fixed := source.(Token)
	switch {
	case source == nil:
		return &Auth{problem: "Bearer needs a source of tokens"}
	case fixed:
		return newAuth(transport.BearerAuth(string(t)), "Bearer needs a token", string(t)).hiding(string(t))
	}
	return &Auth{credentials: transport.Auth{Token: source.Token}}
}

// newAuth returns credentials. It notes the problem if one of the values that they need
// is empty.
func newAuth(credentials transport.Auth, problem string, needed ...string) *Auth {
	a := &Auth{credentials: credentials}
	if slices.Contains(needed, "") {
		a.problem = problem
	}
	return a
}

func (a *Auth) hiding(secrets ...string) *Auth {
	a.hidden = secrets
	return a
}

// check reports credentials that cannot be used, as [New] reports those of a
// configuration.
func (a *Auth) check() error {
	if a.compiled() {
		message := "credentials of type " + a.kind + " are for Config.Auth, since they are compiled with the configuration"
		return Diagnostics{{Path: "Auth", Message: message}}
	}
	if a == nil || a.problem == "" {
		return nil
	}
	return Diagnostics{{Path: "Auth", Message: a.problem}}
}

// Basic sends a user name and a password (RFC 7617).
func Basic(username, password string) *Auth {
	return newAuth(transport.BasicAuth(username, password), "Basic needs a user name", username).hiding(password, username+":"+password)
}

// HeaderKey sends a key in a header.
func HeaderKey(name, key string) *Auth {
	return newAuth(transport.HeaderAuth(name, key), "HeaderKey needs a name and a key", name, key).hiding(key)
}

// QueryKey sends a key as a parameter of the query.
func QueryKey(name, key string) *Auth {
	return newAuth(transport.QueryAuth(name, key), "QueryKey needs a name and a key", name, key).hiding(key)
}

func (a *Auth) secrets() []string {
	if a == nil {
		return nil
	}
	return a.hidden
}
