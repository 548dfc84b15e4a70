package transport

import (
	"crypto/tls"
	"net/http"
	"net/url"
)

// WithCertificates returns the default transport, which uses certificates for connections to
// an origin. Other origins neither get the client's certificate nor have to be certified
// by the authorities of these.
func WithCertificates(origin *url.URL, config *tls.Config) http.RoundTripper {
	own := NewTransport()
	own.TLSClientConfig = config.Clone()
	others := NewTransport()
	own.DisableCompression, others.DisableCompression = true, true
	return Negotiated(&certified{origin: origin, own: own, others: others})
}

// certified is a transport with certificates for one origin.
type certified struct {
	origin      *url.URL
	own, others *http.Transport
}

// RoundTrip sends a request.
func (t *certified) RoundTrip(r *http.Request) (*http.Response, error) {
	if SameOrigin(t.origin, r.URL) {
		return t.own.RoundTrip(r)
	}
	return t.others.RoundTrip(r)
}

// CloseIdleConnections closes the connections that are not in use.
func (t *certified) CloseIdleConnections() {
	t.own.CloseIdleConnections()
	t.others.CloseIdleConnections()
}
