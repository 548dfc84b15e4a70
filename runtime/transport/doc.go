// Package transport makes HTTP exchanges: a [Client] sends a [Call] and returns its complete
// [Response], or a [failure.Error]. Only the configured origin receives credentials, and no error,
// log record or event contains a secret. Every call ends, whatever the server does.
//
// Read client.go first, then exchange.go (one attempt), body.go, classify.go (success, failure or
// another attempt) and retry.go. The waits are in turn.go (their order), gate.go, quota.go and pace.go.
// origin.go decides where requests may go. auth.go and lease.go have the credentials, connection.go the
// connections, compression.go and decompress.go the encodings, link.go the header Link and recording.go
// what a recording may hold; hint.go has the remedies of errors; clock.go and event.go have types.
//
// # Decisions
//
// One function decides which origins are trusted, for next URLs and redirects alike. Connections to
// other origins are checked when they are made, after name resolution: private addresses are
// refused.
//
// All requests of a run share a lease, which holds their tokens for a limited time. The first
// request that needs a new lease obtains it while the others wait. It is obtained before the time
// limits of an exchange begin, through a separate client for the origin of the token endpoint. So a
// token request has the usual retries, limits and redaction, and cannot block the request that waits
// for it.
//
// Requests wait for the API first (its rate limit, Retry-After), and then for their turn in the
// configured pace. Only the second wait holds up other requests. With a pace that other processes
// share, a request gives up its turn as soon as it has asked for a time, so that all waiting
// requests of a process ask in one message.
package transport
