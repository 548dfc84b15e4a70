package transport

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/runtime/failure"
)

func TestAddressesInside(t *testing.T) {
	for _, text := range strings.Fields(`127.0.0.1 127.9.9.9 ::1 0.0.0.0 :: 10.0.0.1 172.16.0.1 172.31.255.255 192.168.1.1 169.254.169.254 fe80::1
		::ffff:169.254.169.254 ::ffff:127.0.0.1 fd00:ec2::254 fc00::1 100.64.0.1 100.127.255.255 64:ff9b::a9fe:a9fe 64:ff9b:1::1 198.18.0.1 198.19.255.255 192.0.0.1
		240.0.0.1 255.255.255.255 2002:a00:1::1 2001:0:1::1 224.0.0.1 ff02::1 0.1.2.3 100::1`) {
		require.True(t, inside(netip.MustParseAddr(text)), text)
	}
	for _, text := range strings.Fields(`8.8.8.8 1.1.1.1 172.15.0.1 172.32.0.1 192.167.1.1 100.63.255.255 100.128.0.1 198.17.255.255 198.20.0.1 239.0.0.1 2606:4700::1111 2a00:1450::1 193.0.0.1`) {
		require.Equal(t, text == "239.0.0.1", inside(netip.MustParseAddr(text)), text)
	}
}

// TestAResponseDoesNotLeadInside has next addresses lead to a server on loopback,
// by names and spellings of all kinds: it must not be asked, whoever allows what.
func TestAResponseDoesNotLeadInside(t *testing.T) {
	var asked atomic.Int64
	inner := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { asked.Add(1); _, _ = w.Write([]byte("[]")) }))
	defer inner.Close()
	port := inner.URL[strings.LastIndex(inner.URL, ":"):]
	transport := NewTransport()
	transport.Proxy = nil
	transport.DialContext = (&net.Dialer{ControlContext: guardDial, Resolver: &net.Resolver{}}).DialContext
	origin, err := url.Parse("https://api.example.com/")
	require.NoError(t, err)
	for _, host := range []string{"127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "127.1", "0", "2130706433", "0x7f000001"} {
		c := New(Options{Transport: transport, Origin: origin, AnyOrigin: true, Clock: &testClock{}, Retry: RetryPolicy{MaxAttempts: 1}})
		_, err := c.Do(t.Context(), Call{Method: "GET", URL: "http://" + host + port + "/"}, nil)
		require.Error(t, err, host)
		require.Zero(t, asked.Load(), host)
	}
	// What stands in the configuration as an address was asked for.
	c := New(Options{Transport: transport, Origin: origin, AllowedOrigins: []string{inner.URL}, Clock: &testClock{}})
	_, err = c.Do(t.Context(), Call{Method: "GET", URL: inner.URL}, nil)
	require.NoError(t, err)
	require.EqualValues(t, 1, asked.Load())

	refused := guardDial(guarded(context.Background()), "tcp", "169.254.169.254:80", nil)
	require.ErrorIs(t, refused, failure.ErrPolicy)
	require.ErrorContains(t, refused, "a response leads to 169.254.169.254:80, an address that is not public")
	require.NoError(t, guardDial(context.Background(), "tcp", "169.254.169.254:80", nil), "what is configured may be anywhere")
	require.NoError(t, guardDial(guarded(context.Background()), "tcp", "8.8.8.8:443", nil))
}

// TestThroughAProxyNamesAreResolvedFirst: the proxy would connect inside for us.
func TestThroughAProxyNamesAreResolvedFirst(t *testing.T) {
	origin, err := url.Parse("https://api.example.com/")
	require.NoError(t, err)
	c := New(Options{Origin: origin, AnyOrigin: true})
	ctx, err := c.guard(t.Context(), "http://localhost:1/")
	require.NoError(t, err)
	require.NotNil(t, ctx.Value(guardKey{}), "without a proxy the connection is looked at")
	ctx, err = c.guard(t.Context(), "https://api.example.com:8443/")
	require.NoError(t, err)
	require.Nil(t, ctx.Value(guardKey{}), "the configured host may be inside")
}
