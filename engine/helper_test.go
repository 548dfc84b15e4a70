package engine_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine"
)

// discard is a sink that keeps nothing.
func discard(context.Context, *engine.Page) error { return nil }

// usersConfig is a configuration of one job, whose items are in data.
func usersConfig(baseURL, pagination string) []byte {
	return fmt.Appendf(nil, `{"api": {"baseUrl": "%s/", "pagination": {%s}}, "config": {"jobs": [{"endpoint": "users", "dataField": "data"}]}}`,
		baseURL, pagination)
}

// load compiles a configuration.
func load(t require.TestingT, config []byte, options ...engine.Option) *engine.Engine {
	e, err := engine.Load("c.json", config, options...)
	require.NoError(t, err)
	return e
}

// transportFunc is a transport without a network.
type transportFunc func(*http.Request) (*http.Response, error)

func (f transportFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// respond returns a response with status 200.
func respond(r *http.Request, body string) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
}

// instant is a clock on which waiting takes no time.
type instant struct{}

func (instant) Now() time.Time                                   { return time.Now() }
func (instant) Sleep(ctx context.Context, _ time.Duration) error { return ctx.Err() }
