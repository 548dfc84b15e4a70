package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine"
)

func TestCredentialsInGoAreCheckedLikeThoseOfAFile(t *testing.T) {
	config := engine.Config{BaseURL: "https://api.test/", Jobs: []engine.Job{{Endpoint: "users"}}}
	for _, c := range []struct {
		auth *engine.Auth
		want string
	}{
		{engine.Bearer(nil), "Bearer needs a source of tokens"},
		{engine.Bearer(engine.Token("")), "Bearer needs a token"},
		{engine.Basic("", "p"), "Basic needs a user name"},
		{engine.HeaderKey("", "key"), "HeaderKey needs a name and a key"},
		{engine.HeaderKey("X-Key", ""), "HeaderKey needs a name and a key"},
		{engine.QueryKey("", "key"), "QueryKey needs a name and a key"},
		{engine.QueryKey("key", ""), "QueryKey needs a name and a key"},
	} {
		config.Auth = c.auth
		_, err := engine.New(config)
		require.ErrorAs(t, err, new(engine.Diagnostics))
		require.EqualError(t, err, "Auth: "+c.want)

		config.Auth = nil
		e, err := engine.New(config)
		require.NoError(t, err)
		_, err = e.With(engine.WithAuth(c.auth)).Run(t.Context(), discard)
		require.EqualError(t, err, "Auth: "+c.want)
	}
	for _, kind := range []string{"Bearer", "", "kerberos"} {
		_, err := engine.Load("c.json", fmt.Appendf(nil, `{"api": {"baseUrl": "https://api.test/",
			"authentication": {"type": %q, "#token": "s3cret"}}, "config": {"jobs": [{"endpoint": "users"}]}}`, kind))
		require.ErrorContains(t, err, "api.authentication.type: ")
		require.NotContains(t, err.Error(), "s3cret")
	}
}

func TestTheUserOfBaseURLIsSentWithEveryRequestAndNeverShown(t *testing.T) {
	var users []string
	var api *httptest.Server
	api = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, password, _ := r.BasicAuth()
		users = append(users, name+" "+password)
		next := ""
		if len(users) == 1 {
			next = api.URL + "/users?page=2"
		}
		fmt.Fprintf(w, `{"data": [%d], "next": %q}`, len(users), next)
	}))
	defer api.Close()
	base := strings.Replace(api.URL, "http://", "http://marker-user:p%40ss-marker@", 1)
	e := load(t, usersConfig(base, `"method": "response.url", "urlKey": "next"`))
	var printed strings.Builder
	_, err := e.Run(t.Context(), func(_ context.Context, page *engine.Page) error {
		checkpoint, err := page.Checkpoint()
		fmt.Fprintf(&printed, "%+v %s", page.Record, checkpoint)
		return err
	})
	require.NoError(t, err)
	require.Equal(t, []string{"marker-user p@ss-marker", "marker-user p@ss-marker"}, users)
	printed.WriteString(e.Explain().String())
	require.NotContains(t, printed.String(), "marker")
}

func TestACheckpointHasNoTokenAndTheNextRunUsesItsOwn(t *testing.T) {
	var links []string
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		links = append(links, r.URL.Query().Get("t"))
		token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		fmt.Fprintf(w, `{"data": [1], "next": "users?page=2&t=%s", "token": %q}`, url.QueryEscape(token), token)
	}))
	defer api.Close()
	bearer := func(token string) engine.Option {
		return engine.WithAuth(engine.Bearer(tokenFunc(func(context.Context) (string, error) { return token, nil })))
	}
	config := usersConfig(api.URL, `"method": "response.url", "urlKey": "next", "keep": {"token": "body.token"}, "stopRules": ["page >= 2"]`)
	var checkpoint json.RawMessage
	_, err := load(t, config, bearer("7f3a&token")).Run(t.Context(), func(_ context.Context, page *engine.Page) (err error) {
		if page.Page == 1 {
			checkpoint, err = page.Checkpoint()
		}
		return err
	})
	require.NoError(t, err)
	require.NotContains(t, string(checkpoint), "7f3a")

	links = nil
	again := load(t, config, bearer("second&token"), engine.WithResume(map[string]json.RawMessage{"users": checkpoint}))
	result, err := again.Run(t.Context(), discard)
	require.NoError(t, err)
	require.Equal(t, []string{"second&token"}, links)
	require.NotContains(t, fmt.Sprint(result.Jobs[0].Kept), "second")

	_, err = load(t, config, engine.WithResume(map[string]json.RawMessage{"users": checkpoint})).Run(t.Context(), discard)
	require.ErrorIs(t, err, engine.ErrState)
	require.ErrorContains(t, err, "it needs a bearer token, which the credentials do not have")
}

func TestAKeptSecretIsUsedAgainWithItsPresentValue(t *testing.T) {
	var keys []string
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		keys = append(keys, r.URL.Query().Get("again"))
		fmt.Fprintf(w, `{"data": [1], "again": "x-%s"}`, r.URL.Query().Get("key"))
	}))
	defer api.Close()
	run := func(key string, kept map[string]any) map[string]any {
		e := load(t, fmt.Appendf(nil, `{"api": {"baseUrl": "%s/", "pagination": {"method": "expression", "keep": {"again": "body.again"}, "stopRules": ["true"],
			"nextRequest": {"params": {"again": "kept.again"}, "applyToFirst": true}}},
			"config": {"jobs": [{"endpoint": "users", "dataField": "data", "params": {"#key": %q}}]}}`, api.URL, key),
			engine.WithKept(map[string]map[string]any{"users": kept}))
		result, err := e.Run(t.Context(), discard)
		require.NoError(t, err)
		text, err := json.Marshal(result.Jobs[0].Kept)
		require.NoError(t, err)
		require.NotContains(t, string(text), key)
		return result.Jobs[0].Kept
	}
	kept := run("first-secret", nil)
	run("second-secret", kept)
	require.Equal(t, []string{"", "x-second-secret"}, keys)
}
