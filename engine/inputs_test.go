package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

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
		{"missing", nil, "input tenant: not set\n   set it with WithInputs tenant=VALUE: the subdomain of the tenant"},
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
	require.Equal(t, "***", run.Redactor().String("SECRET-7f3a"))
	require.Equal(t, "***", e.Redactor().String("no-key-7f3a"))
	explained := run.Explain().String()
	require.Contains(t, explained, "https://api.test/acme/users?page=1&size=2")
	require.NotContains(t, explained, "SECRET-7f3a")
	require.NotEqual(t, run.Fingerprint(), e.With(engine.WithInputs(map[string]any{"tenant": "umbrella"})).Fingerprint(), "a state belongs to a tenant")
	require.NotContains(t, fmt.Sprint(run.Fingerprint()), "SECRET")
}

func TestACheckpointOfAnotherVersionIsRefusedBeforeTheFirstRequest(t *testing.T) {
	e, err := engine.New(config.Config{BaseURL: "https://api.test/", Jobs: []config.Job{{Endpoint: "users"}}})
	require.NoError(t, err)
	for _, token := range []string{`{"done": true}`, `{"version": 2}`, `x`} {
		run := e.With(engine.WithResume(map[string]json.RawMessage{"users": json.RawMessage(token)}))
		require.False(t, run.Ended(), token)
		require.ErrorIs(t, run.Check(), engine.ErrState, token)
		_, err := run.Run(t.Context(), discard)
		require.ErrorIs(t, err, engine.ErrState, token)
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
	var token json.RawMessage
	stop := errors.New("enough")
	_, err = e.With(engine.WithInputs(map[string]any{"tenant": "acme", "key": "SECRET-7f3a"})).
		Run(t.Context(), func(_ context.Context, page *engine.Page) (err error) {
			if token, err = page.Checkpoint(); err != nil {
				return err
			}
			return stop
		})
	require.ErrorIs(t, err, stop)
	require.NotContains(t, string(token), "SECRET-7f3a")

	resume := map[string]json.RawMessage{"users": token}
	_, err = e.With(engine.WithInputs(map[string]any{"tenant": "acme", "key": "ROTATED-0b1c"}), engine.WithResume(resume)).
		Run(t.Context(), func(context.Context, *engine.Page) error { return stop })
	require.ErrorIs(t, err, stop)
	require.Equal(t, []string{"SECRET-7f3a", "ROTATED-0b1c"}, keys)
}

func TestACheckpointOfAnotherJobIsRefused(t *testing.T) {
	e, err := engine.New(config.Config{BaseURL: "https://api.test/", Jobs: []config.Job{{Endpoint: "users"}, {Endpoint: "groups"}}},
		engine.WithTransport(transportFunc(func(r *http.Request) (*http.Response, error) { return respond(r, `[]`) })))
	require.NoError(t, err)
	tokens := map[string]json.RawMessage{}
	_, err = e.Run(t.Context(), func(_ context.Context, page *engine.Page) (err error) {
		tokens[page.Job], err = page.Checkpoint()
		return err
	})
	require.NoError(t, err)
	require.Len(t, tokens, 2)
	swapped := map[string]json.RawMessage{"users": tokens["groups"], "groups": tokens["users"]}
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
