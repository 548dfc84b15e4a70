package studio_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine/workbench"
	"github.com/stopwhen/stopwhen/engine/workbench/studio"
)

// echo answers every call with its method.
type echo struct{}

func (echo) Call(_ context.Context, method string, _ json.RawMessage) (any, error) {
	if method == "fail" {
		return nil, &workbench.Error{Message: "no <script>alert(1)</script>", Hint: "another one"}
	}
	return method, nil
}

// A site is a running server.
type site struct {
	t *testing.T
	*studio.Server
	base, token string
}

func serve(t *testing.T) *site {
	t.Helper()
	server, err := studio.Listen("127.0.0.1:0", echo{})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- server.Serve(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-done)
	})
	address, err := url.Parse(server.Address())
	require.NoError(t, err)
	return &site{t, server, "http://" + address.Host, address.Query().Get("token")}
}

// send sends a request, after a change, and returns the status and the body.
func (s *site) send(method, path, body string, change func(*http.Request)) (int, http.Header, string) {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.base+path, strings.NewReader(body))
	require.NoError(s.t, err)
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Origin", s.base)
		r.Header.Set(studio.TokenHeader, s.token)
	}
	if change != nil {
		change(r)
	}
	response, err := http.DefaultTransport.RoundTrip(r) // without the redirects of a client
	require.NoError(s.t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(s.t, err)
	return response.StatusCode, response.Header, string(text)
}

func TestACallNeedsTheTokenTheHostAndTheOrigin(t *testing.T) {
	s := serve(t)
	status, _, body := s.send(http.MethodPost, "/call/open", "{}", nil)
	require.Equal(t, http.StatusOK, status)
	require.JSONEq(t, `{"result":"open"}`, body)
	header := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	for name, change := range map[string]func(*http.Request){
		"a foreign host":                    func(r *http.Request) { r.Host = "attacker.example" },
		"a name that resolves to loopback":  func(r *http.Request) { r.Host = strings.Replace(r.Host, "127.0.0.1", "localtest.me", 1) },
		"another port":                      func(r *http.Request) { r.Host = "127.0.0.1:1" },
		"a foreign origin":                  header("Origin", "https://attacker.example"),
		"another program on the machine":    header("Origin", "http://127.0.0.1:1"),
		"an origin with the same beginning": header("Origin", s.base+".attacker.example"),
		"the origin of a file":              header("Origin", "null"),
		"no origin":                         func(r *http.Request) { r.Header.Del("Origin") },
		"no token":                          func(r *http.Request) { r.Header.Del(studio.TokenHeader) },
		"an empty token":                    header(studio.TokenHeader, ""),
		"a wrong token":                     header(studio.TokenHeader, strings.Repeat("0", 64)),
		"the beginning of the token":        header(studio.TokenHeader, s.token[:63]),
		"the token in the address, no header": func(r *http.Request) {
			r.Header.Del(studio.TokenHeader)
			r.URL.RawQuery = "token=" + s.token
		},
	} {
		t.Run(name, func(t *testing.T) {
			status, _, body := s.send(http.MethodPost, "/call/open", "{}", change)
			require.Equal(t, http.StatusForbidden, status)
			require.NotContains(t, body, "result")
			require.NotContains(t, body, s.token)
		})
	}
}

func TestAFormOfAnotherPageCannotCall(t *testing.T) {
	s := serve(t)
	for _, kind := range []string{"text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"} {
		status, _, _ := s.send(http.MethodPost, "/call/open", "{}", func(r *http.Request) { r.Header.Set("Content-Type", kind) })
		require.Equal(t, http.StatusUnsupportedMediaType, status)
	}
	status, _, _ := s.send(http.MethodGet, "/call/open?token="+s.token, "", nil)
	require.Equal(t, http.StatusMethodNotAllowed, status)
}

func TestThePageIsServedAndNothingElse(t *testing.T) {
	s := serve(t)
	for _, path := range []string{"/", "/?token=" + s.token, "/index.html", "/main.js", "/style.css", "/icon.svg"} {
		status, header, body := s.send(http.MethodGet, path, "", nil)
		require.Equal(t, http.StatusOK, status, path)
		require.NotEmpty(t, body)
		require.NotContains(t, body, s.token, "the page has no token in it")
		require.Equal(t, "nosniff", header.Get("X-Content-Type-Options"))
	}
	for _, path := range []string{
		"/assets/main.js", "/server.go", "/../server.go", "/..%2fserver.go", "/%2e%2e/server.go", "/..\\server.go", "//etc/passwd",
		"/main.js/", "/.", "/..", "/call", "/web/src/main.ts",
	} {
		status, _, body := s.send(http.MethodGet, path, "", func(r *http.Request) { r.URL.Opaque = "//" + r.Host + path })
		require.Contains(t, []int{http.StatusNotFound, http.StatusBadRequest}, status, path)
		require.NotContains(t, body, "package studio")
	}
	status, _, _ := s.send(http.MethodGet, "/?token=wrong", "", nil)
	require.Equal(t, http.StatusForbidden, status)
	status, _, _ = s.send(http.MethodGet, "/", "", func(r *http.Request) { r.Host = "attacker.example" })
	require.Equal(t, http.StatusForbidden, status)
	status, _, _ = s.send(http.MethodPost, "/", "", nil)
	require.Equal(t, http.StatusMethodNotAllowed, status)
}

func TestThePolicyAllowsOnlyTheFilesOfThePage(t *testing.T) {
	s := serve(t)
	_, header, page := s.send(http.MethodGet, "/", "", nil)
	policy := header.Get("Content-Security-Policy")
	require.Contains(t, policy, "default-src 'none'")
	for _, weak := range []string{"unsafe", "http:", "https:", "data:", "blob:", "*", "nonce", "sha256"} {
		require.NotContains(t, policy, weak)
	}
	require.Equal(t, "DENY", header.Get("X-Frame-Options"))
	require.Empty(t, header.Get("Access-Control-Allow-Origin"))
	require.NotRegexp(t, `(?i)<script(?:[^>]*)>[^<]|<style|\son\w+=|\sstyle=|https?://`, page)
}

func TestAnAddressForABrowserCanBeOpenedOnce(t *testing.T) {
	s := serve(t)
	launch, err := url.Parse(s.Launch())
	require.NoError(t, err)
	once := launch.Query().Get("token")
	require.NotEqual(t, s.token, once)
	with := func(r *http.Request) { r.Header.Set(studio.TokenHeader, once) }

	status, _, _ := s.send(http.MethodPost, "/call/open", "{}", with)
	require.Equal(t, http.StatusForbidden, status, "it is not a token for calls")
	status, _, body := s.send(http.MethodPost, "/call/enter", "{}", with)
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, body, s.token)
	status, _, body = s.send(http.MethodPost, "/call/enter", "{}", with)
	require.Equal(t, http.StatusForbidden, status, "another user has seen it in the list of processes")
	require.NotContains(t, body, s.token)
}

func TestAnErrorIsJSONWhoseTextCannotEndAScript(t *testing.T) {
	s := serve(t)
	_, header, body := s.send(http.MethodPost, "/call/fail", "{}", nil)
	require.Equal(t, "application/json", header.Get("Content-Type"))
	require.NotContains(t, body, "<")
	require.JSONEq(t, `{"error":{"message":"no <script>alert(1)</script>","hint":"another one"}}`, body)
}

func TestOnlyLoopbackAddressesAreListenedOn(t *testing.T) {
	for _, address := range []string{"0.0.0.0:0", ":0", "[::]:0", "192.0.2.1:0", "example.com:0"} {
		_, err := studio.Listen(address, echo{})
		require.ErrorContains(t, err, "is not a loopback address", address)
	}
	_, err := studio.Listen("8080", echo{})
	require.ErrorContains(t, err, "want HOST:PORT")
}

// The sources of the page build elements from texts, and never parse HTML.
func TestThePageNeverParsesHTML(t *testing.T) {
	sources, err := filepath.Glob("web/src/*.ts")
	require.NoError(t, err)
	require.NotEmpty(t, sources)
	for _, path := range sources {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		require.NotRegexp(t, `innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|srcdoc`, string(text), path)
	}
}
