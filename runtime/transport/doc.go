// Package transport makes HTTP exchanges: a [Client] sends a [Call] and returns
// its complete [Response], or a [failure.Error]. Credentials go to the configured
// origin only, no error, log record or event contains a secret, and every call
// ends, whatever the server does.
//
// Read client.go first, then exchange.go (one attempt), body.go, verdict.go
// (success, failure or another attempt) and retry.go. origin.go
// decides where requests may go.
//
// # Decisions
//
// One function decides which origins are trusted, for next URLs and redirects alike.
// Connections to other origins are checked when they are made, after names were resolved: a
// private address is refused.
//
// A lease, which has the tokens that requests are sent with for a while, is shared by all
// requests of a run: the first request that needs a new one obtains it, and the others wait.
// It is obtained before the time limits of an exchange begin, by a client of its own whose
// origin is that of the token endpoint. So a token request has the retries, limits and
// redaction of any other, and cannot block the request that waits for it.
//
// Requests wait for the API first (its rate limit, Retry-After), then for their turn in the
// pace of the configuration. Only the second wait holds up other requests. A request that
// takes its time from a pace shared with other processes leaves its turn as soon as it has
// asked, so that all waiting requests of a process ask in one message.
package transport
