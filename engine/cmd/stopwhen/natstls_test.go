package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine/cluster/hub"
)

// certificate writes a certificate for 127.0.0.1 that is its own authority, and its key.
func certificate(t *testing.T) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "hub"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	signed, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	require.NoError(t, err)
	encoded, err := x509.MarshalPKCS8PrivateKey(private)
	require.NoError(t, err)
	dir := t.TempDir()
	cert = write(t, filepath.Join(dir, "cert.pem"), string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signed})))
	key = write(t, filepath.Join(dir, "key.pem"), string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded})))
	return cert, key
}

func TestConnectionsWithTLS(t *testing.T) {
	clearNATS(t)
	cert, key := certificate(t)
	other, otherKey := certificate(t)
	server := startTestHub(t, hub.Options{TLSCert: cert, TLSKey: key})
	mutual := startTestHub(t, hub.Options{TLSCert: cert, TLSKey: key, TLSCA: cert})
	require.True(t, strings.HasPrefix(server, "tls://"))
	for _, test := range []struct {
		name  string
		flags natsFlags
		want  string // empty: it connects
	}{
		{"known authority", natsFlags{urls: server, tlsCA: cert}, ""},
		{"known authority and nats://", natsFlags{urls: strings.Replace(server, "tls", "nats", 1), tlsCA: cert}, ""},
		{"client certificate", natsFlags{urls: mutual, tlsCA: cert, tlsCert: cert, tlsKey: key}, ""},
		{"no authority", natsFlags{urls: server}, "signed by an unknown authority (name the authority with --nats-tls-ca FILE)"},
		{"another authority", natsFlags{urls: server, tlsCA: other}, "signed by an unknown authority"},
		{"another name", natsFlags{urls: strings.Replace(server, "127.0.0.1", "localhost", 1), tlsCA: cert}, "wanted to match localhost (use a name that the certificate has)"},
		{"no client certificate", natsFlags{urls: mutual, tlsCA: cert}, "--nats-tls-cert FILE and --nats-tls-key FILE"},
		{"another client certificate", natsFlags{urls: mutual, tlsCA: cert, tlsCert: other, tlsKey: otherKey}, "--nats-tls-cert FILE and --nats-tls-key FILE"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, printed, err := tryConnect(t, test.flags)
			if test.want == "" {
				require.NoError(t, err, printed)
				return
			}
			require.Contains(t, printed, test.want)
			require.Equal(t, exitUsage, exitStatus(err), printed)
		})
	}
}
