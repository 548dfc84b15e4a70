package engine

import (
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/runtime"
)

// authOf turns the configured authentication into credentials.
func authOf(a *rules.Auth) runtime.Auth {
	if a == nil {
		return runtime.Auth{}
	}
	switch a.Type {
	case "basic":
		return runtime.BasicAuth(a.Username, a.Secret)
	case "bearer":
		return runtime.BearerAuth(a.Secret)
	case "header":
		return runtime.HeaderAuth(a.Name, a.Secret)
	}
	return runtime.QueryAuth(a.Name, a.Secret)
}

// retriesOf are the retries that the configuration asks for.
func retriesOf(h rules.HTTP) runtime.RetryOptions {
	return runtime.RetryOptions{Statuses: h.RetryCodes, Header: h.RetryHeader, MaxAttempts: h.MaxRetries + 1}
}
