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
	"github.com/stopwhen/stopwhen/engine/config"
)

func TestCredentialsInGoAreCheckedLikeThoseOfAFile(t *testing.T) {
	users := config.Config{BaseURL: "https://api.test/", Jobs: []config.Job{{Endpoint: "users"}}}
	for _, c := range []struct {
		auth config.Auth
		want string
	}{
		{config.TokenFunc(nil), "the TokenFunc is nil"},
		{(*config.AuthBearer)(nil), "the *config.AuthBearer is nil"},
		{config.AuthBearer{}, "authentication of type bearer needs #token"},
		{config.AuthBasic{Password: "p"}, "authentication of type basic needs username"},
		{config.AuthHeader{Value: "key"}, "authentication of type header needs name"},
		{config.AuthHeader{Name: "X-Key"}, "authentication of type header needs #value"},
		{config.AuthQuery{Value: "key"}, "authentication of type query needs name"},
		{config.AuthQuery{Name: "key"}, "authentication of type query needs #value"},
	} {
		users.Authentication = c.auth
		_, err := engine.New(users)
		require.ErrorAs(t, err, new(engine.Diagnostics))
		require.EqualError(t, err, "api.authentication: "+c.want)

		users.Authentication = nil
		e, err := engine.New(users)
		require.NoError(t, err)
		_, err = e.With(engine.WithAuth(c.auth)).Run(t.Context(), discard)
		require.EqualError(t, err, "api.authentication: "+c.want)
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
		return engine.WithAuth(config.TokenFunc(func(context.Context) (string, error) { return token, nil }))
	}
	file := usersConfig(api.URL, `"method": "response.url", "urlKey": "next", "keep": {"token": "body.token"}, "stopRules": ["page >= 2"]`)
	var checkpoint json.RawMessage
	_, err := load(t, file, bearer("7f3a&token")).Run(t.Context(), func(_ context.Context, page *engine.Page) (err error) {
		if page.Page == 1 {
			checkpoint, err = page.Checkpoint()
		}
		return err
	})
	require.NoError(t, err)
	require.NotContains(t, string(checkpoint), "7f3a")

	links = nil
	again := load(t, file, bearer("second&token"), engine.WithResume(map[string]json.RawMessage{"users": checkpoint}))
	result, err := again.Run(t.Context(), discard)
	require.NoError(t, err)
	require.Equal(t, []string{"second&token"}, links)
	require.NotContains(t, fmt.Sprint(result.Jobs[0].Kept), "second")

	_, err = load(t, file, engine.WithResume(map[string]json.RawMessage{"users": checkpoint})).Run(t.Context(), discard)
	require.ErrorIs(t, err, engine.ErrState)
	require.ErrorContains(t, err, "it needs a bearer token, which the credentials do not have")
}

func TestAKeptValueWithASecretThatHasChangedIsRefused(t *testing.T) {
	var keys []string
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		keys = append(keys, r.URL.Query().Get("again"))
		fmt.Fprintf(w, `{"data": [1], "again": "x-%s"}`, r.URL.Query().Get("key"))
	}))
	defer api.Close()
	run := func(key string, kept map[string]any) (map[string]any, error) {
		e := load(t, fmt.Appendf(nil, `{"api": {"baseUrl": "%s/", "pagination": {"method": "expression", "keep": {"again": "body.again"}, "stopRules": ["true"],
			"nextRequest": {"params": {"again": "kept.again"}, "applyToFirst": true}}},
			"config": {"jobs": [{"endpoint": "users", "dataField": "data", "params": {"#key": %q}}]}}`, api.URL, key),
			engine.WithKept(map[string]map[string]any{"users": kept}))
		result, err := e.Run(t.Context(), discard)
		if err != nil {
			return nil, err
		}
		text, err := json.Marshal(result.Jobs[0].Kept)
		require.NoError(t, err)
		require.NotContains(t, string(text), key)
		return result.Jobs[0].Kept, nil
	}
	kept, err := run("first-secret", nil)
	require.NoError(t, err)
	_, err = run("first-secret", kept)
	require.NoError(t, err)
	require.Equal(t, []string{"", "x-first-secret"}, keys)
	_, err = run("second-secret", kept)
	require.ErrorIs(t, err, engine.ErrState)
	require.ErrorContains(t, err, `again: it contains the secret "config 0", which has changed`)
	require.Len(t, keys, 2)
}
