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

// authorized runs a job with credentials against an API that shows what a request has.
func authorized(auth *engine.Auth) {
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
	e, err := engine.New(engine.Config{BaseURL: api.URL + "/", Auth: auth, Jobs: []engine.Job{{Endpoint: "users", DataField: "data"}}})
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

func ExampleOAuth2() {
	authorized(engine.OAuth2(engine.OAuth2Options{
		TokenURL: "token", ClientID: "app", ClientSecret: "s3cret", Scopes: []string{"users.read"},
	}))
	// Output: "Bearer for-users.read"
}

func ExampleLogin() {
	authorized(engine.Login(engine.LoginOptions{
		Endpoint: "session", Method: "POST", Params: map[string]any{"user": "ann", "#password": "s3cret"},
		APIHeaders: map[string]string{"X-Key": "login.body.key"},
	}))
	// Output: "k1"
}

func ExampleSign() {
	authorized(engine.Sign(engine.SignOptions{Headers: map[string]string{"X-Key": "request.method + request.path"}}))
	// Output: "GET/users"
}

func ExampleAWS4() {
	authorized(engine.AWS4(engine.AWS4Options{Region: "eu-west-1", Service: "execute-api", AccessKeyID: "AKID", SecretAccessKey: "s3cret"}))
	// Output: "AWS4-HMAC-SHA256 Credential=AKID"
}

func TestCompiledCredentialsAreCheckedLikeThoseOfAFile(t *testing.T) {
	config := engine.Config{BaseURL: "https://api.test/", Jobs: []engine.Job{{Endpoint: "users"}}}
	for _, c := range []struct {
		auth *engine.Auth
		want string
	}{
		{engine.OAuth2(engine.OAuth2Options{}), "authentication of type oauth2 needs tokenUrl"},
		{engine.Login(engine.LoginOptions{Endpoint: "session"}), "authentication of type login needs apiRequest"},
		{engine.Sign(engine.SignOptions{}), "authentication of type sign needs headers or params"},
		{engine.AWS4(engine.AWS4Options{Region: "eu-west-1"}), "authentication of type aws4 needs #secretAccessKey"},
	} {
		config.Auth = c.auth
		_, err := engine.New(config)
		require.ErrorContains(t, err, c.want)
		config.Auth = nil
		_, err = engine.New(config, engine.WithAuth(c.auth))
		require.ErrorContains(t, err, "are for Config.Auth")
	}
}
