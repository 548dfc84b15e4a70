package credential

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/runtime/failure"
	"github.com/stopwhen/stopwhen/runtime/redact"
	"github.com/stopwhen/stopwhen/runtime/transport"
)

// rotating is a token endpoint that accepts each refresh token once.
type rotating struct {
	*httptest.Server
	valid  int
	during func() // is called before the response
}

func newRotating(t *testing.T) *rotating {
	t.Helper()
	r := &rotating{valid: 1}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if req.FormValue("refresh_token") != fmt.Sprintf("refresh-%d", r.valid) {
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `{"error": "invalid_grant"}`)
			return
		}
		if r.during != nil {
			r.during()
		}
		r.valid++
		fmt.Fprintf(w, `{"access_token": "access-%d", "refresh_token": "refresh-%d", "expires_in": 3600}`, r.valid, r.valid)
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *rotating) auth() *rules.Auth {
	return &rules.Auth{Type: rules.AuthOAuth2, Path: "api.authentication", RenewBefore: time.Minute, Values: map[string]string{
		"grant": rules.GrantRefresh, "tokenUrl": r.URL, "clientId": "c", "clientAuth": rules.ClientInBody, "refreshToken": "refresh-1",
	}}
}

// memory is a store.
type memory struct {
	tokens map[string]string
	err    error
}

func (m *memory) Update(_ context.Context, key string, change func(string) (string, error)) error {
	token, err := change(m.tokens[key])
	if err != nil || token == "" {
		return err
	}
	if m.err != nil {
		return m.err
	}
	m.tokens[key] = token
	return nil
}

func TestTheNextRunUsesTheStoredRefreshToken(t *testing.T) {
	endpoint, store := newRotating(t), &memory{tokens: map[string]string{}}
	for n := 2; n <= 4; n++ {
		auth, err := New(endpoint.auth(), Options{Store: store})
		require.NoError(t, err)
		lease, err := auth.Obtain(t.Context())
		require.NoError(t, err)
		require.Equal(t, []transport.Pair{{Name: "Authorization", Value: fmt.Sprintf("Bearer access-%d", n)}}, lease.Header)
		require.Len(t, store.tokens, 1)
		for _, stored := range store.tokens {
			require.Equal(t, fmt.Sprintf("refresh-%d", n), stored)
		}
	}
}

func TestANewAuthorizationIsNotHiddenByAStoredToken(t *testing.T) {
	endpoint, store := newRotating(t), &memory{tokens: map[string]string{}}
	first, err := New(endpoint.auth(), Options{Store: store})
	require.NoError(t, err)
	_, err = first.Obtain(t.Context())
	require.NoError(t, err)
	endpoint.valid = 10 // the user authorizes again
	config := endpoint.auth()
	config.Values["refreshToken"] = "refresh-10"
	second, err := New(config, Options{Store: store})
	require.NoError(t, err)
	_, err = second.Obtain(t.Context())
	require.NoError(t, err)
	require.Len(t, store.tokens, 2)
}

func TestATokenThatCannotBeStoredIsNotUsed(t *testing.T) {
	endpoint := newRotating(t)
	redactor := redact.New(nil)
	store := &memory{tokens: map[string]string{}, err: errors.New("disk full: refresh-2")}
	auth, err := New(endpoint.auth(), Options{Options: transport.Options{Redactor: redactor}, Store: store})
	require.NoError(t, err)
	_, err = auth.Obtain(t.Context())
	require.ErrorIs(t, err, failure.ErrIO)
	require.ErrorContains(t, err, "the API has replaced the refresh token, and the new one is lost, because it cannot be stored: disk full: *** (the old token is probably of no use: authorize again, and set #refreshToken)")
}

func TestAnInterruptionDoesNotLoseARotatedToken(t *testing.T) {
	endpoint, store := newRotating(t), &memory{tokens: map[string]string{}}
	ctx, cancel := context.WithCancel(t.Context())
	endpoint.during = cancel // the user presses Ctrl-C while the request is under way
	auth, err := New(endpoint.auth(), Options{Store: store})
	require.NoError(t, err)
	_, err = auth.Obtain(ctx)
	require.NoError(t, err)
	for _, stored := range store.tokens {
		require.Equal(t, "refresh-2", stored)
	}
	require.Len(t, store.tokens, 1)
}

func TestATokenIsRenewedInTime(t *testing.T) {
	sent := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		expires string
		want    time.Duration // after the request; 0: never
	}{
		{"3600", 59 * time.Minute},
		{"3600.5", 59*time.Minute + 500*time.Millisecond},
		{"90", 45 * time.Second}, // half of its lifetime
		{"1", 500 * time.Millisecond},
		{"0", 0},
		{"-5", 0},
		{"", 0},
		{"soon", 0},
		{"NaN", 0},
		{"1e300", 100*365*24*time.Hour - time.Minute},
	} {
		t.Run(c.expires, func(t *testing.T) {
			due := renewal(sent, lifetimeOf(c.expires), time.Minute)
			if c.want == 0 {
				require.True(t, due.IsZero())
				return
			}
			require.Equal(t, sent.Add(c.want), due)
		})
	}
}

func TestTheClientIsEncodedAsTheSpecificationSays(t *testing.T) { // RFC 6749, 2.3.1
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id, secret, ok := r.BasicAuth()
		assert.True(t, ok)
		assert.Equal(t, []string{"my%3Aid", "a+b%25"}, []string{id, secret})
		assert.NoError(t, json.NewEncoder(w).Encode(map[string]any{"access_token": "t"}))
	}))
	defer endpoint.Close()
	auth, err := New(&rules.Auth{Type: rules.AuthOAuth2, Values: map[string]string{
		"grant": rules.GrantClient, "tokenUrl": endpoint.URL, "clientAuth": rules.ClientInHeader, "clientId": "my:id", "clientSecret": "a b%",
	}}, Options{})
	require.NoError(t, err)
	_, err = auth.Obtain(t.Context())
	require.NoError(t, err)
}

func TestATokenRequestIsNotRedirectedToAnotherOrigin(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the other origin was requested") }))
	defer other.Close()
	endpoint := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	defer endpoint.Close()
	auth, err := New(&rules.Auth{Type: rules.AuthOAuth2, Values: map[string]string{
		"grant": rules.GrantClient, "tokenUrl": endpoint.URL, "clientAuth": rules.ClientInHeader, "clientId": "c", "clientSecret": "s3cret",
	}}, Options{})
	require.NoError(t, err)
	_, err = auth.Obtain(t.Context())
	require.ErrorIs(t, err, failure.ErrPolicy)
}

// The hints of statuses are about the pages of a list, where a token endpoint has none.
func TestAnErrorOfATokenRequestHasNoHintAboutAList(t *testing.T) {
	for status, hint := range map[int]string{
		404: "check tokenUrl", 410: "check tokenUrl", 400: "check api.authentication", 422: "check api.authentication",
	} {
		endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			fmt.Fprint(w, `{"error": "invalid_grant"}`)
		}))
		defer endpoint.Close()
		auth, err := New(&rules.Auth{Type: rules.AuthOAuth2, Path: "api.authentication", Values: map[string]string{
			"grant": "client_credentials", "tokenUrl": endpoint.URL, "clientId": "c", "clientSecret": "s",
		}}, Options{})
		require.NoError(t, err)
		_, err = auth.Obtain(t.Context())
		require.ErrorContains(t, err, hint, status)
		require.NotContains(t, err.Error(), "end of the list", status)
	}
}
