package engine_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/config"
)

// tenants is a configuration whose endpoint and parameters depend on the run.
func tenants(baseURL string) config.Config {
	return config.Config{
		BaseURL: baseURL,
		Inputs: map[string]config.Input{
			"tenant": {Pattern: "[a-z]+", Doc: "the subdomain of the tenant"},
			"size":   {Default: 2},
			"key":    {Secret: true, Default: "no-key-7f3a"},
		},
		Pagination: config.Pagination{
			Method: config.Expression{},
			NextRequest: config.NextRequest{
				Endpoint: "input.tenant + '/users'", ApplyToFirst: true,
				Params:  map[string]string{"page": "page + 1", "size": "input.size"},
				Headers: map[string]string{"X-Key": "input.key"},
			},
			StopRules: []config.StopRule{{When: "count < input.size"}},
		},
		Jobs: []config.Job{{ID: "users", Endpoint: "unused", DataField: "."}},
	}
}

func TestOneEngineServesTenantsAtTheSameTime(t *testing.T) {
	var mu sync.Mutex
	requests := map[string]int{}
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		requests[r.URL.String()+" "+r.Header.Get("X-Key")]++
		mu.Unlock()
		fmt.Fprint(w, "[1]")
	}))
	defer api.Close()
	e, err := engine.New(tenants(api.URL))
	require.NoError(t, err)
	var all sync.WaitGroup
	for _, tenant := range []string{"acme", "umbrella", "initech"} {
		all.Go(func() {
			run := e.With(engine.WithInputs(map[string]any{"tenant": tenant, "key": tenant + "-key"}))
			_, err := run.Run(t.Context(), discard)
			assert.NoError(t, err)
		})
	}
	all.Wait()
	require.Equal(t, map[string]int{
		"/acme/users?page=1&size=2 acme-key": 1, "/umbrella/users?page=1&size=2 umbrella-key": 1, "/initech/users?page=1&size=2 initech-key": 1,
	}, requests)
}

func TestInputsAreCheckedBeforeTheFirstRequest(t *testing.T) {
	for _, c := range []struct {
		name   string
		inputs map[string]any
		says   string
	}{
		{"missing", nil, "input tenant: not set\n   set it with WithInputs(map[string]any{\"tenant\": VALUE}): the subdomain of the tenant"},
		{"not matching", map[string]any{"tenant": "Acme Inc."}, `input tenant: "Acme Inc." does not match the pattern [a-z]+`},
		{"unknown", map[string]any{"tenant": "acme", "tennant": "x"}, `input tennant: the configuration does not declare it` + "\n" + `   did you mean "tenant"?`},
		{"a list", map[string]any{"tenant": []any{"acme"}}, "input tenant: want text, a number or a boolean, got a list"},
	} {
		t.Run(c.name, func(t *testing.T) {
			e, err := engine.New(tenants("https://api.test/"), engine.WithTransport(transportFunc(func(r *http.Request) (*http.Response, error) {
				t.Errorf("a request was made: %s", r.URL)
				return nil, http.ErrNotSupported
			})))
			require.NoError(t, err)
			run := e.With(engine.WithInputs(c.inputs))
			require.ErrorContains(t, run.Check(), c.says)
			_, err = run.Run(t.Context(), discard)
			require.ErrorContains(t, err, c.says)
			require.ErrorIs(t, err, engine.ErrConfig)
			require.ErrorAs(t, err, new(*engine.Error), "the error of a run names its class")
			require.ErrorAs(t, err, new(engine.Diagnostics))
		})
	}
}

func TestAnInputThatIsNotDeclaredIsAMistake(t *testing.T) {
	declared := tenants("https://api.test/")
	declared.Inputs = map[string]config.Input{"tenants": {}, "size": {Default: []int{1}}, "key": {Pattern: "("}, "open": {Pattern: `\Qa.b`}}
	_, err := engine.New(declared)
	require.ErrorContains(t, err, "unknown name input.tenant")
	require.ErrorContains(t, err, `did you mean "tenants"?`)
	require.ErrorContains(t, err, "inputs.size.default: want text, a number or a boolean, got a list")
	require.ErrorContains(t, err, "inputs.key.pattern: missing closing )")
	require.ErrorContains(t, err, "inputs.open.pattern: missing closing )")
}

func TestSecretInputsAreNeverShown(t *testing.T) {
	e, err := engine.New(tenants("https://api.test/"))
	require.NoError(t, err)
	run := e.With(engine.WithInputs(map[string]any{"tenant": "acme", "key": "SECRET-7f3a"}))
	require.Equal(t, "***", run.Redactor().Text("SECRET-7f3a"))
	require.Equal(t, "***", e.Redactor().Text("no-key-7f3a"))
	explained := run.Explain().String()
	require.Contains(t, explained, "https://api.test/acme/users?page=1&size=2")
	require.NotContains(t, explained, "SECRET-7f3a")
	require.NotEqual(t, run.Fingerprint(), e.With(engine.WithInputs(map[string]any{"tenant": "umbrella"})).Fingerprint(), "a state belongs to a tenant")
	require.NotContains(t, fmt.Sprint(run.Fingerprint()), "SECRET")
}

func TestACheckpointOfAnotherVersionIsRefusedBeforeTheFirstRequest(t *testing.T) {
	e, err := engine.New(config.Config{BaseURL: "https://api.test/", Jobs: []config.Job{{Endpoint: "users"}}})
	require.NoError(t, err)
	for _, checkpoint := range []string{`{"done": true}`, `{"version": 2}`, `x`} {
		run := e.With(engine.WithResume(map[string]json.RawMessage{"users": json.RawMessage(checkpoint)}))
		require.False(t, run.Ended(), checkpoint)
		require.ErrorIs(t, run.Check(), engine.ErrState, checkpoint)
		_, err := run.Run(t.Context(), discard)
		require.ErrorIs(t, err, engine.ErrState, checkpoint)
	}
}

func TestAnInputHasTheTypeOfItsDefault(t *testing.T) {
	declared := tenants("https://api.test/")
	declared.Inputs["full"] = config.Input{Default: true}
	declared.Pagination = config.Pagination{Method: config.Expression{}, NextRequest: config.NextRequest{
		Params: map[string]string{
			"wide": "input.full ? 'yes' : 'no'", "next": "input.size + 1", "tenant": "input.tenant", "key": "input.key",
		},
		ApplyToFirst: true,
	}, StopRules: []config.StopRule{{When: "true"}}}
	for _, c := range []struct {
		name   string
		inputs map[string]any
		want   string
	}{
		{"the defaults", nil, "key=no-key-7f3a&next=3&tenant=acme&wide=yes"},
		{"text of the command line", map[string]any{"full": "false", "size": "5", "key": "12"}, "key=12&next=6&tenant=acme&wide=no"},
		{"values of a program", map[string]any{"full": false, "size": 5}, "key=no-key-7f3a&next=6&tenant=acme&wide=no"},
	} {
		t.Run(c.name, func(t *testing.T) {
			query := ""
			e, err := engine.New(declared, engine.WithTransport(transportFunc(func(r *http.Request) (*http.Response, error) {
				query = r.URL.RawQuery
				return respond(r, `[1]`)
			})))
			require.NoError(t, err)
			inputs := map[string]any{"tenant": "acme"}
			maps.Copy(inputs, c.inputs)
			_, err = e.With(engine.WithInputs(inputs)).Run(t.Context(), discard)
			require.NoError(t, err)
			require.Equal(t, c.want, query)
		})
	}
}

func TestASecretIsNotInACheckpoint(t *testing.T) {
	declared := tenants("https://api.test/")
	declared.Jobs[0].DataField = "data"
	var keys []string
	e, err := engine.New(declared, engine.WithTransport(transportFunc(func(r *http.Request) (*http.Response, error) {
		keys = append(keys, r.Header.Get("X-Key"))
		return respond(r, `{"data": [1, 2], "page": "`+r.URL.Query().Get("page")+`"}`)
	})))
	require.NoError(t, err)
	var checkpoint json.RawMessage
	stop := errors.New("enough")
	_, err = e.With(engine.WithInputs(map[string]any{"tenant": "acme", "key": "k7F3a9Xq2Lm8Zt4Rv1Bn"})).
		Run(t.Context(), func(_ context.Context, page *engine.Page) (err error) {
			if checkpoint, err = page.Checkpoint(); err != nil {
				return err
			}
			return stop
		})
	require.ErrorIs(t, err, stop)
	require.NotContains(t, string(checkpoint), "k7F3a9Xq2Lm8Zt4Rv1Bn")

	resume := map[string]json.RawMessage{"users": checkpoint}
	_, err = e.With(engine.WithInputs(map[string]any{"tenant": "acme", "key": "w2Rt8Kp5Hd1Mc6Yq9Zs3"}), engine.WithResume(resume)).
		Run(t.Context(), func(context.Context, *engine.Page) error { return stop })
	require.ErrorIs(t, err, stop)
	_, err = e.With(engine.WithInputs(map[string]any{"tenant": "acme", "key": "a-password"}), engine.WithResume(resume)).Run(t.Context(), discard)
	require.ErrorIs(t, err, engine.ErrState)
	require.ErrorContains(t, err, `contains the secret "input.key", which has changed`)
	require.Equal(t, []string{"k7F3a9Xq2Lm8Zt4Rv1Bn", "w2Rt8Kp5Hd1Mc6Yq9Zs3"}, keys)
}

func TestACheckpointOfAnotherJobIsRefused(t *testing.T) {
	e, err := engine.New(config.Config{BaseURL: "https://api.test/", Jobs: []config.Job{{Endpoint: "users"}, {Endpoint: "groups"}}},
		engine.WithTransport(transportFunc(func(r *http.Request) (*http.Response, error) { return respond(r, `[]`) })))
	require.NoError(t, err)
	checkpoints := map[string]json.RawMessage{}
	_, err = e.Run(t.Context(), func(_ context.Context, page *engine.Page) (err error) {
		checkpoints[page.Job], err = page.Checkpoint()
		return err
	})
	require.NoError(t, err)
	require.Len(t, checkpoints, 2)
	swapped := map[string]json.RawMessage{"users": checkpoints["groups"], "groups": checkpoints["users"]}
	_, err = e.With(engine.WithResume(swapped)).Run(t.Context(), discard)
	require.ErrorIs(t, err, engine.ErrState)
	require.ErrorContains(t, err, `it belongs to job "groups"`)
}

func TestAnInvalidBaseAddressIsShownAtItsPlace(t *testing.T) {
	const inner = `"inputs": {"host": {}}, "api": {
	"baseUrl": "https://{input.host}/"}, "config": {"jobs": [{"endpoint": "users"}]}`
	for name, text := range map[string]string{"at the top": "{" + inner + "}", "in parameters": `{"parameters": {` + inner + "}}"} {
		t.Run(name, func(t *testing.T) {
			_, err := load(t, []byte(text)).With(engine.WithInputs(map[string]any{"host": "x y"})).Run(t.Context(), func(context.Context, *engine.Page) error { return nil })
			require.ErrorContains(t, err, ":2:13")
		})
	}
}

// The parent of a selected job runs, too, so its endpoint is checked before the first request.
func TestTheEndpointOfAParentOfASelectedJobIsChecked(t *testing.T) {
	const text = `{"inputs": {"id": {}}, "api": {"baseUrl": "https://api.test/"}, "config": {"jobs": [
		{"id": "groups", "endpoint": "groups", "dataField": "data"},
		{"id": "users", "endpoint": "users/{+input.id}", "dataField": "data"},
		{"id": "logins", "endpoint": "logins/{user.id}", "for": {"user": {"items": "users"}}}]}}`
	requests := 0
	api := transportFunc(func(*http.Request) (*http.Response, error) {
		requests++
		return nil, errors.New("no request is expected")
	})
	e := load(t, []byte(text)).With(engine.WithInputs(map[string]any{"id": "a/../b"}), engine.WithTransport(api))
	_, err := e.With(engine.WithJobs("groups", "logins")).Run(t.Context(), discard)
	require.ErrorIs(t, err, engine.ErrConfig)
	require.Zero(t, requests)
}

// tenantConfig is a configuration of which every tenant has its own origin, key and token,
// and its own pace.
const tenantConfig = `{
	"inputs": {"tenant": {"pattern": "t[0-9]+"}, "key": {"secret": true}, "secret": {"secret": true}},
	"api": {"baseUrl": "https://{input.tenant}.api.test/v1/", "pagination": {"method": "pagenum"},
		"authentication": {"type": "oauth2", "tokenUrl": "https://{input.tenant}.api.test/token",
			"clientId": {"expr": "input.tenant"}, "#clientSecret": {"expr": "input.secret"}},
		"http": {"requestsPerSecond": 1, "maxRetries": 0, "headers": {"#X-Key": {"expr": "input.key"}}}},
	"config": {"jobs": [{"id": "users", "endpoint": "users/{input.tenant}", "dataField": "data"}]}}`

// tenantsAPI has an origin for each tenant, which accepts only that tenant's credentials.
type tenantsAPI struct {
	mu   sync.Mutex
	made map[string][]string // by host: requests, with the second in which they were made
	bad  []string            // credentials that an origin got and must not have
}

func (a *tenantsAPI) RoundTrip(r *http.Request) (*http.Response, error) {
	tenant, _, _ := strings.Cut(r.URL.Host, ".")
	var sent strings.Builder
	_ = r.Header.Write(&sent)
	if r.Body != nil {
		_, _ = io.Copy(&sent, r.Body)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	at := time.Since(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)).Seconds()
	a.made[tenant] = append(a.made[tenant], fmt.Sprintf("%.0f %s", at, r.URL.RequestURI()))
	answer := func(status int, body string) (*http.Response, error) {
		return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}},
			Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
	}
	if r.URL.Path == "/token" {
		user, password, _ := r.BasicAuth()
		if user != tenant || password != "secret-of-"+tenant {
			a.bad = append(a.bad, tenant+" got "+user)
		}
		return answer(200, fmt.Sprintf(`{"access_token": "token-of-%s", "token_type": "Bearer", "expires_in": 3600}`, tenant))
	}
	if r.Header.Get("Authorization") != "Bearer token-of-"+tenant || r.Header.Get("X-Key") != "key-of-"+tenant {
		a.bad = append(a.bad, tenant+" got "+sent.String())
	}
	switch page := r.URL.Query().Get("page"); {
	case page == "3" && strings.HasSuffix(tenant, "7"): // its error repeats the credentials
		return answer(403, fmt.Sprintf(`{"error": "key-of-%s with token-of-%s may not read this"}`, tenant, tenant))
	case page == "3":
		return answer(200, `{"data": []}`)
	default:
		return answer(200, fmt.Sprintf(`{"data": [{"id": %q}]}`, tenant+"-"+page))
	}
}

func TestOneEngineServesAHundredTenantsAtTheSameTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := &tenantsAPI{made: map[string][]string{}}
		e := load(t, []byte(tenantConfig), engine.WithTransport(api))
		var all sync.WaitGroup
		for i := range 100 {
			tenant := fmt.Sprintf("t%d", 100+i)
			all.Go(func() {
				var log, items bytes.Buffer
				run := e.With(
					engine.WithInputs(map[string]any{"tenant": tenant, "key": "key-of-" + tenant, "secret": "secret-of-" + tenant}),
					engine.WithLogger(slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))),
				)
				result, err := run.Run(t.Context(), func(_ context.Context, page *engine.Page) error {
					_, err := page.Items.WriteTo(&items)
					return err
				})
				assert.Equal(t, fmt.Sprintf("{\"id\":\"%s-1\"}\n{\"id\":\"%s-2\"}\n", tenant, tenant), items.String())
				told := fmt.Sprint(log.String(), err, result.Jobs, run.Explain())
				for _, secret := range []string{"key-of-", "token-of-", "secret-of-"} {
					assert.NotContains(t, told, secret)
				}
				for other := range 100 {
					if name := fmt.Sprintf("t%d", 100+other); name != tenant {
						assert.NotContains(t, told, name+".api.test", "of %s", tenant)
					}
				}
				if strings.HasSuffix(tenant, "7") {
					assert.ErrorIs(t, err, engine.ErrAPI)
					assert.ErrorContains(t, err, "*** with *** may not read this")
					return
				}
				assert.NoError(t, err)
			})
		}
		all.Wait()
		require.Empty(t, api.bad)
		require.Len(t, api.made, 100)
		for tenant, made := range api.made {
			path := "/v1/users/" + tenant + "?page="
			require.Equal(t, []string{"0 /token", "1 " + path + "1", "2 " + path + "2", "3 " + path + "3"}, made, "the pace is that of a run")
		}
		require.NotContains(t, e.Explain().String(), "-of-", "the engine holds nothing of its tenants")
	})
}

func TestOptionsRefuseNegativeNumbers(t *testing.T) {
	users := config.Config{BaseURL: "https://api.test/", Jobs: []config.Job{{Endpoint: "users"}}}
	for _, c := range []struct {
		option engine.Option
		want   string
	}{
		{engine.WithMaxPages(-1), "WithMaxPages: want a number of pages, got -1"},
		{engine.WithParallelJobs(-1), "WithParallelJobs: want a number of jobs, got -1"},
		{engine.WithPrefetch(-2), "WithPrefetch: want a number of pages, or AutoPrefetch, got -2"},
		{engine.WithTimeout(-time.Second), "WithTimeout: want a duration of 0 or more, got -1s"},
	} {
		_, err := engine.New(users, c.option)
		require.EqualError(t, err, c.want)
		require.ErrorAs(t, err, new(engine.Diagnostics))

		if changed, ofRun := c.option.(engine.RunOption); ofRun {
			e, err := engine.New(users)
			require.NoError(t, err)
			_, err = e.With(changed).Run(t.Context(), discard)
			require.EqualError(t, err, c.want)
		}
	}
	for _, option := range []engine.Option{engine.WithPrefetch(engine.AutoPrefetch), engine.WithParallelJobs(0), engine.WithTimeout(0)} {
		_, err := engine.New(users, option)
		require.NoError(t, err)
	}
}

func TestARunWithoutASinkIsRefused(t *testing.T) {
	e, err := engine.New(config.Config{BaseURL: "https://api.test/", Jobs: []config.Job{{Endpoint: "users"}}})
	require.NoError(t, err)
	_, err = e.Run(t.Context(), nil)
	require.ErrorIs(t, err, engine.ErrConfig)
	_, err = e.RunTo(t.Context(), nil)
	require.ErrorIs(t, err, engine.ErrConfig)
}
