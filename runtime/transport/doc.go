// Package transport makes HTTP exchanges: a [Client] sends a [Call] and returns
// its complete [Response], or a [failure.Error]. Credentials go to the configured
// origin only, no error, log record or event contains a secret, and every call
// ends, whatever the server does.
//
// Read client.go first, then exchange.go (one attempt), body.go, verdict.go
// (success, failure or another attempt) and retry.go. origin.go and guard.go
// decide where requests may go.
package transport
