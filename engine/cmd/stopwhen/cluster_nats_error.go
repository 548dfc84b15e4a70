package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats.go"

	"github.com/stopwhen/stopwhen/runtime/failure"
)

// explain describes why a connection failed, with a remedy. A server that cannot be
// reached is a transient failure; the rest is a mistake in how this command or the server
// is set up, of class config.
func (t *natsTarget) explain(err error) error {
	servers := strings.Join(t.servers, ", ")
	switch {
	case strings.Contains(err.Error(), "root certificate"):
		return &usageError{"--nats-tls-ca: want a PEM file with certificates"}
	case servers == "":
		return &usageError{t.setting() + ": " + plain(err)} // no address was tried
	}
	failed := &failure.Error{Class: failure.Config, Op: opConnect, Err: err}
	for _, explanation := range []func(error) (message, hint string){explainTLS, t.explainLogin, explainProtocol} {
		if message, hint := explanation(err); message != "" {
			failed.Message, failed.Hint = fmt.Sprintf("NATS at %s: %s", servers, message), hint
			return failed
		}
	}
	failed.Class = failure.Transient
	failed.Message = fmt.Sprintf("cannot reach NATS at %s: %s", servers, plain(err))
	failed.Hint = "start a server with stopwhen hub, or name yours with --nats URL"
	if isSilent(err) {
		failed.Message = fmt.Sprintf("what listens at %s does not answer like a NATS server", servers)
		failed.Hint = "name a NATS server with --nats URL; its port is usually 4222"
	}
	return failed
}

// isSilent reports whether the connection was accepted, and nothing arrived through it: a NATS
// server speaks first.
func isSilent(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "read" && op.Timeout()
}

// setting names the flag or the context that says how to connect.
func (t *natsTarget) setting() string {
	switch {
	case !t.useContext:
		return "--nats"
	case t.context == "":
		return "the selected NATS context"
	}
	return "--nats-context"
}

// plain returns a message of the NATS client without its prefix.
func plain(err error) string {
	if errors.Is(err, nats.ErrNoServers) {
		return "connection refused"
	}
	return strings.TrimPrefix(err.Error(), "nats: ")
}

// ownCertificate is the fix for a server that verifies its clients.
const ownCertificate = "name one that it trusts with --nats-tls-cert FILE and --nats-tls-key FILE"

// explainTLS describes an error of TLS.
func explainTLS(err error) (message, hint string) {
	var hostname x509.HostnameError
	switch {
	case errors.Is(err, nats.ErrSecureConnWanted):
		return "the server does not use TLS", "use nats:// instead of tls://, and no --nats-tls-… flag"
	case errors.As(err, new(x509.UnknownAuthorityError)):
		return "the certificate of the server is signed by an unknown authority", "name the authority with --nats-tls-ca FILE"
	case errors.As(err, &hostname):
		return hostname.Error(), "use a name that the certificate has"
	case errors.As(err, new(x509.CertificateInvalidError)):
		return "the certificate of the server is invalid: " + plain(err), ""
	case errors.As(err, new(tls.AlertError)), strings.Contains(err.Error(), "remote error: tls:"):
		return "the server refused the certificate of this client: " + plain(err), ownCertificate
	case strings.Contains(err.Error(), "after TLS handshake"):
		return "the server closed the connection after the TLS handshake; it may require a certificate of this client", ownCertificate
	case errors.As(err, new(tls.RecordHeaderError)), errors.Is(err, nats.ErrTLS):
		return "TLS failed: " + plain(err), ""
	}
	return "", ""
}

// loginErrors are the answers of servers to wrong credentials.
var loginErrors = []error{
	nats.ErrAuthorization, nats.ErrAuthExpired, nats.ErrAuthRevoked, nats.ErrAccountAuthExpired, nats.ErrNkeysNotSupported,
}

// explainLogin describes an error of authentication.
func (t *natsTarget) explainLogin(err error) (message, hint string) {
	if !slices.ContainsFunc(loginErrors, func(known error) bool { return errors.Is(err, known) }) {
		return "", ""
	}
	if expired, ok := credsExpired(t.creds); ok {
		return fmt.Sprintf("the credentials in %s expired on %s", t.creds, expired.UTC().Format(time.RFC3339)), "obtain new ones"
	}
	const ways = "use --nats-creds FILE, --nats-context NAME, or the environment variables NATS_USER and NATS_PASSWORD, or NATS_TOKEN"
	return "the server refused the credentials: " + plain(err), ways
}

// credsExpired returns when the credentials in a file expired. It returns false if they
// did not, or if that is unknown.
func credsExpired(path string) (time.Time, bool) {
	text, err := os.ReadFile(path)
	if err != nil {
		return time.Time{}, false
	}
	token, err := jwt.ParseDecoratedJWT(text)
	if err != nil {
		return time.Time{}, false
	}
	claims, err := jwt.DecodeUserClaims(token)
	if err != nil || claims.Expires == 0 {
		return time.Time{}, false
	}
	expires := time.Unix(claims.Expires, 0)
	return expires, expires.Before(time.Now())
}

// explainProtocol describes the answer of a server that is not a NATS server, or cannot be used.
func explainProtocol(err error) (message, hint string) {
	if errors.Is(err, nats.ErrNoInfoReceived) || strings.Contains(err.Error(), "parse") || errors.Is(err, nats.ErrJsonParse) {
		return "this is not a NATS server", "name one with --nats URL; its port is usually 4222"
	}
	return "", ""
}
