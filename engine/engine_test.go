package engine_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/config"
	"github.com/stopwhen/stopwhen/rules"
)

func TestAnEngineIsRunByManyGoroutinesAtOnce(t *testing.T) {
	api := users()
	defer api.Close()
	e, err := engine.Load("users.json", []byte(usersFile), engine.WithBaseURL(api.URL), engine.WithVerdictValues())
	require.NoError(t, err)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			items := 0
			for page, err := range e.Pages(t.Context()) {
				if err != nil {
					t.Error(err)
					return
				}
				items += page.Items.Len()
			}
			if items != 5 {
				t.Errorf("got %d items, want 5", items)
			}
		})
	}
	all.Wait()
}

func TestLeavingTheIterationMakesNoFurtherRequest(t *testing.T) {
	requests := 0
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		requests++
		fmt.Fprintf(w, `{"data": [{"id": %d}, {"id": 0}]}`, requests)
	}))
	defer api.Close()
	e, err := engine.Load("users.json", []byte(usersFile), engine.WithBaseURL(api.URL))
	require.NoError(t, err)
	for page, err := range e.Pages(t.Context()) {
		require.NoError(t, err)
		if page.Page == 2 {
			break
		}
	}
	require.Equal(t, 2, requests)
}

func TestTheErrorOfASinkEndsTheRunAndIsReturned(t *testing.T) {
	api := users()
	defer api.Close()
	e, err := engine.Load("users.json", []byte(usersFile), engine.WithBaseURL(api.URL))
	require.NoError(t, err)
	full := errors.New("disk full")
	result, err := e.Run(t.Context(), func(_ context.Context, page *engine.Page) error {
		if page.Page == 2 {
			return full
		}
		return nil
	})
	require.ErrorIs(t, err, full)
	require.EqualError(t, err, "job users, page 2: disk full")
	require.Equal(t, 2, result.Jobs[0].Items, "the items of the page that the sink refused do not count")
	require.Equal(t, rules.Failed, result.Jobs[0].Outcome)
}

func TestAnErrorNamesItsClassJobAndPage(t *testing.T) {
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("offset") != "0" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		fmt.Fprint(w, `{"data": [1, 2]}`)
	}))
	defer api.Close()
	e, err := engine.Load("users.json", []byte(usersFile), engine.WithBaseURL(api.URL))
	require.NoError(t, err)
	result, err := e.Run(t.Context(), discard)
	var failed *engine.Error
	require.ErrorAs(t, err, &failed)
	require.EqualValues(t, "api", failed.Class)
	require.ErrorIs(t, err, engine.ErrAPI)
	require.Equal(t, []any{"users", 2, 403}, []any{failed.Job, failed.Page, failed.Status})
	require.Equal(t, 2, result.Jobs[0].Items)
	require.Equal(t, "error", result.Jobs[0].Reason)
}

func TestACancelledContextEndsTheRun(t *testing.T) {
	api := users()
	defer api.Close()
	e, err := engine.Load("users.json", []byte(usersFile), engine.WithBaseURL(api.URL))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	_, err = e.Run(ctx, func(context.Context, *engine.Page) error { cancel(); return nil })
	require.ErrorIs(t, err, engine.ErrCancelled)
	require.ErrorIs(t, err, context.Canceled)
}

func TestAConfigurationInGoIsCheckedLikeAFile(t *testing.T) {
	_, err := engine.New(config.Config{
		BaseURL:    "api.example.com",
		Pagination: config.Pagination{Method: config.CustomMethod{Name: "offset", Settings: map[string]any{"limit": 0}}},
		Jobs:       []config.Job{{Endpoint: "users", Method: "PUT"}},
	})
	require.ErrorContains(t, err, "api.baseUrl: not an http or https address")
	require.ErrorContains(t, err, "api.pagination.limit: want a whole number above 0, got 0")
	require.ErrorContains(t, err, `config.jobs[0].method: want GET, POST or FORM, got "PUT"`)
}

func TestDiagnosticsDoNotShowSecrets(t *testing.T) {
	_, err := engine.Load("c.json", []byte(`{"api": {"baseUrl": "https://a.test/",
		"authentication": {"type": "bearer", "#token": "SECRET-7f3a"}, "nme": 1}, "config": {"jobs": [{"endpoint": "x"}]}}`))
	require.ErrorContains(t, err, "***")
	require.NotContains(t, err.Error(), "SECRET-7f3a")
}

// TestCancellingEndsARuleAndThePageIsRequestedAgain lets a rule cancel the run, and then
// compute for a second and fail.
func TestCancellingEndsARuleAndThePageIsRequestedAgain(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("[" + strings.Repeat("1, ", 3000) + "2]"))
	}))
	defer server.Close()
	e, err := engine.Load("config.json", []byte(`{"api": {"baseUrl": "`+server.URL+`", "pagination": {"method": "pagenum", "stopRules": [
		"cancelled() and all(1..400000, items == body)"]}}, "config": {"jobs": [{"endpoint": "x"}]}}`),
		engine.WithFunction("cancelled", func() bool { cancel(); return true }))
	require.NoError(t, err)
	pages := 0
	_, err = e.Run(ctx, func(context.Context, *engine.Page) error {
		pages++
		return nil
	})
	require.ErrorIs(t, err, engine.ErrCancelled)
	require.Zero(t, pages, "the page was not judged, so a resumed run requests it again")
}

// committed notes the jobs that are complete.
type committed struct {
	jobs []string
	err  error
}

func (c *committed) Page(context.Context, *engine.Page) error { return nil }

func (c *committed) Commit(ctx context.Context, job engine.JobResult) error {
	c.jobs = append(c.jobs, job.Job)
	return errors.Join(ctx.Err(), c.err)
}

func TestASinkLearnsWhichJobsAreComplete(t *testing.T) {
	e := load(t, []byte(`{"api": {"baseUrl": "https://api.test/"}, "config": {"jobs": [
		{"id": "good", "endpoint": "good"}, {"id": "bad", "endpoint": "bad"}, {"id": "late", "endpoint": "late"}]}}`),
		engine.WithClock(instant{}), engine.WithKeepGoing(), engine.WithTransport(transportFunc(func(r *http.Request) (*http.Response, error) {
			response, err := respond(r, "[1]")
			if r.URL.Path == "/bad" {
				response.StatusCode = http.StatusForbidden
			}
			return response, err
		})))
	sink := &committed{err: errors.New("disk full")}
	_, err := e.RunTo(t.Context(), sink)
	require.ErrorIs(t, err, engine.ErrAPI)
	require.ErrorIs(t, err, sink.err)
	require.Equal(t, []string{"good", "late"}, sink.jobs)

	_, err = e.RunTo(t.Context(), &committed{})
	_, alone := err.(*engine.Error) //nolint:errorlint // as Run returns it, not wrapped
	require.True(t, alone)

	_, err = e.RunTo(t.Context(), nil)
	require.ErrorIs(t, err, engine.ErrConfig)
}

func TestTheErrorOfAFileThatCannotBeReadHasItsCause(t *testing.T) {
	_, err := engine.LoadFile(filepath.Join(t.TempDir(), "no.json"))
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.ErrorAs(t, err, new(engine.Diagnostics))
}
