package engine_test

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/fixtures"
)

// secretPlaces are the places in which a configuration may have a secret. %[1]s is
// the secret, %[2]s the address of the API.
var secretPlaces = []struct{ name, api, job, inputs string }{
	{name: "credential", api: `"authentication": {"type": "query", "name": "auth_value", "#value": "%[1]s"}`},
	{name: "credential in a header", api: `"authentication": {"type": "header", "name": "X-Own", "#value": "%[1]s"}`},
	{name: "password", api: `"authentication": {"type": "basic", "username": "u", "#password": "%[1]s"}`},
	{name: "header", api: `"http": {"headers": {"#X-Own": "%[1]s"}}`},
	{name: "header from the environment", api: `"http": {"headers": {"X-Own": {"env": "OWN"}}}`},
	{name: "default header from the environment", api: `"http": {"defaultOptions": {"headers": {"X-Own": {"env": "OWN"}}}}`},
	{name: "plain header that looks like one", api: `"http": {"headers": {"X-Api-Key": "%[1]s"}}`},
	{name: "default parameter", api: `"http": {"defaultOptions": {"params": {"#own": "%[1]s"}}}`},
	{name: "job header", job: `"headers": {"X-Own": {"env": "OWN"}}`},
	{name: "job parameter", job: `"params": {"#own": "%[1]s", "other": 1}`},
	{name: "job parameter from the environment", job: `"params": {"own": {"env": "OWN"}}`},
	{name: "job parameter in a list", job: `"params": {"filter": [{"#own": "%[1]s"}, {"a": 1}]}`},
	{name: "plain parameter that looks like one", job: `"params": {"api_key": "%[1]s"}`},
	{name: "nested job parameter", job: `"params": {"filter": {"#own": "%[1]s", "a": 1}}`},
	{name: "secret input", inputs: `"own": {"secret": true}`,
		api: `"pagination": {"method": "expression", "nextRequest": {"params": {"own": "input.own"}, "headers": {"X-Own": "\"Bearer \" + input.own"},
			"applyToFirst": true, "url": "body.next"}}`},
	{name: "secret input in a body", inputs: `"own": {"secret": true}`,
		api: `"pagination": {"method": "expression", "nextRequest": {"body": {"a.b": "input.own"}, "applyToFirst": true, "url": "body.next",
			"includeParams": true}}`, job: `"method": "POST"`},
}

// elsewhere serves an API of two pages, the second of which is at another origin. It
// returns its address, that of the other origin, and the requests to both.
func elsewhere(t *testing.T, redirect int) (api, other *httptest.Server, here, there *strings.Builder) {
	t.Helper()
	here, there = &strings.Builder{}, &strings.Builder{}
	note := func(to *strings.Builder, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(to, "%s %s %v %s\n", r.Method, r.URL, r.Header, body)
	}
	other = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		note(there, r)
		fmt.Fprint(w, `{"data": [2]}`)
	}))
	t.Cleanup(other.Close)
	api = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		note(here, r)
		if redirect != 0 {
			http.Redirect(w, r, other.URL+"/moved", redirect)
			return
		}
		fmt.Fprintf(w, `{"data": [1], "next": "%s/next?page=2"}`, other.URL)
	}))
	t.Cleanup(api.Close)
	return api, other, here, there
}

// secretConfig is a configuration with a secret in a place.
func secretConfig(place int, secret, api, other, method, dialect string, includeParams bool) string {
	p := secretPlaces[place]
	parts := []string{fmt.Sprintf(`"baseUrl": %q, "dialect": %q, "allowedOrigins": [%q]`, api+"/", dialect, other)}
	if !strings.Contains(p.api, `"pagination"`) {
		parts = append(parts, fmt.Sprintf(`"pagination": {"method": "response.url", "urlKey": "next", "includeParams": %t}`, includeParams))
	}
	if p.api != "" {
		parts = append(parts, strings.ReplaceAll(p.api, "%[1]s", secret))
	}
	job := `"endpoint": "users", "dataField": "data"`
	if p.job != "" {
		job += ", " + strings.ReplaceAll(p.job, "%[1]s", secret)
	}
	if !strings.Contains(job, `"method"`) {
		job += fmt.Sprintf(`, "method": %q`, method)
	}
	return fmt.Sprintf(`{"api": {%s}, "inputs": {%s}, "config": {"jobs": [{%s}]}}`, strings.Join(parts, ", "), p.inputs, job)
}

func TestSecretsStayAtTheOrigin(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs a single goroutine")
	const secret = "s3cret-7f3a"
	env := engine.WithEnv(func(string) (string, bool) { return secret, true })
	for i, place := range secretPlaces {
		for _, dialect := range []string{"spec", "keboola"} {
			for _, method := range []string{"GET", "POST", "FORM"} {
				for _, include := range []bool{true, false} {
					for _, redirect := range []int{0, 301, 302, 303, 307, 308} {
						if redirect != 0 && (!include || dialect == "keboola") { // the redirect comes before these matter
							continue
						}
						if dialect == "keboola" && strings.Contains(place.api, `"expression"`) || strings.Contains(place.job, `"method"`) && method != "POST" {
							continue
						}
						name := fmt.Sprintf("%s/%s/%s/include=%t/%d", place.name, dialect, method, include, redirect)
						t.Run(name, func(t *testing.T) {
							api, other, here, there := elsewhere(t, redirect)
							var log strings.Builder
							options := []engine.Option{env, engine.WithLogger(slog.New(slog.NewTextHandler(&log, nil)))}
							if place.inputs != "" {
								options = append(options, engine.WithInputs(map[string]any{"own": secret}))
							}
							e := load(t, []byte(secretConfig(i, secret, api.URL, other.URL, method, dialect, include)), options...)
							result, err := e.Run(t.Context(), discard)
							require.NotContains(t, there.String(), secret)
							require.NotContains(t, there.String(), "dTpzM2NyZXQ", "the user name and the password in base64")
							require.True(t, strings.Contains(here.String(), secret) || strings.Contains(here.String(), "dTpzM2NyZXQ"), here.String())
							switch {
							case redirect == 0:
								require.NoError(t, err)
								require.Equal(t, 2, result.Jobs[0].Items)
								require.NotContains(t, here.String()[1:], "\nGET /users", "one request goes to the API")
							case err == nil:
								require.Contains(t, there.String(), "/moved")
							case redirect >= 307:
								require.ErrorIs(t, err, engine.ErrPolicy)
								require.ErrorContains(t, err, "the body contains a secret")
								require.Empty(t, there.String())
							default:
								require.ErrorContains(t, err, "without its body")
							}
						})
					}
				}
			}
		}
	}
}

// placeOf returns the index of a secret's place.
func placeOf(name string) int {
	return slices.IndexFunc(secretPlaces, func(p struct{ name, api, job, inputs string }) bool { return p.name == name })
}

func TestWithheldSecretsAreReported(t *testing.T) {
	api, other, _, there := elsewhere(t, 0)
	var log strings.Builder
	e := load(t, []byte(secretConfig(placeOf("job parameter"), "s3cret-7f3a", api.URL, other.URL, "GET", "spec", true)),
		engine.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
	_, err := e.Run(t.Context(), discard)
	require.NoError(t, err)
	require.Contains(t, there.String(), "GET /next?page=2&other=1 ")
	require.Contains(t, log.String(), "is made without own: secrets are only sent to that origin")
}

func TestAValueThatTheAPIsOwnLinkCarriesIsTheAPIs(t *testing.T) {
	const secret = "s3cret-7f3a"
	var there string
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		there = r.URL.String()
		fmt.Fprint(w, `{"data": [2]}`)
	}))
	defer other.Close()
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `{"data": [1], "next": "%s/next?own=%s"}`, other.URL, r.URL.Query().Get("own"))
	}))
	defer api.Close()
	e := load(t, []byte(secretConfig(placeOf("job parameter"), secret, api.URL, other.URL, "GET", "spec", true)))
	_, err := e.Run(t.Context(), discard)
	require.NoError(t, err)
	require.Equal(t, "/next?own="+secret+"&other=1", there)
}

func TestASecretInputIsNotPutIntoAForeignAddress(t *testing.T) {
	api, other, _, there := elsewhere(t, 0)
	e := load(t, fmt.Appendf(nil, `{"inputs": {"own": {"secret": true}}, "api": {"baseUrl": "%s/", "allowedOrigins": ["%s"],
		"pagination": {"method": "expression", "state": {"k": {"init": "input.own"}}, "nextRequest": {"url": "body.next + '&k=' + state.k"}}},
		"config": {"jobs": [{"endpoint": "users", "dataField": "data"}]}}`, api.URL, other.URL),
		engine.WithInputs(map[string]any{"own": "s3cret-7f3a"}))
	_, err := e.Run(t.Context(), discard)
	require.ErrorIs(t, err, engine.ErrPolicy)
	require.ErrorContains(t, err, "refused: the address contains a secret")
	require.NotContains(t, err.Error(), "s3cret-7f3a")
	require.Empty(t, there.String())
}
