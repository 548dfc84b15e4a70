package engine_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/fixtures"
)

const pollOfTenMinutes = `{
	"api": {"baseUrl": "http://api.test/", "pagination": {"method": "expression", "nextRequest": {"after": "10m"},
		"forceStop": {"time": "1 hour"}, "stopRules": ["body.done"]}},
	"config": {"jobs": [{"endpoint": "export"}]}}`

// exports answers with an export that is done at the n-th request, and records when each
// request was made.
func exports(n int) (engine.Option, func() []time.Duration) {
	began := time.Now()
	var made []time.Duration
	return engine.WithTransport(transportFunc(func(r *http.Request) (*http.Response, error) {
		made = append(made, time.Since(began))
		body := `{"done": false}`
		if len(made) == n {
			body = `{"done": true}`
		}
		return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}},
			Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
	})), func() []time.Duration { return made }
}

func TestAPollThatIsInterruptedWaitsForTheRestOfTheTimeWhenItResumes(t *testing.T) {
	for _, c := range []struct {
		name    string
		resumed time.Duration // after the first run began
		want    time.Duration // when the second request is made
	}{
		{"within the wait", 4 * time.Minute, 10 * time.Minute},
		{"after it", 25 * time.Minute, 25 * time.Minute},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				transport, made := exports(2)
				e, err := engine.Load("config.json", []byte(pollOfTenMinutes), transport)
				require.NoError(t, err)
				checkpoints := map[string]json.RawMessage{}
				sink := func(_ context.Context, page *engine.Page) error {
					checkpoint, err := page.Checkpoint()
					checkpoints[page.Job] = append(json.RawMessage{}, checkpoint...)
					return err
				}
				ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
				defer cancel()
				began := time.Now()
				_, err = e.Run(ctx, sink)
				require.ErrorIs(t, err, engine.ErrCancelled)
				require.ErrorContains(t, err, "while waiting for the next request")
				require.Equal(t, 3*time.Minute, time.Since(began), "the wait is interrupted at once")

				time.Sleep(c.resumed - 3*time.Minute)
				result, err := e.With(engine.WithResume(checkpoints)).Run(t.Context(), sink)
				require.NoError(t, err)
				require.Equal(t, []time.Duration{0, c.want}, made())
				require.Equal(t, 2, result.Jobs[0].Pages)
			})
		})
	}
}

func TestTheWaitOfAPollIsObservedAndInTheTrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		transport, _ := exports(2)
		var waits []engine.Event
		e, err := engine.Load("config.json", []byte(pollOfTenMinutes), transport, engine.WithObserver(observerFunc(func(e engine.Event) {
			if e.Kind == engine.EventWait {
				waits = append(waits, e)
			}
		})))
		require.NoError(t, err)
		var records []engine.Record
		_, err = e.Run(t.Context(), func(_ context.Context, page *engine.Page) error {
			records = append(records, page.Record)
			return nil
		})
		require.NoError(t, err)
		require.Len(t, waits, 1)
		require.Equal(t, "nextRequest.after", waits[0].Exchange.Source)
		require.Equal(t, 10*time.Minute, waits[0].Exchange.Duration)
		require.Empty(t, records[0].Waits)
		require.Len(t, records[1].Waits, 1)
		require.Equal(t, int64(600_000), records[1].Waits[0].Millis)
		require.Equal(t, int64(600_000), records[1].At, "the request is made after the wait")
	})
}

func TestExplainShowsTheWaitAndWhatBoundsAPoll(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs every case in one goroutine, as other tests do")
	for _, c := range []struct{ name, limit, bounds, warning string }{
		{"bounded", `, "forceStop": {"time": 3600}`, "cannot run forever: stops after 3600 seconds (forceStop.time) or 100000 pages, where the run fails " +
			"(maxPages); requests after the first may wait (nextRequest.after)", ""},
		{"only by a guard", ``, "cannot run forever: at most 100000 pages, where the run fails (maxPages); " +
			"requests after the first may wait (nextRequest.after)",
			"the request is repeated until the API answers otherwise; only guards.maxPages ends it before"},
	} {
		t.Run(c.name, func(t *testing.T) {
			e, err := engine.Load("config.json", []byte(`{"api": {"baseUrl": "http://api.test/", "pagination": {"method": "expression",
				"nextRequest": {"after": "header('Retry-After') ?? 30"}, "stopRules": ["body.done"]`+c.limit+`}},
				"config": {"jobs": [{"endpoint": "export"}]}}`))
			require.NoError(t, err)
			x := e.Explain()
			require.Equal(t, c.bounds, x.Jobs[0].Bounds.Says)
			require.Equal(t, "nextRequest.after waits before each request", x.Jobs[0].Sequential)
			require.Equal(t, "nextRequest.after", x.Jobs[0].Next[0].ID)
			require.Contains(t, x.String(), "the wait before the request, in seconds")
			if c.warning == "" {
				require.Empty(t, e.Warnings())
				return
			}
			require.Len(t, e.Warnings(), 1)
			require.Equal(t, c.warning, e.Warnings()[0].Message)
		})
	}
}
