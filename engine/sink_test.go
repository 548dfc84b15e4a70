package engine_test

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine"
)

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

	_, err = e.RunTo(t.Context(), nil)
	require.ErrorIs(t, err, engine.ErrConfig)
}
