package transport

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/runtime/failure"
)

func TestPrivateAndSpecialAddressesAreNotPublic(t *testing.T) {
	for _, c := range []struct {
		public    bool
		addresses string
	}{
		{false, `127.0.0.1 127.9.9.9 ::1 0.0.0.0 :: 0.1.2.3 10.0.0.1 172.16.0.1 172.31.255.255 192.168.1.1 169.254.169.254 fe80::1
			::ffff:169.254.169.254 ::ffff:127.0.0.1 fd00:ec2::254 fc00::1 100.64.0.1 100.127.255.255 64:ff9b::a9fe:a9fe 64:ff9b:1::1
			198.18.0.1 198.19.255.255 192.0.0.1 239.0.0.1 240.0.0.1 255.255.255.255 2002:a00:1::1 2001:0:1::1 224.0.0.1 ff02::1 100::1`},
		{true, `8.8.8.8 1.1.1.1 172.15.0.1 172.32.0.1 192.167.1.1 100.63.255.255 100.128.0.1 198.17.255.255 198.20.0.1
			2606:4700::1111 2a00:1450::1 193.0.0.1`},
	} {
		for address := range strings.FieldsSeq(c.addresses) {
			t.Run(address, func(t *testing.T) { require.Equal(t, c.public, isPublic(netip.MustParseAddr(address))) })
		}
	}
}

// The server on loopback must never be requested, however its address is written.
func TestAResponseCannotPointToAPrivateAddress(t *testing.T) {
	var requests atomic.Int64
	private := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		requests.Add(1)
		_, _ = w.Write([]byte("[]"))
	}))
	defer private.Close()
	port := private.URL[strings.LastIndex(private.URL, ":"):]
	transport := newTransport()
	transport.Proxy = nil
	transport.DialContext = (&net.Dialer{ControlContext: guardDial, Resolver: &net.Resolver{}}).DialContext
	origin, err := url.Parse("https://api.example.com/")
	require.NoError(t, err)
	for _, host := range []string{"127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "127.1", "0", "2130706433", "0x7f000001"} {
		t.Run(host, func(t *testing.T) {
			c := New(Options{Transport: transport, Origin: origin, AnyOrigin: true, Clock: &testClock{}, Retry: RetryPolicy{MaxAttempts: 1}})
			_, err := c.Do(t.Context(), Call{Method: "GET", URL: "http://" + host + port + "/"}, nil)
			require.Error(t, err)
			require.Zero(t, requests.Load())
		})
	}
	t.Run("unless the configuration lists it", func(t *testing.T) {
		c := New(Options{Transport: transport, Origin: origin, AllowedOrigins: []string{private.URL}, Clock: &testClock{}})
		_, err := c.Do(t.Context(), Call{Method: "GET", URL: private.URL}, nil)
		require.NoError(t, err)
		require.EqualValues(t, 1, requests.Load())
	})
}

func TestTheDialerRefusesPrivateAddressesOfGuardedRequestsOnly(t *testing.T) {
	refused := guardDial(guarded(context.Background()), "tcp", "169.254.169.254:80", nil)
	require.ErrorIs(t, refused, failure.ErrPolicy)
	require.ErrorContains(t, refused, "refused: the request goes to 169.254.169.254:80, which is not a public address")
	require.NoError(t, guardDial(context.Background(), "tcp", "169.254.169.254:80", nil), "the configured origin may be private")
	require.NoError(t, guardDial(guarded(context.Background()), "tcp", "8.8.8.8:443", nil))
}

func TestOnlyOtherHostsAreGuarded(t *testing.T) {
	origin, err := url.Parse("https://api.example.com/")
	require.NoError(t, err)
	c := New(Options{Origin: origin, AnyOrigin: true})
	ctx, err := c.guard(t.Context(), "http://localhost:1/")
	require.NoError(t, err)
	require.NotNil(t, ctx.Value(guardKey{}))
	ctx, err = c.guard(t.Context(), "https://api.example.com:8443/")
	require.NoError(t, err)
	require.Nil(t, ctx.Value(guardKey{}))
}

// net/http reads the proxy from the environment once per process, so the test
// runs itself again with a proxy.
func TestThroughAProxyNamesAreResolvedFirst(t *testing.T) {
	if os.Getenv("HTTP_PROXY") != "http://proxy.test:1" {
		again := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
		again.Env = append(os.Environ(), "HTTP_PROXY=http://proxy.test:1", "NO_PROXY=", "no_proxy=")
		out, err := again.CombinedOutput()
		require.NoError(t, err, string(out))
		return
	}
	origin, err := url.Parse("https://api.example.com/")
	require.NoError(t, err)
	c := New(Options{Origin: origin, AnyOrigin: true})
	_, err = c.guard(t.Context(), "http://10.0.0.1/")
	require.ErrorIs(t, err, failure.ErrPolicy)
	_, err = c.Do(t.Context(), Call{Method: "GET", URL: "http://10.0.0.1/users"}, nil)
	require.ErrorContains(t, err, "GET http://10.0.0.1/users: refused")
	ctx, err := c.guard(t.Context(), "http://8.8.8.8/")
	require.NoError(t, err)
	require.Nil(t, ctx.Value(guardKey{}), "the proxy may have a private address")
}
