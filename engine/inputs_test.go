package engine_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine"
)

// tenants is a configuration whose endpoint and parameters depend on the run.
func tenants(baseURL string) engine.Config {
	return engine.Config{
		BaseURL: baseURL,
		Inputs: map[string]engine.Input{
			"tenant": {Pattern: "[a-z]+", Doc: "the subdomain of the tenant"},
			"size":   {Default: 2},
			"key":    {Secret: true, Default: "no-key-7f3a"},
		},
		Paging: engine.Expression{
			NextRequestEndpoint: "input.tenant + '/users'", NextRequestApplyToFirst: true,
			NextRequestParams:  map[string]string{"page": "page + 1", "size": "input.size"},
			NextRequestHeaders: map[string]string{"X-Key": "input.key"},
			StopRules:          []string{"count < input.size"},
		},
		Jobs: []engine.Job{{ID: "users", Endpoint: "unused", DataField: "."}},
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
			require.NoError(t, err)
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
		{"missing", nil, "input tenant: not set\n   set it with --set tenant=VALUE: the subdomain of the tenant"},
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
		})
	}
}

func TestAnInputThatIsNotDeclaredIsAMistake(t *testing.T) {
	config := tenants("https://api.test/")
	config.Inputs = map[string]engine.Input{"tenants": {}, "size": {Default: []int{1}}, "key": {Pattern: "("}}
	_, err := engine.New(config)
	require.ErrorContains(t, err, "unknown name input.tenant")
	require.ErrorContains(t, err, `did you mean "tenants"?`)
	require.ErrorContains(t, err, "inputs.size.default: want text, a number or a boolean, got a list")
	require.ErrorContains(t, err, "inputs.key.pattern: missing closing )")
}

func TestSecretInputsAreNeverShown(t *testing.T) {
	e, err := engine.New(tenants("https://api.test/"))
	require.NoError(t, err)
	run := e.With(engine.WithInputs(map[string]any{"tenant": "acme", "key": "SECRET-7f3a"}))
	require.Equal(t, "***", run.Redactor().String("SECRET-7f3a"))
	require.Equal(t, "***", e.Redactor().String("no-key-7f3a"))
	explained := run.Explain().String()
	require.Contains(t, explained, "https://api.test/acme/users?page=1&size=2")
	require.NotContains(t, explained, "SECRET-7f3a")
	require.NotEqual(t, run.Fingerprint(), e.With(engine.WithInputs(map[string]any{"tenant": "umbrella"})).Fingerprint(), "a state belongs to a tenant")
	require.NotContains(t, fmt.Sprint(run.Fingerprint()), "SECRET")
}

func TestACheckpointOfAnotherVersionIsRefusedBeforeTheFirstRequest(t *testing.T) {
	e, err := engine.New(engine.Config{BaseURL: "https://api.test/", Jobs: []engine.Job{{Endpoint: "users"}}})
	require.NoError(t, err)
	for _, token := range []string{`{"done": true}`, `{"version": 2}`, `x`} {
		run := e.With(engine.WithResume(map[string]json.RawMessage{"users": json.RawMessage(token)}))
		require.False(t, run.Ended(), token)
		require.ErrorIs(t, run.Check(), engine.ErrState, token)
		_, err := run.Run(t.Context(), discard)
		require.ErrorIs(t, err, engine.ErrState, token)
	}
}
