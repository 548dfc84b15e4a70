// Package credential obtains credentials for the requests of a run: tokens of OAuth 2.0, logins,
// and signatures. Constant credentials, such as a fixed key, need only package transport.
//
// # Decisions
//
// The module golang.org/x/oauth2 is not used: it reads the system clock, sends each request once,
// and does not report that a refresh token was replaced. The AWS signature is implemented here and
// tested against the vectors that AWS publishes, because the AWS SDK would be linked into every
// program that embeds the engine.
//
// A new refresh token is stored, under the lock of the store, before the access token is used. A
// signal does not interrupt the request that fetches it, since its response may hold the only valid
// token.
package credential
