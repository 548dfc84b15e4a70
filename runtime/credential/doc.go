// Package credential obtains what the requests of a run are sent with: tokens of OAuth
// 2.0, and signatures. What does not change during a run, such as a fixed key, needs no
// more than package transport.
//
// # Decisions
//
// The module golang.org/x/oauth2 is not used: it reads the system's clock, sends each request
// once, and does not tell when a refresh token was replaced. The signature of AWS is written
// out and tested against the vectors that AWS publishes, because its SDK would be linked into
// every program that embeds the engine.
//
// A refresh token that replaces another is stored while the store is locked, before the access
// token is used. A signal does not interrupt the request that fetches it: its response may
// have the only token that is still valid.
package credential
