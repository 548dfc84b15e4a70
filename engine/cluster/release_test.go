package cluster_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/cluster"
	"github.com/stopwhen/stopwhen/engine/cluster/status"
	"github.com/stopwhen/stopwhen/runtime/failure"
)

// TestAReleasedRunHasOneCollection collects a run that is three times as large as its limit
// on the server, in several attempts that continue each other. Another collection is refused.
func TestAReleasedRunHasOneCollection(t *testing.T) {
	const pages, kilobytes = 30, 10
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("page") == fmt.Sprint(pages+1) {
			fmt.Fprint(w, `[]`)
			return
		}
		fmt.Fprintf(w, `[{"page":%s,"fill":%q}]`, r.URL.Query().Get("page"), strings.Repeat("x", kilobytes<<10))
	}))
	defer api.Close()
	nc := startServer(t)
	js, err := jetstream.New(nc)
	require.NoError(t, err)
	c := open(t, nc, cluster.Options{})
	run, err := c.Submit(t.Context(), cluster.Submission{Run: "large", Name: "large.json", MaxBytes: pages * kilobytes << 10 / 3,
		Text: fmt.Appendf(nil, `{"api": {"baseUrl": "%s/", "pagination": {"method": "pagenum"}}, "config": {"jobs": [{"endpoint": "x"}]}}`, api.URL)})
	require.NoError(t, err)
	work(t, c, cluster.Worker{})
	full := await(t, run, func(s *status.Run) bool { return len(s.Warnings) == 1 && s.Total.Running == 1 })
	require.Contains(t, full.Warnings[0].Hint, "Run.Collect of large with a state and CollectOptions.Release deletes pages that it has written")

	var got []int
	saved := map[string]json.RawMessage{}
	errLater := errors.New("the rest comes later")
	attempt := func(most int) error {
		e, err := run.Engine(engine.WithResume(maps.Clone(saved)))
		require.NoError(t, err)
		n := 0
		_, err = run.Collect(t.Context(), e, func(_ context.Context, page *engine.Page) error {
			if n++; n > most {
				return errLater
			}
			if page.Items.Len() > 0 {
				got = append(got, page.Page)
			}
			saved[page.Root], err = page.Checkpoint()
			return err
		}, cluster.CollectOptions{Release: true})
		return err
	}
	require.ErrorIs(t, attempt(5), errLater)
	require.ErrorIs(t, attempt(10), errLater)
	require.NoError(t, attempt(pages))
	var want []int
	for page := range pages {
		want = append(want, page+1)
	}
	require.Equal(t, want, got)
	stream, err := js.Stream(t.Context(), "STOPWHEN_RUN_large")
	require.NoError(t, err)
	require.EqualValues(t, 1, stream.CachedInfo().State.Msgs, "all pages but the last are released, although no later collection follows")

	again, err := c.Run(t.Context(), "large")
	require.NoError(t, err)
	for _, o := range []cluster.CollectOptions{{}, {Sorted: true}, {Release: true}} {
		e, err := again.Engine()
		require.NoError(t, err)
		_, err = again.Collect(t.Context(), e, func(context.Context, *engine.Page) error { return nil }, o)
		require.ErrorContains(t, err, "pages of run large are no longer on the server: an earlier collection has released those that it wrote")
		var failed *engine.Error
		require.ErrorAs(t, err, &failed)
		require.Equal(t, failure.State, failed.Class)
	}
}
