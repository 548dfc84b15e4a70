package cluster_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine/cluster"
	"github.com/stopwhen/stopwhen/engine/cluster/status"
)

// An orderAPI notes which runs its requests belong to: the first segment of the path.
type orderAPI struct {
	*httptest.Server
	mu        sync.Mutex
	order     []string
	busy, max int // requests in flight, now and at most

	// Requests of the run "third" wait until three of them are in flight at once.
	three chan struct{}
}

func serveOrder(t *testing.T) *orderAPI {
	t.Helper()
	a := &orderAPI{three: make(chan struct{})}
	three := sync.OnceFunc(func() { close(a.three) })
	a.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.mu.Lock()
		run := strings.Split(r.URL.Path, "/")[1]
		a.order = append(a.order, run)
		a.busy++
		a.max = max(a.max, a.busy)
		if a.busy == 3 {
			three()
		}
		a.mu.Unlock()
		if run == "third" {
			<-a.three
		}
		time.Sleep(5 * time.Millisecond)
		a.mu.Lock()
		a.busy--
		a.mu.Unlock()
		fmt.Fprint(w, `[{"id": 1}]`)
	}))
	t.Cleanup(a.Close)
	t.Cleanup(three)
	return a
}

// submit submits a run of so many partitions.
func (a *orderAPI) submit(t *testing.T, c *cluster.Cluster, id string, partitions, parallel int) *cluster.Run {
	t.Helper()
	run, err := c.Submit(t.Context(), cluster.Submission{Run: id, Name: "c.json", Text: fmt.Appendf(nil,
		`{"api": {"baseUrl": "%s/", "http": {"parallel": %d}}, "config": {"jobs": [
		  {"id": "lists", "endpoint": "%s/{n.from}", "for": {"n": {"from": 0, "to": %d, "step": 1}}}]}}`, a.URL, parallel, id, partitions)})
	require.NoError(t, err)
	return run
}

// between returns how many requests of a run were made between the first and the last one of
// another run.
func (a *orderAPI) between(run, other string) (n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	all := strings.Join(a.order, ",") + ","
	return strings.Count(all[strings.Index(all, other+","):strings.LastIndex(all, other+",")], run+",")
}

func TestRunsTakeTheSlotsOfAnAPIByTurns(t *testing.T) {
	for _, parallel := range []int{4, 50} {
		t.Run(fmt.Sprintf("parallel %d", parallel), func(t *testing.T) {
			a := serveOrder(t)
			c := open(t, startServer(t), cluster.Options{})
			large := a.submit(t, c, "large", 400, 50)
			work(t, c, cluster.Worker{Slots: 4}, cluster.Worker{Slots: 4})
			await(t, large, func(s *status.Run) bool { return s.Total.Done > 20 })
			small := a.submit(t, c, "small", 30, parallel)
			await(t, small, func(s *status.Run) bool { return s.Phase == status.Complete })
			require.Less(t, a.between("large", "small"), 150, "of more than 300 that were queued before")
		})
	}
}

// The lowest limit of the active runs of an API holds for all of them together.
func TestRunsShareTheLimitOfAnAPI(t *testing.T) {
	a := serveOrder(t)
	c := open(t, startServer(t), cluster.Options{})
	first := a.submit(t, c, "first", 40, 5)
	second := a.submit(t, c, "second", 40, 2)
	work(t, c, cluster.Worker{Slots: 4}, cluster.Worker{Slots: 4})
	for _, run := range []*cluster.Run{first, second} {
		await(t, run, func(s *status.Run) bool { return s.Phase == status.Complete })
	}
	require.Equal(t, 2, a.max)
	require.NoError(t, second.Cancel(t.Context()))
	third := a.submit(t, c, "third", 40, 5)
	await(t, third, func(s *status.Run) bool { return s.Phase == status.Complete })
	require.Greater(t, a.max, 2, "the run with the lower limit is over")
	require.LessOrEqual(t, a.max, 5)
}

// Runs that no worker can run hold up no other, and their status says what they lack.
func TestARunThatNobodyCanRunHoldsUpNoOther(t *testing.T) {
	a := serveAPI(t, 5)
	c := open(t, startServer(t), cluster.Minute(cluster.Options{})) // nobody tries again soon
	lacking := strings.Replace(string(a.config()), `"http": {`, `"http": {"headers": {"X-Token": {"env": "NOBODY_HAS_IT"}}, `, 1)
	var runs []*cluster.Run
	for i := range 10 {
		run, err := c.Submit(t.Context(), cluster.Submission{Run: fmt.Sprintf("lacking-%d", i), Name: "c.json", Text: []byte(lacking)})
		require.NoError(t, err)
		runs = append(runs, run)
	}
	work(t, c, cluster.Worker{Name: "w", Slots: 2})
	s := await(t, runs[9], func(s *status.Run) bool { return slices.Equal(warnings(s), []string{"problem"}) })
	require.Contains(t, s.Warnings[0].Message, "NOBODY_HAS_IT")
	requireAll(t, submit(t, c, a.config()), a)
}
