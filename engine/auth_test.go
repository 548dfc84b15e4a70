package engine_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
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
	for _, kind := range []string{"Bearer", "", "oauth2"} {
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
