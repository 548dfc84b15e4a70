package cluster_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine/cluster"
	"github.com/stopwhen/stopwhen/engine/cluster/status"
	"github.com/stopwhen/stopwhen/fixtures"
)

// A mortal is a worker that an API can end.
type mortal struct {
	mu   sync.Mutex
	lose func()
	lost map[string]int // by path
}

// end loses the worker that runs now.
func (m *mortal) end(path string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lost[path]++
	m.lose()
}

// live runs a worker until it is lost, and then the next one, until the context ends.
func (m *mortal) live(ctx context.Context, t *testing.T, url string, o cluster.Options, w cluster.Worker) {
	for ctx.Err() == nil {
		nc, err := nats.Connect(url)
		if err != nil {
			t.Error(err)
			return
		}
		c, err := connect(t, nc, o)
		if err != nil {
			t.Error(err)
			nc.Close()
			return
		}
		one, cancel := context.WithCancel(ctx)
		m.mu.Lock()
		m.lose = func() { nc.Close(); cancel() }
		m.mu.Unlock()
		_ = c.Work(one, w)
		cancel()
		nc.Close()
	}
}

// Two partitions end every worker that requests their second pages. Both are set aside, and the
// others, which are run beside them, are complete. After a retry, the two are complete as well.
func TestPartitionsThatEndTheirWorkersAreSetAside(t *testing.T) {
	for _, slots := range []int{1, 8} {
		t.Run(fmt.Sprint(slots), func(t *testing.T) {
			if slots == 1 {
				fixtures.SkipUnderRace(t, "several slots have more goroutines")
			}
			t.Parallel()
			m := &mortal{lost: map[string]int{}}
			var healed atomic.Bool
			api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if strings.HasPrefix(r.URL.Path, "/teams/bad") && r.URL.Query().Get("page") == "2" && !healed.Load() {
					m.end(r.URL.Path)
					return
				}
				select {
				case <-time.After(50 * time.Millisecond):
					if page, _ := strconv.Atoi(r.URL.Query().Get("page")); page < 4 {
						fmt.Fprintf(w, `[{"id": %d}]`, page)
					} else {
						fmt.Fprint(w, `[]`)
					}
				case <-r.Context().Done():
				}
			}))
			t.Cleanup(api.Close)
			nc := startServer(t)
			o := cluster.Options{AckWait: 300 * time.Millisecond}
			c := open(t, nc, o)
			run, err := c.Submit(t.Context(), cluster.Submission{Run: "r1", Name: "c.json", Text: fmt.Appendf(nil,
				`{"api": {"baseUrl": "%s/", "http": {"maxRetries": 0}, "pagination": {"method": "pagenum"}}, "config": {"jobs": [
				  {"id": "teams", "endpoint": "teams/{team}", "for": {"team": {"values": ["a", "bad1", "b", "bad2", "c", "d", "e", "f", "g", "h"]}}}]}}`, api.URL)})
			require.NoError(t, err)
			ctx, cancel := context.WithCancel(context.Background())
			var living sync.WaitGroup
			defer living.Wait()
			defer cancel()
			living.Go(func() { m.live(ctx, t, nc.ConnectedUrl(), o, cluster.Worker{Slots: slots}) })
			s := await(t, run, func(s *status.Run) bool {
				for _, p := range s.Running {
					require.True(t, p.Last == nil || p.Search || p.Partition != "", "%+v", p)
				}
				return s.Phase == status.Failed
			})
			require.Equal(t, 8, s.Total.Done)
			require.Equal(t, 2, s.Total.Failed)
			for _, n := range m.lost { // three while it ran alone, and up to four before each of its pages was stored
				require.GreaterOrEqual(t, n, 3)
				require.LessOrEqual(t, n, 11)
			}
			require.Equal(t, 8*4+2, s.Total.Pages)

			healed.Store(true)
			_, err = run.Retry(t.Context())
			require.NoError(t, err)
			s = await(t, run, func(s *status.Run) bool { return s.Phase == status.Complete })
			require.Equal(t, 10*4, s.Total.Pages)
			for _, how := range []cluster.CollectOptions{{Sorted: true}, {}, {Release: true}} {
				all := &collector{run: run}
				_, err := all.collect(t, how)
				require.NoError(t, err)
				require.Len(t, all.items, 10*3)
			}
		})
	}
}

// A task that runs alone is not set aside however often it is handed back, or its run is cancelled and
// submitted again.
func TestATrialThatEndsWithoutALossDoesNotCount(t *testing.T) {
	t.Parallel()
	m := &mortal{lost: map[string]int{}}
	asked := make(chan bool, 100)
	var healed, waits atomic.Bool
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch asked <- true; {
		case healed.Load():
			fmt.Fprint(w, `[{"id": 1}]`)
		case waits.Load():
			<-r.Context().Done()
		default:
			m.end(r.URL.Path)
		}
	}))
	t.Cleanup(api.Close)
	nc := startServer(t)
	o := cluster.Options{AckWait: 300 * time.Millisecond}
	c := open(t, nc, o)
	config := fmt.Appendf(nil, `{"api": {"baseUrl": "%s/"}, "config": {"jobs": [{"endpoint": "teams"}]}}`, api.URL)
	run := submit(t, c, config)
	ctx, cancel := context.WithCancel(context.Background())
	var living sync.WaitGroup
	living.Go(func() { m.live(ctx, t, nc.ConnectedUrl(), o, cluster.Worker{}) })
	for range 3 {
		<-asked
	}
	waits.Store(true)
	<-asked
	cancel()
	living.Wait()
	for n := range 10 {
		stop := work(t, c, cluster.Worker{})
		<-asked
		if n > 5 {
			require.NoError(t, run.Cancel(t.Context()))
			run = submit(t, c, config)
		}
		stop()
	}
	healed.Store(true)
	work(t, c, cluster.Worker{})
	s := await(t, run, func(s *status.Run) bool { return s.Phase != status.Running })
	require.Equal(t, status.Complete, s.Phase)
}

// A task that workers have lost, and that the API refuses, has failed when two workers have had this failure. The marker
// stored when a task starts alone must not count as a page, or the count of failures would start over.
func TestATaskThatRunsAloneHasFailedWhenTwoWorkersHaveFailedIt(t *testing.T) {
	began := time.Now()
	var requests atomic.Int64
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		requests.Add(1)
		w.WriteHeader(http.StatusForbidden)
	}))
	t.Cleanup(api.Close)
	nc := startServer(t)
	c := open(t, nc, cluster.Hour(cluster.Options{})) // nobody is alone for long enough
	run := submit(t, c, fmt.Appendf(nil, `{"api": {"baseUrl": "%s/"}, "config": {"jobs": [{"endpoint": "teams"}]}}`, api.URL))
	js, err := jetstream.New(nc)
	require.NoError(t, err)
	queue, err := js.Stream(t.Context(), "STOPWHEN_WORK")
	require.NoError(t, err)
	task, err := queue.GetMsg(t.Context(), 1)
	require.NoError(t, err)
	_, err = js.PublishMsg(t.Context(), &nats.Msg{Subject: task.Subject, Data: task.Data,
		Header: nats.Header{"Stopwhen-Task": {`{"again": true, "lost": 5}`}}})
	require.NoError(t, err)
	require.NoError(t, queue.DeleteMsg(t.Context(), 1))
	work(t, c, cluster.Worker{Name: "one"}, cluster.Worker{Name: "two"})
	s := await(t, run, func(s *status.Run) bool { return s.Phase == status.Failed })
	require.Equal(t, 1, s.Total.Failed)
	// A worker that was refused tries the API again only after a pause. Without pauses, or if the failures did not
	// count, there would be hundreds of requests in a second.
	pauses := time.Since(began) / cluster.LongestProbe(c)
	require.Less(t, requests.Load(), 20+int64(pauses))
}
