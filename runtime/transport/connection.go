package transport

import (
	"bytes"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"
)

// Default returns the default transport of a client: [newTransport], requesting zstd and gzip as
// [Negotiated] does.
func Default() http.RoundTripper { return Negotiated(newTransport()) }

// newTransport returns the default connections of a client, with keep-alive, HTTP/2, the proxy of
// the environment, time limits on connecting, and the guard that refuses connections to private
// addresses. It is exported for programs that change its settings and pass it to [Negotiated].
func newTransport() *http.Transport {
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second, ControlContext: guardDial}).DialContext,
		DisableCompression:     true, // net/http would request gzip, and decompress it more slowly
		ForceAttemptHTTP2:      true,
		HTTP2:                  &http.HTTP2Config{SendPingTimeout: 30 * time.Second, PingTimeout: 30 * time.Second},
		MaxIdleConns:           100,
		MaxIdleConnsPerHost:    16,
		IdleConnTimeout:        90 * time.Second,
		TLSHandshakeTimeout:    15 * time.Second,
		MaxResponseHeaderBytes: 1 << 20,
		ReadBufferSize:         64 << 10,
	}
}

// ProxyPasswords returns the passwords of the proxies of the environment, by the scheme of the
// addresses that are requested through them.
func ProxyPasswords() map[string]string {
	passwords := map[string]string{}
	for _, scheme := range []string{"http", "https"} {
		anywhere := &http.Request{URL: &url.URL{Scheme: scheme, Host: "example.com"}}
		if proxy, err := http.ProxyFromEnvironment(anywhere); err == nil && proxy != nil {
			if password, has := proxy.User.Password(); has {
				passwords[scheme] = password
			}
		}
	}
	return passwords
}

// WithCertificates returns the default transport with the certificates of config for connections to
// an origin. Other origins do not receive the client's certificate, and the authorities of config
// do not apply to them.
func WithCertificates(origin *url.URL, config *tls.Config) http.RoundTripper {
	own := newTransport()
	own.TLSClientConfig = config.Clone()
	return Negotiated(&certifiedTransport{origin: origin, own: own, others: newTransport()})
}

// A certifiedTransport uses certificates for one origin.
type certifiedTransport struct {
	origin      *url.URL
	own, others *http.Transport
}

// RoundTrip implements [http.RoundTripper].
func (t *certifiedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if SameOrigin(t.origin, r.URL) {
		return t.own.RoundTrip(r)
	}
	return t.others.RoundTrip(r)
}

// CloseIdleConnections closes the idle connections of both transports.
func (t *certifiedTransport) CloseIdleConnections() {
	t.own.CloseIdleConnections()
	t.others.CloseIdleConnections()
}

// NewResponse returns a response of an API within this process.
func NewResponse(r *http.Request, status int, header http.Header, body []byte) *http.Response {
	return &http.Response{
		StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: header, Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)),
	}
}
