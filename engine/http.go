package engine

import (
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/runtime/transport"
)

// authOf turns the configured authentication into credentials.
func authOf(a *rules.Auth) transport.Auth {
	if a == nil {
		return transport.Auth{}
	}
	switch a.Type {
	case "basic":
		return transport.BasicAuth(a.Username, a.Secret)
	case "bearer":
		return transport.BearerAuth(a.Secret)
	case "header":
		return transport.HeaderAuth(a.Name, a.Secret)
	}
	return transport.QueryAuth(a.Name, a.Secret)
}

// retriesOf are the retries that the configuration asks for.
func retriesOf(h rules.HTTP) transport.RetryPolicy {
	o := transport.RetryPolicy{Statuses: h.RetryCodes, Header: h.RetryHeader}
	switch {
	case h.MaxRetries < 0:
		o.MaxAttempts = 1
	case h.MaxRetries > 0:
		o.MaxAttempts = h.MaxRetries + 1
	}
	return o
}
