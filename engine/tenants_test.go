package engine_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine"
)

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
				require.Equal(t, fmt.Sprintf("{\"id\":\"%s-1\"}\n{\"id\":\"%s-2\"}\n", tenant, tenant), items.String())
				told := fmt.Sprint(log.String(), err, result.Jobs, run.Explain())
				for _, secret := range []string{"key-of-", "token-of-", "secret-of-"} {
					require.NotContains(t, told, secret)
				}
				for other := range 100 {
					if name := fmt.Sprintf("t%d", 100+other); name != tenant {
						require.NotContains(t, told, name+".api.test", "of %s", tenant)
					}
				}
				if strings.HasSuffix(tenant, "7") {
					require.ErrorIs(t, err, engine.ErrAPI)
					require.ErrorContains(t, err, "*** with *** may not read this")
					return
				}
				require.NoError(t, err)
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
