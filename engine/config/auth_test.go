package config_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/config"
)

// authorized runs a job with credentials against an API that shows what a request has.
func authorized(auth config.Auth) {
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/token":
			_ = r.ParseForm()
			fmt.Fprintf(w, `{"access_token": "for-%s", "token_type": "bearer"}`, r.Form.Get("scope"))
		case "/session":
			fmt.Fprint(w, `{"key": "k1"}`)
		default:
			signature, _, _ := strings.Cut(r.Header.Get("Authorization"), "/")
			fmt.Fprintf(w, `{"data": ["%s%s"]}`, signature, r.Header.Get("X-Key"))
		}
	}))
	defer api.Close()
	e, err := engine.New(config.Config{BaseURL: api.URL + "/", Authentication: auth, Jobs: []config.Job{{Endpoint: "users", DataField: "data"}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = e.Run(context.Background(), func(_ context.Context, page *engine.Page) error {
		fmt.Print(string(page.Items.Bytes()))
		return nil
	})
	if err != nil {
		fmt.Println(err)
	}
}

func ExampleAuthOAuth2() {
	authorized(config.AuthOAuth2{
		TokenURL: "token", ClientID: "app", ClientSecret: "s3cret", Scopes: []string{"users.read"},
	})
	// Output: "Bearer for-users.read"
}

func ExampleAuthLogin() {
	authorized(config.AuthLogin{
		LoginRequest: config.LoginRequest{
			Endpoint: "session", Method: "POST", Params: map[string]any{"user": "ann", "#password": "s3cret"},
		},
		APIRequest: config.APIRequest{Headers: map[string]string{"X-Key": "login.body.key"}},
	})
	// Output: "k1"
}

func ExampleAuthSign() {
	authorized(config.AuthSign{Headers: map[string]string{"X-Key": "request.method + request.path"}})
	// Output: "GET/users"
}

func ExampleAuthAWS4() {
	authorized(config.AuthAWS4{Region: "eu-west-1", Service: "execute-api", AccessKeyID: "AKID", SecretAccessKey: "s3cret"})
	// Output: "AWS4-HMAC-SHA256 Credential=AKID"
}

func TestCompiledCredentialsAreCheckedLikeThoseOfAFile(t *testing.T) {
	users := config.Config{BaseURL: "https://api.test/", Jobs: []config.Job{{Endpoint: "users"}}}
	for _, c := range []struct {
		auth config.Auth
		want string
	}{
		{config.AuthOAuth2{}, "authentication of type oauth2 needs tokenUrl"},
		{config.AuthLogin{LoginRequest: config.LoginRequest{Endpoint: "session"}}, "authentication of type login needs apiRequest"},
		{config.AuthSign{}, "authentication of type sign needs headers or params"},
		{config.AuthAWS4{Region: "eu-west-1"}, "authentication of type aws4 needs #secretAccessKey"},
	} {
		users.Authentication = c.auth
		_, err := engine.New(users)
		require.ErrorContains(t, err, c.want)
		users.Authentication = nil
		_, err = engine.New(users, engine.WithAuth(c.auth))
		require.ErrorContains(t, err, "are for the configuration")
	}
}
