package transport

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/runtime/failure"
)

func TestCredentialsGoToTheOriginOnly(t *testing.T) {
	const marker = "SECRET-7f3a"
	var elsewhere bytes.Buffer
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = r.Write(&elsewhere)
		fmt.Fprint(w, "[]")
	}))
	defer other.Close()
	var here bytes.Buffer
	s, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_ = r.Write(&here)
		http.Redirect(w, r, other.URL+"/next", http.StatusFound)
	})
	for _, c := range []struct {
		name  string
		allow func(*Options)
	}{
		{"the other origin is allowed", func(o *Options) { o.AllowedOrigins = []string{other.URL} }},
		{"any origin is allowed", func(o *Options) { o.AnyOrigin = true }},
	} {
		t.Run(c.name, func(t *testing.T) {
			here.Reset()
			elsewhere.Reset()
			client, _ := clientFor(t, s.URL, c.allow, func(o *Options) {
				o.Auth = BearerAuth(marker)
				o.Auth.Query = []Pair{{"api_key", marker}}
				o.SecretHeaders = []string{"x-key"}
			})
			call := Call{Method: "GET", URL: s.URL + "/?a=1", Header: http.Header{"X-Key": {marker}, "Cookie": {marker}}}
			r, err := client.Do(t.Context(), call, nil)
			require.NoError(t, err)
			require.Equal(t, other.URL+"/next", r.URL)
			require.Contains(t, here.String(), "Authorization: Bearer "+marker)
			require.Contains(t, here.String(), "GET /?a=1&api_key="+marker)
			require.Contains(t, elsewhere.String(), "GET /next")
			require.NotContains(t, elsewhere.String(), marker)
			require.NotContains(t, elsewhere.String(), "Referer")
		})
	}
}

func TestARedirectLoopEnds(t *testing.T) {
	s, n := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/again", http.StatusTemporaryRedirect)
	})
	c, _ := clientFor(t, s.URL)
	_, e := get(t, c, s.URL)
	require.Equal(t, failure.API, e.Class)
	require.Contains(t, e.Message, "more than 10 redirects")
	require.EqualValues(t, 11, n.Load())
}

func TestARedirectDoesNotDropTheBody(t *testing.T) {
	for _, c := range []struct {
		status int
		want   string // the redirected request; "" is an error
	}{{301, ""}, {302, ""}, {303, "GET "}, {307, `POST {"a":1}`}, {308, `POST {"a":1}`}} {
		t.Run(strconv.Itoa(c.status), func(t *testing.T) {
			var got string
			s, _ := serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/there", c.status) },
				func(w http.ResponseWriter, r *http.Request) {
					body, _ := io.ReadAll(r.Body)
					got = r.Method + " " + string(body)
					fmt.Fprint(w, "[]")
				})
			client, _ := clientFor(t, s.URL)
			call := Call{Method: "POST", URL: s.URL, Body: []byte(`{"a":1}`), Header: http.Header{"Content-Type": {"application/json"}}}
			_, err := client.Do(t.Context(), call, nil)
			if c.want == "" {
				require.ErrorIs(t, err, failure.ErrAPI)
				require.ErrorContains(t, err, fmt.Sprintf("status %d redirects a POST to %s/there without its body", c.status, s.URL))
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
}

func TestTheHostHeaderIsSent(t *testing.T) {
	s, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "identity")
		fmt.Fprint(w, r.Host)
	})
	c, _ := clientFor(t, s.URL)
	call := Call{Method: "GET", URL: s.URL, Header: http.Header{"Host": {"virtual.test"}}}
	r, err := c.Do(t.Context(), call, nil)
	require.NoError(t, err)
	require.Equal(t, "virtual.test", string(r.Body))
}

func TestOneConnectionServesAllRequestsAndGzipIsDecompressed(t *testing.T) {
	var connections atomic.Int64
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = io.WriteString(w, zipped(`{"data": [1]}`))
		}
	}))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	s.Start()
	defer s.Close()
	c, _ := clientFor(t, s.URL)
	for range 5 {
		r, e := get(t, c, s.URL)
		require.Nil(t, e)
		require.Equal(t, `{"data": [1]}`, string(r.Body))
	}
	require.EqualValues(t, 1, connections.Load())
}
