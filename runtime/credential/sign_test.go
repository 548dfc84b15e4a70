package credential

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/runtime/transport"
)

// configured returns the credentials of a configuration, for a run at an origin.
func configured(t *testing.T, base, authentication string, inputs map[string]any) transport.Credentials {
	t.Helper()
	source := diag.NewSource("c.json", fmt.Sprintf(`{"inputs": {"key": {"default": ""}}, "api": {"baseUrl": %q, "authentication": %s},
		"config": {"jobs": [{"endpoint": "users"}]}}`, base, authentication))
	root, err := rules.ParseJSON(source)
	require.NoError(t, err)
	cfg, found := rules.Decode(source, root, rules.Options{})
	require.NoError(t, found.Err())
	compiled, found := compile.Compile(cfg, compile.Options{})
	require.NoError(t, found.Err())
	auth, err := New(cfg.Auth, Options{BaseURL: base, Expressions: compiled.Credentials, Inputs: inputs})
	require.NoError(t, err)
	return auth
}

// exchange requests an address with credentials.
func exchange(t *testing.T, base string, auth transport.Credentials, allowed ...string) (*transport.Response, error) {
	t.Helper()
	origin, err := url.Parse(base)
	require.NoError(t, err)
	client := transport.New(transport.Options{Origin: origin, Auth: auth, AllowedOrigins: allowed})
	t.Cleanup(client.Close)
	return client.Do(t.Context(), transport.Call{Method: "GET", URL: base}, nil)
}

func TestTheUUIDOfARequestIsTheSameInAllExpressions(t *testing.T) {
	var seen []string
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		assert.Equal(t, r.Header.Get("X-Nonce")+"!", r.URL.Query().Get("nonce"))
		seen = append(seen, r.Header.Get("X-Nonce"))
		fmt.Fprint(w, "[]")
	}))
	defer api.Close()
	auth := configured(t, api.URL, `{"type": "sign", "headers": {"X-Nonce": "uuid()"}, "params": {"nonce": "uuid() + '!'"}}`, nil)
	for range 2 {
		_, err := exchange(t, api.URL, auth)
		require.NoError(t, err)
	}
	for _, uuid := range seen {
		require.Regexp(t, `^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`, uuid)
	}
	require.NotEqual(t, seen[0], seen[1])
}

func TestARedirectIsSignedAnewWithinTheOriginOnly(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		assert.Empty(t, r.Header.Get("X-Signed"))
		assert.Empty(t, r.URL.RawQuery)
		fmt.Fprint(w, "[]")
	}))
	defer other.Close()
	var signed []string
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		signed = append(signed, r.Header.Get("X-Signed"))
		to := "/moved"
		if r.URL.Path == to {
			to = other.URL + "/"
		}
		http.Redirect(w, r, to, http.StatusFound)
	}))
	defer api.Close()
	auth := configured(t, api.URL, `{"type": "sign", "headers": {"X-Signed": "request.method + ' ' + request.path"}, "params": {"s": "'1'"}}`, nil)
	_, err := exchange(t, api.URL, auth, other.URL)
	require.NoError(t, err)
	require.Equal(t, []string{"GET /", "GET /moved"}, signed)
}

func TestARequestThatCannotBeSignedIsNotSent(t *testing.T) {
	api := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("it was sent") }))
	defer api.Close()
	auth := configured(t, api.URL, `{"type": "sign", "headers": {"X-Signature": "hmac('sha256', input.key, request.path)"}}`, map[string]any{"key": nil})
	_, err := exchange(t, api.URL, auth)
	require.ErrorContains(t, err, "the request cannot be signed: the value is absent, in hmac('sha256', input.key, request.path) "+
		"(api.authentication.headers.X-Signature, c.json:")
}

func TestALoginAtAnotherOriginHasItsOwnHeadersOnly(t *testing.T) {
	login := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		assert.Empty(t, r.Header.Get("X-Api-Key"))
		assert.Equal(t, "own", r.Header.Get("X-Own"))
		assert.Equal(t, "u=1", r.URL.RawQuery)
		fmt.Fprint(w, `{"token": "t1-token"}`)
	}))
	defer login.Close()
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		assert.Equal(t, "t1-token", r.Header.Get("X-Token"))
		fmt.Fprint(w, "[]")
	}))
	defer api.Close()
	source := diag.NewSource("c.json", fmt.Sprintf(`{"api": {"baseUrl": %q, "http": {"headers": {"#X-Api-Key": "s3cret"}, "defaultOptions": {"params": {"all": 1}}},
		"authentication": {"type": "login", "loginRequest": {"endpoint": %q, "params": {"u": 1}, "headers": {"X-Own": "own"}},
			"apiRequest": {"headers": {"X-Token": "login.body.token"}}}}, "config": {"jobs": [{"endpoint": "users"}]}}`, api.URL, login.URL))
	root, err := rules.ParseJSON(source)
	require.NoError(t, err)
	cfg, found := rules.Decode(source, root, rules.Options{})
	require.NoError(t, found.Err())
	compiled, found := compile.Compile(cfg, compile.Options{})
	require.NoError(t, found.Err())
	auth, err := New(cfg.Auth, Options{BaseURL: api.URL, Expressions: compiled.Credentials})
	require.NoError(t, err)
	_, err = exchange(t, api.URL, auth)
	require.NoError(t, err)
}
