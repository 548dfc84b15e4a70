package transport

import (
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/runtime/failure"
)

func TestAStatusDecidesBetweenSuccessRetryAndFailure(t *testing.T) {
	for _, c := range []struct {
		name     string
		statuses []int
		class    failure.Class // "" is success
		requests int64
	}{
		{"success", []int{200, 201, 203, 204}, "", 1},
		{"success that is not a page", []int{202, 206, 304}, failure.Response, 1},
		{"permanent error", []int{400, 401, 403, 404, 422, 501, 505, 599}, failure.API, 1},
		{"transient error", []int{408, 429, 500, 502, 503, 504, 529}, failure.Transient, 5},
	} {
		for _, code := range c.statuses {
			t.Run(c.name+" "+strconv.Itoa(code), func(t *testing.T) {
				s, n := serve(t, status(code))
				client, _ := clientFor(t, s.URL)
				r, e := get(t, client, s.URL)
				require.Equal(t, c.requests, n.Load())
				if c.class == "" {
					require.Nil(t, e)
					require.Equal(t, code, r.Status)
					return
				}
				require.NotNil(t, e)
				require.Equal(t, c.class, e.Class)
				require.Equal(t, code, e.Status)
				require.ErrorIs(t, e, &failure.Error{Class: c.class})
			})
		}
	}
}

func TestAnErrorResponseNamesStatusAddressBodyAndFix(t *testing.T) {
	s, _ := serve(t, status(404, "Content-Type", "application/json"))
	c, _ := clientFor(t, s.URL)
	_, e := get(t, c, s.URL+"/users?page=3")
	require.Equal(t, "GET "+s.URL+`/users?page=3: status 404 Not Found; the response (application/json) begins with "{\"status\": 404}" `+
		`(check baseUrl and endpoint; if this page is past the end of the list, `+
		`stop before it with nextPageFlag, forceStop or stopRules, or stop there with onError)`, e.Error())
}

func TestADecisionAboutAnErrorResponseIsFollowed(t *testing.T) {
	s, n := serve(t, status(400), status(200))
	c, _ := clientFor(t, s.URL)
	do := func(d ErrorDecision) (*Response, error) {
		n.Store(0)
		return c.Do(t.Context(), Call{Method: "GET", URL: s.URL}, func(*Response) ErrorDecision { return d })
	}
	r, err := do(ErrorDecision{Action: Accept})
	require.NoError(t, err)
	require.Equal(t, 400, r.Status)
	r, err = do(ErrorDecision{Action: Retry})
	require.NoError(t, err)
	require.Equal(t, 200, r.Status)
	_, err = do(ErrorDecision{Action: Fail, Message: "no such page"})
	require.ErrorIs(t, err, failure.ErrAPI)
	require.ErrorContains(t, err, "no such page")
}

func TestADecisionAboutAStatusThatIsNotThatOfAPageIsFollowed(t *testing.T) {
	for _, code := range []int{202, 304} {
		s, n := serve(t, status(code), status(200))
		c, _ := clientFor(t, s.URL)
		r, err := c.Do(t.Context(), Call{Method: "GET", URL: s.URL}, func(*Response) ErrorDecision { return ErrorDecision{Action: Accept} })
		require.NoError(t, err)
		require.Equal(t, code, r.Status)
		n.Store(0)
		r, err = c.Do(t.Context(), Call{Method: "GET", URL: s.URL}, func(*Response) ErrorDecision { return ErrorDecision{Action: Retry} })
		require.NoError(t, err)
		require.Equal(t, 200, r.Status)
	}
}

func TestAResponseThatIsNotHTTPIsRefused(t *testing.T) {
	address, _ := serveRaw(t, "SSH-2.0-OpenSSH_9.2\r\n")
	c, _ := clientFor(t, address)
	_, e := get(t, c, address)
	require.Equal(t, failure.API, e.Class)
	require.Contains(t, e.Error(), "malformed HTTP")
}

// A transport may return the same error to several runs, such as one of the errors for errors.Is.
func TestTheErrorOfATransportStaysAsItIs(t *testing.T) {
	shared := &failure.Error{Class: failure.API}
	refuse := roundTrip(func(*http.Request) (*http.Response, error) { return nil, shared })
	c, _ := clientFor(t, "http://api.test/", func(o *Options) { o.Transport = refuse })
	_, e := get(t, c, "http://api.test/users")
	require.Equal(t, "http://api.test/users", e.URL)
	require.Equal(t, &failure.Error{Class: failure.API}, shared)
	require.ErrorIs(t, e, shared)
}

func TestAMalformedResponseOfAHostThatSpeaksHTTPIsRetried(t *testing.T) {
	const page = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n[]"
	address, n := serveRaw(t, page, "]\r\n"+page, page)
	c, _ := clientFor(t, address)
	for range 2 {
		r, e := get(t, c, address)
		require.Nil(t, e)
		require.Equal(t, "[]", string(r.Body))
	}
	require.EqualValues(t, 3, n.Load())
}

func TestACertificateThatIsNotTrustedIsNotRetried(t *testing.T) {
	var n atomic.Int64
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { n.Add(1) }))
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // it logs the failed handshake
	s.StartTLS()
	defer s.Close()
	c, clock := clientFor(t, s.URL)
	_, e := get(t, c, s.URL)
	require.Equal(t, failure.API, e.Class)
	require.Contains(t, e.Error(), "certificate")
	require.Empty(t, clock.waits)
	require.Zero(t, n.Load())
}

func TestAHostThatARedirectLeadsToIsNamed(t *testing.T) {
	const private = "refused: the request goes to 10.0.0.1, which is not a public address " +
		"(only the host of baseUrl, or an IP address listed in api.allowedOrigins, may be private)"
	for name, c := range map[string]struct {
		failure error
		want    string
	}{
		"unknown": {&net.DNSError{Err: "no such host", Name: "10.0.0.1", IsNotFound: true}, "unknown host 10.0.0.1"},
		"private": {notPublic("10.0.0.1"), private},
	} {
		t.Run(name, func(t *testing.T) {
			client, _ := clientFor(t, "http://api.test/", func(o *Options) {
				o.AnyOrigin = true
				o.Transport = roundTrip(func(r *http.Request) (*http.Response, error) {
					if r.URL.Host == "10.0.0.1" {
						return nil, c.failure
					}
					return NewResponse(r, http.StatusSeeOther, http.Header{"Location": {"http://10.0.0.1/users?signature=s"}}, nil), nil
				})
			})
			_, err := client.Do(t.Context(), Call{Method: "POST", URL: "http://api.test/users"}, nil)
			require.EqualError(t, err, "GET http://10.0.0.1/users: "+c.want)
		})
	}
}

func TestAnUnknownHostIsNotRetriedOnTheFirstRequest(t *testing.T) {
	c, clock := clientFor(t, "http://api.test/", func(o *Options) {
		o.Transport = roundTrip(func(*http.Request) (*http.Response, error) {
			return nil, &net.DNSError{Err: "no such host", Name: "api.test", IsNotFound: true}
		})
	})
	_, e := get(t, c, "http://api.test/users")
	require.Equal(t, "GET http://api.test/users: unknown host api.test (check api.baseUrl)", e.Error())
	require.Empty(t, clock.waits)
}
