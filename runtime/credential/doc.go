// Package credential obtains what the requests of a run are sent with: tokens of OAuth
// 2.0, and signatures. What does not change during a run, such as a fixed key, needs no
// more than package transport.
package credential
