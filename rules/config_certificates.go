package rules

import (
	"crypto/tls"
	"crypto/x509"

	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/value"
)

// certificates reads the certificates for connections to the origin of baseUrl. It returns nil if the
// configuration has no certificates.
func (d *decoder) certificates(s settings) *tls.Config {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	found := false
	if ca := s.get("api.caCertificate"); ca.text() != "" {
		d.cfg.Certificates = ca.text()
		found, config.RootCAs = true, x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM([]byte(ca.text())) {
			d.diags.Errorf(diag.Value(ca.path()), "there is no certificate in PEM in this text").
				WithHint("it begins with -----BEGIN CERTIFICATE-----, and has line breaks")
		}
	}
	client := s.firstGiven("api.#clientCertificate", "api.clientCertificate")
	if !client.given() || client.Invalid || value.Empty(client.Value) {
		if !found {
			return nil
		}
		return config
	}
	text, ok := d.secret(client.path(), client.Value, true)
	d.cfg.Certificates += text
	if !ok || d.env.placeholders {
		return config
	}
	pair, err := tls.X509KeyPair([]byte(text), []byte(text))
	if err != nil { // not shown: its text may have parts of the key
		d.diags.Errorf(diag.Value(client.path()), "want a certificate and its private key, both in PEM").
			WithHint("write one after the other, with line breaks, or as {\"env\": \"NAME\"}")
		return config
	}
	config.Certificates = []tls.Certificate{pair}
	return config
}
