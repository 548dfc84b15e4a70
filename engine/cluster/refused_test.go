package cluster_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine/cluster"
	"github.com/stopwhen/stopwhen/engine/cluster/status"
	"github.com/stopwhen/stopwhen/fixtures"
)

// All partitions are refused, each with an error of its own. The log has one line about it, and
// the server is told before the next report of the worker is due.
func TestAWorkerWhoseTokenIsRefusedSaysSoAtOnce(t *testing.T) {
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, "no token for "+r.URL.Path, http.StatusUnauthorized)
	}))
	t.Cleanup(api.Close)
	var log fixtures.Buffer
	c := open(t, startServer(t), cluster.ReportRarely(cluster.Options{Log: slog.New(slog.NewTextHandler(&log, nil))}))
	run, err := c.Submit(t.Context(), cluster.Submission{Run: "refused", Name: "c.json", Text: fmt.Appendf(nil,
		`{"api": {"baseUrl": "%s/"}, "config": {"jobs": [
		  {"id": "teams", "endpoint": "teams/{team}", "for": {"team": {"values": ["a", "b", "c"]}}}]}}`, api.URL)})
	require.NoError(t, err)
	work(t, c, cluster.Worker{Slots: 2})
	s := await(t, run, func(s *status.Run) bool { return s.Phase == status.Failed })
	require.Contains(t, s.Workers.List[0].Problem, "401")
	require.Equal(t, 1, strings.Count(log.String(), "a partition is tried again, by another worker if there is one"), &log)
}

// The job of a run that is submitted again is queued again, and ends at once. The worker does
// not count it as a task that it has done.
func TestATaskThatWasQueuedTwiceCountsOnce(t *testing.T) {
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `[{"id": 1}]`) }))
	t.Cleanup(api.Close)
	c := open(t, startServer(t), cluster.ProgressAtOnce(cluster.Options{}))
	submit := func(id string) *cluster.Run {
		run, err := c.Submit(t.Context(), cluster.Submission{Run: id, Name: "c.json",
			Text: fmt.Appendf(nil, `{"api": {"baseUrl": "%s/"}, "config": {"jobs": [{"endpoint": "orders"}]}}`, api.URL)})
		require.NoError(t, err)
		return run
	}
	work(t, c, cluster.Worker{Slots: 1})
	done := func(n int) func(*status.Run) bool {
		return func(s *status.Run) bool {
			return s.Phase == status.Complete && len(s.Workers.List) == 1 && s.Workers.List[0].Done >= n
		}
	}
	await(t, submit("first"), done(1))
	submit("first")
	s := await(t, submit("second"), done(2)) // with one slot, tasks run in the order of the queue
	require.Equal(t, 2, s.Workers.List[0].Done)
}
