package engine_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine"
)

// fourJobs is an engine with four jobs that extract the same list of ten pages.
func fourJobs(t *testing.T, api *listAPI) *engine.Engine {
	t.Helper()
	return load(t, fmt.Appendf(nil, `{"api": {"baseUrl": "%s/", "pagination": {"method": "pagenum"}}, "config": {"jobs": [
		{"endpoint": "a", "dataField": "data"}, {"endpoint": "b", "dataField": "data"},
		{"endpoint": "c", "dataField": "data"}, {"endpoint": "d", "dataField": "data"}]}}`, api.URL))
}

func TestParallelJobsDeliverOnePageAtATime(t *testing.T) {
	api := newListAPI(t, 10, "", nil)
	e := fourJobs(t, api).With(engine.WithParallelJobs(3), engine.WithPrefetch(4))
	items := map[string]*bytes.Buffer{}
	active := false
	result, err := e.Run(t.Context(), func(_ context.Context, page *engine.Page) error {
		require.False(t, active, "one page at a time")
		active = true
		defer func() { active = false }()
		if items[page.Job] == nil {
			items[page.Job] = &bytes.Buffer{}
		}
		_, err := page.Items.WriteTo(items[page.Job])
		return err
	})
	require.NoError(t, err)
	require.Greater(t, api.concurrent(), 1)
	require.Len(t, result.Jobs, 4)
	for i, job := range []string{"a", "b", "c", "d"} {
		require.Equal(t, job, result.Jobs[i].Job)
		require.Equal(t, 11, result.Jobs[i].Pages)
		require.Equal(t, 20, bytes.Count(items[job].Bytes(), []byte("\n")))
		require.Equal(t, items["a"].String(), items[job].String())
	}
}

func TestTheFirstErrorEndsAllParallelJobs(t *testing.T) {
	full := errors.New("full")
	failures := 0
	e := fourJobs(t, newListAPI(t, 10, "", nil)).With(engine.WithParallelJobs(4))
	result, err := e.Run(t.Context(), func(_ context.Context, page *engine.Page) error {
		if page.Page == 3 {
			failures++
			return full
		}
		return nil
	})
	require.ErrorIs(t, err, full)
	require.NotEmpty(t, result.Jobs)
	require.Equal(t, 1, failures, "the sink receives no page after its error")
}

func TestPagesYieldsParallelJobsOneAfterAnother(t *testing.T) {
	e := fourJobs(t, newListAPI(t, 10, "", nil)).With(engine.WithParallelJobs(4))
	last := ""
	var order []string
	for page, err := range e.Pages(t.Context()) {
		require.NoError(t, err)
		if page.Job != last {
			last = page.Job
			order = append(order, last)
		}
	}
	require.Equal(t, []string{"a", "b", "c", "d"}, order)
}

func TestJobsThatAreNamedRunAlone(t *testing.T) {
	e := fourJobs(t, newListAPI(t, 1, "", nil)).With(engine.WithJobs("d", "b"))
	require.Equal(t, []string{"b", "d"}, e.Jobs())
	result, err := e.Run(t.Context(), func(context.Context, *engine.Page) error { return nil })
	require.NoError(t, err)
	require.Len(t, result.Jobs, 2)
	require.NotEqual(t, e.Fingerprint(), e.With(engine.WithJobs()).Fingerprint(), "the state of some jobs is not that of all")
	require.ErrorContains(t, e.With(engine.WithJobs("e")).Check(), `the configuration has no job "e"`)
}

func TestKeepGoingEndsWithTheSink(t *testing.T) {
	full := errors.New("full")
	for _, parallel := range []int{1, 4} {
		e := fourJobs(t, newListAPI(t, 3, "", nil)).With(engine.WithKeepGoing(), engine.WithParallelJobs(parallel))
		calls := 0
		_, err := e.Run(t.Context(), func(context.Context, *engine.Page) error { calls++; return full })
		require.ErrorIs(t, err, full)
		require.Equal(t, 1, calls, "the sink receives no page after its error")
	}
}

// TestNoPageFollowsAFailedOne lets a rule fail on page 3 of one of four jobs. The sink must
// receive no page after it, since what belongs to a failed page is not to be saved.
func TestNoPageFollowsAFailedOne(t *testing.T) {
	api := newListAPI(t, 10, "", nil)
	synctest.Test(t, func(t *testing.T) {
		e := load(t, fmt.Appendf(nil, `{"api": {"baseUrl": "%s/", "pagination": {"method": "pagenum",
			"stopRules": [{"when": "job.id == \"a\" and page == 3", "outcome": "failed"}]}}, "config": {"jobs": [
			{"endpoint": "a", "dataField": "data"}, {"endpoint": "b", "dataField": "data"},
			{"endpoint": "c", "dataField": "data"}, {"endpoint": "d", "dataField": "data"}]}}`, api.URL), engine.WithTransport(api)).
			With(engine.WithParallelJobs(4), engine.WithObserver(slowAfter{"a", 3}))
		failed := false
		_, err := e.Run(t.Context(), func(_ context.Context, page *engine.Page) error {
			require.False(t, failed, "page %d of job %s", page.Page, page.Job)
			failed = page.Outcome == "failed"
			return nil
		})
		require.ErrorContains(t, err, "job a, page 3")
		require.True(t, failed)
	})
}

// slowAfter is an observer that delays a job after one of its pages.
type slowAfter struct {
	job  string
	page int
}

func (s slowAfter) Observe(_ context.Context, e engine.Event) {
	if e.Kind == engine.EventPage && e.Job == s.job && e.Page == s.page {
		time.Sleep(50 * time.Millisecond)
	}
}

// A checkpoint is that of the moment at which its page is delivered.
func TestACheckpointIsAvailableUntilTheSinkReturns(t *testing.T) {
	for _, parallel := range []int{1, 4} {
		e := load(t, []byte(orderConfig), engine.WithTransport(ordersAPI{orders: 20})).With(engine.WithParallelJobs(parallel))
		var pages []*engine.Page
		_, err := e.Run(t.Context(), func(_ context.Context, page *engine.Page) error {
			pages = append(pages, page)
			_, err := page.Checkpoint()
			return err
		})
		require.NoError(t, err)
		require.Len(t, pages, 21)
		for _, page := range pages {
			_, err := page.Checkpoint()
			require.ErrorIs(t, err, engine.ErrInternal)
		}
	}
}
