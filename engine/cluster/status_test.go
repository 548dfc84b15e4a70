package cluster_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine/cluster"
	"github.com/stopwhen/stopwhen/engine/cluster/status"
)

// surveyed has all kinds of partitions. The teams are found when the windows of orders have
// ended, so that the slow ones have all slots of the worker.
const surveyed = `{"api": {"baseUrl": "%s/", "pagination": {"method": "pagenum"}},
 "config": {"jobs": [
  {"id": "groups", "endpoint": "groups", "dataField": "data"},
  {"id": "teams", "endpoint": "teams/{group.id}", "dataField": "data", "for": {"group": {"items": "groups"}}, "onPartitionError": "skip"},
  {"id": "orders", "endpoint": "orders", "dataField": "data", "params": {"from": {"expr": "window.from"}, "to": {"expr": "window.to"}},
   "for": {"window": {"from": 0, "to": 8, "step": 8, "smallest": 1, "splitWhen": "body.size > 5"}}},
  {"id": "secrets", "endpoint": "secrets"}]}}`

// surveyedAPI serves it.
type surveyedAPI struct {
	*httptest.Server
	windows atomic.Int32  // the halves that were read to their end
	halved  chan struct{} // closed when both were
	open    chan struct{} // closed when the slow teams are answered
	answer  func()        // closes it
}

func newSurveyedAPI(t *testing.T) *surveyedAPI {
	t.Helper()
	api := &surveyedAPI{halved: make(chan struct{}), open: make(chan struct{})}
	api.Server = httptest.NewServer(api)
	api.answer = sync.OnceFunc(func() { close(api.open) })
	t.Cleanup(func() { api.answer(); api.Close() })
	return api
}

func (api *surveyedAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	last := r.URL.Query().Get("page") != "1"
	switch path := strings.TrimPrefix(r.URL.Path, "/"); {
	case path == "groups" && !last:
		select {
		case <-api.halved:
		case <-r.Context().Done():
			return
		}
		fmt.Fprint(w, `{"data": [{"id": "good"}, {"id": "forbidden"}, {"id": "short"}, {"id": "slow-1"}, {"id": "slow-2"}, {"id": "late"}]}`)
	case path == "secrets", path == "teams/forbidden" && last:
		http.Error(w, `{"message": "forbidden"}`, http.StatusForbidden)
	case path == "orders" && r.FormValue("from") == "0" && r.FormValue("to") == "8":
		fmt.Fprint(w, `{"data": [{"id": 1}], "size": 9}`)
	case last && path == "orders":
		if api.windows.Add(1) == 2 {
			close(api.halved)
		}
		fallthrough
	case last:
		fmt.Fprint(w, `{"data": []}`)
	case path == "teams/short":
		fmt.Fprint(w, `{"data": [{"id": 1}], "total": 7}`)
	case strings.Contains(path, "slow"):
		<-api.open
		fallthrough
	default:
		fmt.Fprint(w, `{"data": [{"id": 1}, {"id": 2}]}`)
	}
}

// growing reports whether more partitions of a job may become known.
func growing(j status.Job) bool { return j.Growing }

func TestTheStatusSaysHowFarEveryPartitionIs(t *testing.T) {
	api := newSurveyedAPI(t)
	c := open(t, startServer(t), cluster.Final(cluster.Options{}))
	run, err := c.Submit(t.Context(), cluster.Submission{Run: "surveyed", Name: "all.json", Text: fmt.Appendf(nil, surveyed, api.URL)})
	require.NoError(t, err)
	before, err := run.Status(t.Context())
	require.NoError(t, err)
	require.Equal(t, status.Counts{Partitions: 2, Waiting: 2}, before.Total, "groups and secrets; those of orders are not known yet")
	require.Equal(t, "noWorkers", before.Warnings[0].ID)

	stop := work(t, c, cluster.Worker{Name: "w", Slots: 2})
	s := await(t, run, func(s *status.Run) bool {
		return s.Total.Running == 2 && s.Total.Waiting == 1 && len(s.Running) == 2 && !slices.ContainsFunc(s.Jobs, growing) &&
			s.Workers.Running == 2 // a report may still have a task that has just ended
	})
	require.Equal(t, status.Running, s.Phase)
	counts := map[string]status.Counts{}
	ends := map[string][]status.End{}
	for _, j := range s.Jobs {
		counts[j.Job], ends[j.Job] = j.Counts, j.Ends
	}
	bytes := func(job string) int64 { return counts[job].Bytes }
	require.Equal(t, map[string]status.Counts{
		"groups": {Partitions: 1, Done: 1, Pages: 2, Items: 6, Bytes: bytes("groups")},
		"teams": {Partitions: 6, Done: 3, Skipped: 1, Running: 2, Waiting: 1, Suspect: 1, Findings: 1, Pages: 5, Items: 5,
			Bytes: bytes("teams")},
		"orders":  {Partitions: 2, Done: 2, Pages: 4, Items: 4, Bytes: bytes("orders")}, // the halves; their window is not a partition any more
		"secrets": {Partitions: 1, Failed: 1},
	}, counts)
	require.Equal(t, []status.End{
		{Outcome: "complete", Reason: "pagenum.empty", Partitions: 2, Suspect: 1}, {Outcome: "skipped", Reason: "api", Partitions: 1},
	}, ends["teams"])
	require.Equal(t, []status.End{{Outcome: "complete", Reason: "pagenum.empty", Partitions: 2}}, ends["orders"])
	require.Equal(t, []status.Finding{{Job: "teams", ID: "audit.total", Partitions: 1, Partition: "group.id=short",
		Message: "body.total of page 1 is 7, but the number of items read is 1"}}, s.Findings)
	require.Len(t, s.Failed, 1)
	require.Equal(t, "api", s.Failed[0].Error.Class)
	require.Contains(t, s.Failed[0].Error.Message, "403 Forbidden")
	require.Equal(t, []string{"group.id=slow-1 w", "group.id=slow-2 w"},
		[]string{s.Running[0].Partition + " " + s.Running[0].Worker, s.Running[1].Partition + " " + s.Running[1].Worker})
	require.Nil(t, s.Rates.SecondsLeft, "too few have ended")
	require.InDelta(t, 11, s.Rates.Recent.Pages*s.Rates.Recent.Seconds, 0.01)
	require.InDelta(t, 15, s.Rates.Recent.Items*s.Rates.Recent.Seconds, 0.01)
	require.Equal(t, []string{"failed"}, warnings(s))
	require.Equal(t, 2, s.Workers.Running)

	stop()
	s = await(t, run, func(s *status.Run) bool { return s.Workers.Count == 0 })
	require.Equal(t, 3, s.Total.Waiting, "the worker has handed them back")
	require.Equal(t, []string{"failed", "noWorkers"}, warnings(s))

	api.answer()
	work(t, c, cluster.Worker{Name: "v", Slots: 2})
	s = await(t, run, func(s *status.Run) bool { return s.Phase == status.Failed })
	require.Equal(t, []int{9, 1, 0}, []int{s.Total.Done, s.Total.Failed, s.Total.Open()})
	require.Nil(t, s.Rates.Recent)
	requireListed(t, run, s)

	require.NoError(t, run.Cancel(t.Context()))
	s = await(t, run, func(*status.Run) bool { return true })
	require.Equal(t, status.Cancelled, s.Phase)
	all, err := c.Overview(t.Context())
	require.NoError(t, err)
	require.Equal(t, []status.Summary{s.Summary}, all.Runs)
}

// With limits.partitions one task runs all jobs. How they ended is known when it has.
func TestTheStatusOfALimitedRunHasItsJobsWhenItHasEnded(t *testing.T) {
	api := newSurveyedAPI(t)
	api.answer()
	c := open(t, startServer(t), cluster.Options{})
	run, err := c.Submit(t.Context(), cluster.Submission{Run: "limited", Name: "c.json", Text: fmt.Appendf(nil,
		`{"api": {"baseUrl": "%s/", "pagination": {"method": "pagenum"}}, "config": {"limits": {"partitions": 2}, "jobs": [
		  {"id": "teams", "endpoint": "teams/{team}", "dataField": "data", "for": {"team": {"values": ["a", "b", "c"]}}}]}}`, api.URL)})
	require.NoError(t, err)
	s, err := run.Status(t.Context())
	require.NoError(t, err)
	require.Equal(t, []status.Job{{Counts: status.Counts{Partitions: 1, Waiting: 1}, Ends: []status.End{}}}, s.Jobs)
	work(t, c, cluster.Worker{Slots: 2})
	s = await(t, run, func(s *status.Run) bool { return s.Phase == status.Complete })
	require.Equal(t, []string{"teams"}, []string{s.Jobs[0].Job})
	require.Equal(t, []int{2, 4, 4}, []int{s.Total.Done, s.Total.Pages, s.Total.Items}, "the third was left out, so it did not run")
	require.Equal(t, "limited", s.Jobs[0].Ends[0].Outcome)
	all, err := c.Overview(t.Context())
	require.NoError(t, err)
	require.Equal(t, s.Total, all.Runs[0].Total, "the table of all runs has the same figures")
}

// requireListed requires the list of partitions to have all that the status counts.
func requireListed(t *testing.T, run *cluster.Run, s *status.Run) {
	t.Helper()
	sum, states := status.Counts{}, map[status.State]int{}
	waiting, err := run.Partitions(t.Context(), func(p status.Partition) error {
		sum.Add(status.Counts{Pages: p.Pages, Items: p.Items, Bytes: p.Bytes, Findings: p.Findings})
		states[p.State]++
		if p.State == status.StateFailed {
			require.Equal(t, s.Failed[0], p)
		}
		return nil
	})
	require.NoError(t, err)
	require.Zero(t, waiting)
	require.Equal(t, map[status.State]int{status.StateDone: s.Total.Done, status.StateFailed: s.Total.Failed}, states)
	want := status.Counts{Pages: s.Total.Pages, Items: s.Total.Items, Bytes: s.Total.Bytes, Findings: s.Total.Findings}
	require.Equal(t, want, sum)
}

func warnings(s *status.Run) []string {
	ids := []string{}
	for _, w := range s.Warnings {
		ids = append(ids, w.ID)
	}
	return ids
}

// await asks for the status until it is as wanted.
func await(t *testing.T, run *cluster.Run, wanted func(*status.Run) bool) *status.Run {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		s, err := run.Status(t.Context())
		require.NoError(t, err)
		if wanted(s) {
			return s
		}
		require.True(t, time.Now().Before(end), "%+v", s)
	}
}
