package engine_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/fixtures"
)

// issuing serves one token as the response of a token endpoint and of a login.
func issuing(t *testing.T, token string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		assert.NoError(t, json.NewEncoder(w).Encode(map[string]any{"access_token": token, "refresh_token": token + "-refresh", "expires_in": 3600}))
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// obtained are credentials that a run obtains. %s is the address that issues the token.
var obtained = map[string]string{
	"oauth2": `{"type": "oauth2", "tokenUrl": %q, "clientId": "c", "#refreshToken": "7f3aMARK-first"}`,
	"login": `{"type": "login", "loginRequest": {"endpoint": %q, "params": {"#key": "7f3aMARK-key"}}, "apiRequest": {
		"headers": {"Authorization": "'Token ' + login.body.access_token"}, "params": {"sid": "login.body.access_token"}}}`,
}

func TestObtainedCredentialsDoNotAppearInAnyOutput(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs every case in one goroutine, as other tests do")
	for name, authentication := range obtained {
		for _, secret := range []string{`7f3aMARK+x/é w&"q<>`, "7f3aMARK-plain"} {
			for _, echo := range echoes {
				t.Run(name+"/"+secret+"/"+echo.name, func(t *testing.T) {
					base := echoAPI(t, echo.of(secret)).URL + "/works/"
					auth := fmt.Sprintf(authentication, issuing(t, secret))
					out := runForOutputs(t, fmt.Sprintf(echoConfig, base, `"authentication": `+auth+",", "", `"params": {"a": 1}`))
					for kind, text := range out.text {
						for _, form := range []string{secret, echo.of(secret), "7f3aMARK"} {
							require.NotContains(t, text.String(), form, kind)
						}
					}
				})
			}
		}
	}
}

func TestACheckpointHasNoObtainedTokenAndTheNextRunObtainsItsOwn(t *testing.T) {
	for name, authentication := range obtained {
		t.Run(name, func(t *testing.T) {
			var links []string
			api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				links = append(links, r.URL.Query().Get("t"))
				_, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
				fmt.Fprintf(w, `{"data": [1], "next": "users?page=2&t=%s"}`, url.QueryEscape(token))
			}))
			defer api.Close()
			config := func(token string) []byte {
				plain := string(usersConfig(api.URL, `"method": "response.url", "urlKey": "next", "stopRules": ["page >= 2"]`))
				auth := `"authentication": ` + fmt.Sprintf(authentication, issuing(t, token)) + `, "pagination"`
				return []byte(strings.Replace(plain, `"pagination"`, auth, 1))
			}
			var checkpoint json.RawMessage
			_, err := load(t, config("7f3a&token")).Run(t.Context(), func(_ context.Context, page *engine.Page) (err error) {
				if page.Page == 1 {
					checkpoint, err = page.Checkpoint()
				}
				return err
			})
			require.NoError(t, err)
			require.NotContains(t, string(checkpoint), "7f3a")

			links = nil
			again := load(t, config("second&token"), engine.WithResume(map[string]json.RawMessage{"users": checkpoint}))
			_, err = again.Run(t.Context(), discard)
			require.NoError(t, err)
			require.Equal(t, []string{"second&token"}, links)
		})
	}
}

// signedAPI is an API whose tenants have keys of their own. It checks the signature of each
// request, which covers method, path and query.
func signedAPI(t *testing.T, keys map[string]string) *httptest.Server {
	t.Helper()
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		tenant := strings.Split(r.URL.Path, "/")[1]
		query, given, _ := strings.Cut(r.URL.RawQuery, "&signature=")
		h := hmac.New(sha256.New, []byte(keys[tenant]))
		h.Write([]byte(r.Method + r.URL.EscapedPath() + "?" + query))
		if given != hex.EncodeToString(h.Sum(nil)) {
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprint(w, `{"error": "wrong signature"}`)
			return
		}
		if r.URL.Query().Get("page") == "3" {
			fmt.Fprint(w, `[]`)
			return
		}
		fmt.Fprintf(w, `["%s, page %s"]`, tenant, r.URL.Query().Get("page"))
	}))
	t.Cleanup(api.Close)
	return api
}

func TestACheckpointHasNoComputedKeyAndTheNextRunUsesItsOwn(t *testing.T) {
	var links []string
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		links = append(links, r.URL.Query().Get("t"))
		fmt.Fprintf(w, `{"data": [1], "next": "users?page=2&t=%s"}`, url.QueryEscape(r.Header.Get("X-Key")))
	}))
	defer api.Close()
	e := load(t, fmt.Appendf(nil, `{"inputs": {"key": {"secret": true}}, "api": {"baseUrl": "%s/",
		"authentication": {"type": "header", "name": "X-Key", "#value": {"expr": "'key-of-' + input.key"}},
		"pagination": {"method": "response.url", "urlKey": "next", "stopRules": ["page >= 2"]}},
		"config": {"jobs": [{"endpoint": "users", "dataField": "data"}]}}`, api.URL))
	var checkpoint json.RawMessage
	_, err := e.With(engine.WithInputs(map[string]any{"key": "k7F3a9Xq2Lm8Zt4Rv1Bn"})).Run(t.Context(), func(_ context.Context, page *engine.Page) (err error) {
		if page.Page == 1 {
			checkpoint, err = page.Checkpoint()
		}
		return err
	})
	require.NoError(t, err)
	require.NotContains(t, string(checkpoint), "F3a9")
	links = nil
	again := e.With(engine.WithInputs(map[string]any{"key": "w2Rt8Kp5Hd1Mc6Yq9Zs3"}), engine.WithResume(map[string]json.RawMessage{"users": checkpoint}))
	_, err = again.Run(t.Context(), discard)
	require.NoError(t, err)
	require.Equal(t, []string{"key-of-w2Rt8Kp5Hd1Mc6Yq9Zs3"}, links)
}

func TestOneEngineSignsForManyTenantsAtTheSameTime(t *testing.T) {
	keys := map[string]string{}
	for i := range 20 {
		keys[fmt.Sprintf("tenant-%d", i)] = fmt.Sprintf("s3cret-of-%d", i)
	}
	api := signedAPI(t, keys)
	e := load(t, fmt.Appendf(nil, `{"inputs": {"tenant": {}, "key": {"secret": true}}, "api": {"baseUrl": "%s/{input.tenant}/",
		"pagination": {"method": "pagenum"}, "authentication": {"type": "sign", "params": {
			"signature": "hmac('sha256', input.key, request.method + request.path + '?' + request.query)"}}},
		"config": {"jobs": [{"endpoint": "items"}]}}`, api.URL))
	run := func(tenant, key string) (items []string, err error) {
		_, err = e.With(engine.WithInputs(map[string]any{"tenant": tenant, "key": key}), engine.WithPrefetch(4)).Run(t.Context(),
			func(_ context.Context, page *engine.Page) error {
				for item := range page.Items.All() {
					items = append(items, string(item))
				}
				return nil
			})
		return items, err
	}
	var all sync.WaitGroup
	for tenant, key := range keys {
		all.Go(func() {
			items, err := run(tenant, key)
			if err != nil {
				t.Error(err)
			}
			assert.Equal(t, []string{`"` + tenant + `, page 1"`, `"` + tenant + `, page 2"`}, items)
		})
	}
	all.Wait()
	_, err := run("tenant-1", "s3cret-of-2")
	require.ErrorIs(t, err, engine.ErrAPI)
	require.ErrorContains(t, err, "wrong signature")
}

func TestATokenIsObtainedOnceForManyPagesInFlight(t *testing.T) {
	var mu sync.Mutex
	issued, served := 0, 0
	var api *httptest.Server //nolint:staticcheck // the handler reads it
	api = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case r.URL.Path == "/token":
			issued++
			served = 0
			fmt.Fprintf(w, `{"access_token": "access-%d", "expires_in": 3600}`, issued)
			return
		case r.Header.Get("Authorization") != fmt.Sprintf("Bearer access-%d", issued) || served == 20: // it ends after 20 requests
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		served++
		page, err := strconv.Atoi(r.URL.Query().Get("page"))
		assert.NoError(t, err)
		if page >= 90 {
			fmt.Fprint(w, `{"data": []}`)
			return
		}
		fmt.Fprintf(w, `{"data": [{"id": %d}]}`, page)
	}))
	defer api.Close()
	e := load(t, fmt.Appendf(nil, `{"api": {"baseUrl": "%[1]s/", "pagination": {"method": "pagenum"},
		"authentication": {"type": "oauth2", "tokenUrl": "/token", "clientId": "c", "#clientSecret": "s3cret"}},
		"config": {"jobs": [{"endpoint": "users", "dataField": "data"}]}}`, api.URL), engine.WithPrefetch(4))
	result, err := e.Run(t.Context(), discard)
	require.NoError(t, err)
	require.Equal(t, 89, result.Jobs[0].Items)
	mu.Lock()
	defer mu.Unlock()
	require.GreaterOrEqual(t, issued, 5)
	require.LessOrEqual(t, issued, 8)
}
