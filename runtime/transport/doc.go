// Package transport makes HTTP exchanges: a [Client] sends a [Call] and returns
// its complete [Response], or a [failure.Error] that says why there is none.
//
// Read client.go first, then exchange.go (one attempt, with its redirects, the
// reading of its body and its time limits), verdict.go (success, failure or
// another attempt) and retry.go (the waits between attempts). origin.go decides
// which addresses a request may go to, and guard.go keeps responses from
// pointing to private ones.
//
// Credentials are sent to the configured origin only, secrets appear in no
// error, log record or event, and every call ends, whatever the server does.
package transport
