package engine_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/stopwhen/stopwhen/engine"
)

// largePartitions has partitions whose pages are too large to wait for their turn in memory.
func largePartitions(t *testing.T) *engine.Engine {
	t.Helper()
	fill := strings.Repeat("x", 400_000)
	return load(t, []byte(`{"api": {"baseUrl": "https://api.test/", "pagination": {"method": "pagenum"}}, "config": {"jobs": [
		{"id": "team", "endpoint": "{t}", "dataField": "data", "for": {"t": {"values": [0, 1, 2, 3, 4, 5, 6, 7]}}}]}}`),
		engine.WithTransport(transportFunc(func(r *http.Request) (*http.Response, error) {
			if r.URL.Query().Get("page") == "4" {
				return respond(r, `{"data": []}`)
			}
			item := fmt.Sprintf(`{"of": %q, "fill": "%s"}`, r.URL.RequestURI(), fill)
			return respond(r, `{"data": [`+item+`,`+item+`]}`)
		})))
}

// TestLargePagesWaitForTheirTurn lets partitions run ahead of a slow sink: their pages wait
// in files, and come as without concurrency.
func TestLargePagesWaitForTheirTurn(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	of := func(jobs int) (seen []string) {
		_, err := largePartitions(t).With(engine.WithParallelJobs(jobs)).Run(t.Context(), func(_ context.Context, page *engine.Page) error {
			require.Len(t, page.Lists, 1)
			require.Equal(t, page.Items.Bytes(), page.Lists[0].Items.Bytes())
			for item := range page.Items.All() {
				seen = append(seen, string(item[:30]))
			}
			return nil
		})
		require.NoError(t, err)
		return seen
	}
	want := of(1)
	require.Len(t, want, 8*3*2)
	require.Equal(t, want, of(5))
}

// TestATreeEndsWithItsContextOrItsSink cancels runs of partitions, and lets their sink fail,
// on every page: they end with that error and leave no goroutine.
func TestATreeEndsWithItsContextOrItsSink(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	full := errors.New("full")
	for last := 1; last <= 12; last++ {
		for _, cancels := range []bool{true, false} {
			ctx, cancel := context.WithCancel(t.Context())
			pages := 0
			_, err := largePartitions(t).With(engine.WithParallelJobs(4)).Run(ctx, func(context.Context, *engine.Page) error {
				pages++
				switch {
				case pages < last:
					return nil
				case cancels:
					cancel()
					return nil
				}
				return full
			})
			cancel()
			if cancels {
				require.ErrorIs(t, err, engine.ErrCancelled, "after page %d", last)
			} else {
				require.ErrorIs(t, err, full, "after page %d", last)
				require.Equal(t, last, pages, "no page follows one that the sink did not take")
			}
		}
	}
}
