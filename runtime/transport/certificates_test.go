package transport_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/runtime/transport"
)

// A client's certificate is sent to its origin, and to no other server that asks for one.
func TestCertificatesAreForOneOrigin(t *testing.T) {
	serve := func() (*httptest.Server, *url.URL) {
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if len(r.TLS.PeerCertificates) > 0 {
				w.Header().Set("Client", r.TLS.PeerCertificates[0].SerialNumber.String())
			}
		}))
		s.TLS = &tls.Config{ClientAuth: tls.RequestClientCert}
		s.StartTLS()
		t.Cleanup(s.Close)
		address, err := url.Parse(s.URL)
		require.NoError(t, err)
		return s, address
	}
	own, origin := serve()
	other, _ := serve()
	authorities := x509.NewCertPool()
	authorities.AddCert(own.Certificate())
	through := transport.WithCertificates(origin, &tls.Config{RootCAs: authorities, Certificates: []tls.Certificate{clientCertificate(t)}})
	client := &http.Client{Transport: through}
	defer client.CloseIdleConnections()
	response, err := client.Get(own.URL)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, "42", response.Header.Get("Client"))

	_, err = client.Get(other.URL)
	require.ErrorContains(t, err, "certificate", "another origin is not certified by this authority")

	client.Transport = transport.WithCertificates(origin, &tls.Config{})
	_, err = client.Get(own.URL)
	require.ErrorContains(t, err, "certificate", "the system does not know the authority")
}

// clientCertificate returns a certificate with the serial number 42.
func clientCertificate(t *testing.T) tls.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	of := &x509.Certificate{SerialNumber: big.NewInt(42), NotBefore: time.Unix(0, 0), NotAfter: time.Now().Add(24 * time.Hour)}
	certificate, err := x509.CreateCertificate(rand.Reader, of, of, &key.PublicKey, key)
	require.NoError(t, err)
	return tls.Certificate{Certificate: [][]byte{certificate}, PrivateKey: key}
}
