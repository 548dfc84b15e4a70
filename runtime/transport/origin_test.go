package transport

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/runtime/failure"
)

func TestOtherOriginsAreRefusedBeforeAnyConnection(t *testing.T) {
	var requests atomic.Int64
	c, _ := clientFor(t, "https://api.test/v1/", func(o *Options) {
		o.Transport = roundTrip(func(r *http.Request) (*http.Response, error) {
			requests.Add(1)
			return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("[]")), Request: r}, nil
		})
	})
	for _, tt := range []struct{ name, address, want string }{
		{"scheme", "http://api.test/v1/", "refused: points to an origin other than https://api.test"},
		{"port", "https://api.test:8443/", "refused: points to an origin other than"},
		{"host", "https://evil.test/", `add "https://evil.test" to api.allowedOrigins`},
		{"host that begins alike", "https://api.test.evil.test/", "refused: points to an origin other than"},
		{"user", "https://user:pw@api.test/", "the URL contains a user name"},
		{"user that looks like the host", "https://api.test@evil.test/", "the URL contains a user name"},
		{"file", "file:///etc/passwd", `scheme "file" is not allowed`},
		{"gopher", "gopher://api.test/", `scheme "gopher" is not allowed`},
		{"script", "javascript:alert(1)", `scheme "javascript" is not allowed`},
		{"opaque", "https:evil", "the URL has no host"},
		{"no host", "https:///x", "the URL has no host"},
		{"invalid", "https://api.test:port/", "the URL is invalid"},
		{"loopback", "https://[::1]/", "refused: points to an origin other than"},
		{"link-local", "https://169.254.169.254/", "refused: points to an origin other than"},
		{"too long", "https://api.test/" + strings.Repeat("x", 8<<10), "the URL is longer than 8192 bytes"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, e := get(t, c, tt.address)
			require.NotNil(t, e)
			require.Equal(t, failure.Policy, e.Class)
			require.Contains(t, e.Error(), tt.want)
			require.Less(t, len(e.Error()), 300)
		})
	}
	require.Zero(t, requests.Load())
	for _, tt := range []struct{ name, address string }{
		{"upper case", "https://API.test/x"}, {"trailing dot and default port", "https://api.test.:443/x"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, e := get(t, c, tt.address)
			require.Nil(t, e)
		})
	}
	require.EqualValues(t, 2, requests.Load())
}

func TestAClientWithoutAnOriginTrustsNone(t *testing.T) {
	var sent []string
	options := Options{Auth: BearerAuth("t0ken"), Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		sent = append(sent, r.Header.Get("Authorization"))
		return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("[]")), Request: r}, nil
	})}
	c := New(options)
	_, e := get(t, c, "https://api.test/")
	require.NotNil(t, e)
	require.Contains(t, e.Error(), "refused: points to an origin other than the allowed origins")
	require.False(t, c.Trusts("https://api.test/"))
	require.False(t, c.Trusts(""))
	require.Empty(t, sent)
	options.AnyOrigin = true
	_, e = get(t, New(options), "https://api.test/")
	require.Nil(t, e)
	require.Equal(t, []string{""}, sent, "no origin receives the credentials")
}

func TestTheDefaultPortIsOfTheSameOrigin(t *testing.T) {
	for _, tt := range []struct {
		origin, address string
		same            bool
		name            string // of the address
	}{
		{"https://api.test", "https://api.test:443/x", true, "https://api.test"},
		{"https://api.test:443", "https://API.test/x", true, "https://api.test"},
		{"http://api.test:80", "http://api.test/x", true, "http://api.test"},
		{"http://api.test", "https://api.test/x", true, "https://api.test"},
		{"http://api.test:8080", "https://api.test/x", false, "https://api.test"},
		{"https://api.test", "http://api.test:443/x", false, "http://api.test:443"},
		{"https://[::1]:443", "https://[::1]/x", true, "https://[::1]"},
		{"https://api.test", "https://api.test:8443/x", false, "https://api.test:8443"},
	} {
		origin, err := url.Parse(tt.origin)
		require.NoError(t, err)
		address, err := url.Parse(tt.address)
		require.NoError(t, err)
		require.Equal(t, tt.same, SameOrigin(origin, address), tt.address)
		require.Equal(t, tt.name, OriginOf(address))
	}
}

func FuzzOrigin(f *testing.F) {
	for _, seed := range []string{
		"https://api.test/x", "https://api.test@evil/", "//evil", "https:evil", "HTTPS://API.TEST:443", "https://api.test\\@evil",
	} {
		f.Add(seed)
	}
	origin, _ := url.Parse("https://api.test/v1/")
	c := New(Options{Origin: origin})
	f.Fuzz(func(t *testing.T, address string) {
		if _, err := c.trustOf(Call{Method: "GET", URL: address}); err != nil {
			return
		}
		u, err := url.Parse(address)
		require.NoError(t, err)
		require.Nil(t, u.User)
		require.Equal(t, "https", u.Scheme)
		require.Equal(t, "api.test", strings.TrimSuffix(strings.ToLower(u.Hostname()), "."))
		require.Contains(t, []string{"", "443"}, u.Port())
	})
}
