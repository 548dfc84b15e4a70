package engine_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine"
)

// A job may go to an origin that an item of its parent names. Other jobs may not, and the
// credentials stay at the origin of baseUrl.
func TestAllowedOriginsOfAJobDependOnItsPartition(t *testing.T) {
	config := `{"api": {"baseUrl": "https://api.test/", "authentication": {"type": "bearer", "#token": "t1-secret"}},
		"config": {"jobs": [
			{"id": "sites", "endpoint": "sites"},
			{"id": "pages", "for": {"site": {"items": "sites"}}, "endpoint": "https://{site.host}/pages",
			 "allowedOrigins": ["https://{site.host}"]},
			{"id": "other", "endpoint": "https://a.test/other"}]}}`
	var authorized []string
	e := load(t, []byte(config), engine.WithTransport(transportFunc(func(r *http.Request) (*http.Response, error) {
		authorized = append(authorized, r.URL.Host+" "+r.Header.Get("Authorization"))
		if r.URL.Host == "api.test" {
			return respond(r, `[{"host": "a.test"}, {"host": "b.test"}]`)
		}
		return respond(r, `[{"id": 1}]`)
	})), engine.WithClock(instant{}))
	_, err := e.Run(t.Context(), func(context.Context, *engine.Page) error { return nil })
	require.Equal(t, []string{"api.test Bearer t1-secret", "a.test ", "b.test "}, authorized)
	require.ErrorContains(t, err, "job other, page 1: GET https://a.test/other: refused: points to an origin other than https://api.test")
}

// An item must not lead the run into a private network, whatever origins its job allows.
func TestAnOriginThatAnItemNamesMustBePublic(t *testing.T) {
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `[{"host": "127.0.0.2:1"}]`)
	}))
	defer api.Close()
	e := load(t, []byte(`{"api": {"baseUrl": "`+api.URL+`/"}, "config": {"jobs": [
		{"id": "sites", "endpoint": "sites"},
		{"id": "pages", "for": {"site": {"items": "sites"}}, "endpoint": "http://{+site.host}/pages",
		 "allowedOrigins": ["http://{+site.host}"]}]}}`))
	_, err := e.Run(t.Context(), func(context.Context, *engine.Page) error { return nil })
	require.ErrorContains(t, err, "refused: the request goes to 127.0.0.2:1, which is not a public address")
}
