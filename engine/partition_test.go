package engine_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/config"
	"github.com/stopwhen/stopwhen/rules"
)

// A configuration in Go has variables in their order, and expressions as values.
func TestPartitionsOfAConfigurationInGo(t *testing.T) {
	var requests []string
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests = append(requests, r.URL.String())
		fmt.Fprint(w, `[{"id": 1}]`)
	}))
	defer api.Close()
	silent := false
	e, err := engine.New(config.Config{BaseURL: api.URL + "/", Limits: config.Limits{Partitions: 10}, Jobs: []config.Job{
		{ID: "teams", Endpoint: "teams", Emit: &silent},
		{Endpoint: "teams/{team.id}/{kind}",
			Params: map[string]any{"since": config.Expr("day.from.Format('2006-01-02')")},
			For: []config.ForVariable{
				{Name: "team", Items: "teams"},
				{Name: "kind", Values: []string{"users", "bots"}},
				{Name: "day", From: "2026-01-01", To: "2026-01-03", Step: "1d"},
			}},
	}})
	require.NoError(t, err)
	result, err := e.Run(t.Context(), discard)
	require.NoError(t, err)
	require.Equal(t, []string{
		"/teams",
		"/teams/1/users?since=2026-01-01", "/teams/1/users?since=2026-01-02",
		"/teams/1/bots?since=2026-01-01", "/teams/1/bots?since=2026-01-02",
	}, requests)
	require.Equal(t, 4, result.Jobs[1].Partitions.Count)
	require.Equal(t, 4, result.Jobs[1].Items)
}

// A run of one job requests the jobs that it is for, without writing them, and no others.
func TestARunOfOneJobRequestsOnlyThatJobAndItsParents(t *testing.T) {
	var requests []string
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests = append(requests, r.URL.String())
		fmt.Fprint(w, `[{"id": 1}]`)
	}))
	defer api.Close()
	e, err := engine.New(config.Config{BaseURL: api.URL + "/", Jobs: []config.Job{
		{ID: "teams", Endpoint: "teams"},
		{ID: "users", Endpoint: "teams/{team.id}/users", For: []config.ForVariable{{Name: "team", Items: "teams"}}},
		{ID: "bots", Endpoint: "teams/{team.id}/bots", For: []config.ForVariable{{Name: "team", Items: "teams"}}},
		{ID: "keys", Endpoint: "users/{user.id}/keys", For: []config.ForVariable{{Name: "user", Items: "users"}}},
		{ID: "other", Endpoint: "other"},
	}})
	require.NoError(t, err)
	for selected, want := range map[string][]string{
		"teams": {"/teams"},
		"users": {"/teams", "/teams/1/users"},
		"bots":  {"/teams", "/teams/1/bots"},
		"keys":  {"/teams", "/teams/1/users", "/users/1/keys"},
		"other": {"/other"},
	} {
		t.Run(selected, func(t *testing.T) {
			requests = nil
			var written []string
			_, err := e.With(engine.WithJobs(selected)).Run(t.Context(), func(_ context.Context, page *engine.Page) error {
				for range page.Items.All() {
					written = append(written, page.Job)
				}
				return nil
			})
			require.NoError(t, err)
			require.Equal(t, want, requests)
			require.Equal(t, []string{selected}, written)
		})
	}
}

// The pages on which partitions fail come in the order of the pages, whatever runs at the
// same time.
func TestPagesOfSkippedPartitionsComeInOrder(t *testing.T) {
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/b" || r.URL.Path == "/d" {
			w.WriteHeader(http.StatusForbidden)
		}
		fmt.Fprint(w, `[{"id": 1}]`)
	}))
	defer api.Close()
	e, err := engine.New(config.Config{BaseURL: api.URL + "/", Jobs: []config.Job{{
		ID: "teams", Endpoint: "{team}", OnPartitionError: "skip",
		For: []config.ForVariable{{Name: "team", Values: []string{"a", "b", "c", "d"}}},
	}}})
	require.NoError(t, err)
	for _, parallel := range []int{1, 4} {
		t.Run(fmt.Sprint(parallel, " at a time"), func(t *testing.T) {
			var pages []string
			note := func(page *engine.Page) {
				pages = append(pages, fmt.Sprint(page.Root, " ", page.Partition["team"], " ", page.Skipped, " ", page.Items.Len()))
			}
			result, err := e.With(engine.WithParallelJobs(parallel), engine.WithSkippedPages(note)).Run(t.Context(),
				func(_ context.Context, page *engine.Page) error {
					note(page)
					return nil
				})
			require.NoError(t, err)
			require.Equal(t, []string{"teams a false 1", "teams b true 0", "teams c false 1", "teams d true 0"}, pages)
			ends := result.Jobs[0].Partitions
			require.Equal(t, []int{4, 2, 2, 0}, []int{ends.Count, ends.Complete, ends.Skipped, ends.Failed})
		})
	}
}

// A record belongs to the sink: changing it changes neither the next one nor a checkpoint.
func TestASinkMayChangeItsRecord(t *testing.T) {
	e := load(t, []byte(`{"api": {"baseUrl": "https://api.test/", "pagination": {"method": "pagenum"}}, "config": {"jobs": [
		{"id": "a", "endpoint": "a", "dataField": "data", "for": {"v": {"values": "[{x: 'p'}]"}}}]}}`),
		engine.WithTransport(transportFunc(func(r *http.Request) (*http.Response, error) {
			if page := r.URL.Query().Get("page"); page == "" || page == "1" || page == "2" {
				return respond(r, `{"data": [{"id": "`+page+`"}]}`)
			}
			return respond(r, `{"data": []}`)
		})))
	pages := 0
	_, err := e.Run(t.Context(), func(_ context.Context, page *engine.Page) error {
		pages++
		require.Equal(t, map[string]any{"v": rules.Object{{Name: "x", Value: "p"}}}, page.Partition)
		page.Partition["v"].(rules.Object)[0].Value = "changed"
		page.Partition["w"] = "added"
		checkpoint, err := page.Checkpoint()
		require.NotContains(t, string(checkpoint), "changed")
		require.NotContains(t, string(checkpoint), "added")
		return err
	})
	require.NoError(t, err)
	require.Equal(t, 3, pages)
}

// interrupting is a sink that cancels the run with its first page, and has the jobs that it commits.
type interrupting struct {
	cancel func()
	jobs   []string
}

func (c *interrupting) Page(context.Context, *engine.Page) error { c.cancel(); return nil }
func (c *interrupting) Commit(_ context.Context, r engine.JobResult) error {
	c.jobs = append(c.jobs, r.Job)
	return nil
}

// The first of two regions is limited, or skipped, when the run is interrupted. A job that has read one of
// its partitions has not ended.
func TestAJobIsNotOverBecauseItsFirstPartitionIsLimitedOrSkipped(t *testing.T) {
	for name, job := range map[string]string{
		"limited": `"pagination": {"method": "pagenum", "forceStop": {"pages": 1}}`,
		"skipped": `"onPartitionError": "skip"`,
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			e, err := engine.Load("c.json", []byte(`{"api": {"baseUrl": "http://api.test/"}, "config": {"jobs": [
			{"id": "orders", "endpoint": "{region}/orders", "for": {"region": {"values": ["eu", "us"]}}, `+job+`}]}}`))
			require.NoError(t, err)
			sink := &interrupting{cancel: cancel}
			result, err := e.With(engine.WithSkippedPages(func(*engine.Page) { cancel() }),
				engine.WithTransport(transportFunc(func(r *http.Request) (*http.Response, error) {
					response, err := respond(r, `[{"id": 1}, {"id": 2}]`)
					if name == "skipped" {
						response.StatusCode = http.StatusNotFound
					}
					return response, err
				}))).RunTo(ctx, sink)
			require.ErrorIs(t, err, engine.ErrCancelled)
			require.Empty(t, sink.jobs)
			require.Equal(t, rules.Failed, result.Jobs[0].Outcome)
			require.Equal(t, "the run ended after 1 partition of this job", result.Jobs[0].Message)
		})
	}
}
