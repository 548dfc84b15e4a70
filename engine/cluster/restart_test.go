package cluster_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/cluster"
	"github.com/stopwhen/stopwhen/engine/cluster/hub"
	"github.com/stopwhen/stopwhen/engine/cluster/status"
	"github.com/stopwhen/stopwhen/runtime/failure"
)

// The records of workers are in the memory of the server. A worker that is connected again does not
// wait for its next report.
func TestAWorkerIsKnownAtOnceAfterARestart(t *testing.T) {
	o := hub.Options{Dir: t.TempDir(), Listen: "127.0.0.1:0"}
	s, err := hub.Start(t.Context(), o)
	require.NoError(t, err)
	nc, err := nats.Connect(s.URL(), nats.MaxReconnects(-1), nats.ReconnectBufSize(-1), nats.ReconnectWait(20*time.Millisecond))
	require.NoError(t, err)
	t.Cleanup(nc.Close)
	c := open(t, nc, cluster.ReportRarely(cluster.Options{}))
	work(t, c, cluster.Worker{})
	known := func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		all, err := c.Overview(ctx)
		return err == nil && all.Workers.Count == 1
	}
	require.Eventually(t, known, time.Minute, 10*time.Millisecond)
	o.Listen = s.Addr()
	s.Shutdown()
	s, err = hub.Start(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(s.Shutdown)
	require.Eventually(t, known, time.Minute, 10*time.Millisecond)
}

// A server is restored from a copy that has no pages, and obtains as many again, in another order. A
// collection of the pages that were lost does not go on, whether it waits meanwhile, is resumed, or has just
// been resumed and has read nothing.
func TestACollectionOfLostPagesDoesNotGoOn(t *testing.T) {
	const pages = 6
	for _, how := range []cluster.CollectOptions{{}, {Sorted: true}} {
		t.Run(fmt.Sprintf("sorted %v", how.Sorted), func(t *testing.T) {
			var first atomic.Value // the job whose pages are stored first
			first.Store("a")
			var left atomic.Int64 // pages of this job until those of the other one are served
			left.Store(2 * pages)
			api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				job, page := r.URL.Path[1:], r.URL.Query().Get("page")
				if job != first.Load() && left.Load() > 0 {
					w.WriteHeader(http.StatusServiceUnavailable)
					return
				}
				left.Add(-1)
				if page == fmt.Sprint(pages) {
					fmt.Fprint(w, `[]`)
					return
				}
				fmt.Fprintf(w, `[{"id":"%s%s"}]`, job, page)
			}))
			t.Cleanup(api.Close)
			o := hub.Options{Dir: t.TempDir(), Listen: "127.0.0.1:0"}
			s, err := hub.Start(t.Context(), o)
			require.NoError(t, err)
			o.Listen = s.Addr()
			nc, err := nats.Connect(s.URL(), nats.MaxReconnects(-1), nats.ReconnectBufSize(-1), nats.ReconnectWait(20*time.Millisecond))
			require.NoError(t, err)
			t.Cleanup(nc.Close)
			c := open(t, nc, cluster.Hasty(cluster.Options{}))
			run, err := c.Submit(t.Context(), cluster.Submission{Run: "r", Name: "c.json", Text: fmt.Appendf(nil,
				`{"api": {"baseUrl": "%s/", "http": {"maxRetries": 0}, "pagination": {"method": "pagenum"}},
				"config": {"jobs": [{"endpoint": "a"}, {"endpoint": "b"}]}}`, api.URL)})
			require.NoError(t, err)
			s.Shutdown()
			older := t.TempDir()
			require.NoError(t, os.CopyFS(older, os.DirFS(o.Dir)))
			s, err = hub.Start(t.Context(), o)
			require.NoError(t, err)
			stop := work(t, c, cluster.Worker{})

			saved := map[string]json.RawMessage{}
			reached, restored := make(chan bool), make(chan bool)
			ended := make(chan error, 1)
			collect := func(sink func(*engine.Page) error) error {
				e, err := run.Engine(engine.WithResume(saved))
				require.NoError(t, err)
				_, err = run.Collect(t.Context(), e, func(_ context.Context, page *engine.Page) error { return sink(page) }, how)
				return err
			}
			go func() {
				ended <- collect(func(page *engine.Page) (err error) {
					if page.Page == 3 && page.Root == "a" {
						saved["a"], err = page.Checkpoint()
						reached <- true
						<-restored
					}
					return err
				})
			}()
			<-reached
			e, err := run.Engine(engine.WithResume(saved))
			require.NoError(t, err)
			resumed, err := cluster.Resume(t.Context(), run, e, func(context.Context, *engine.Page) error { return nil }, how)
			require.NoError(t, err)
			stop()
			s.Shutdown()
			first.Store("b")
			left.Store(pages)
			o.Dir = older
			s, err = hub.Start(t.Context(), o)
			require.NoError(t, err)
			t.Cleanup(s.Shutdown)
			work(t, c, cluster.Worker{})
			await(t, run, func(s *status.Run) bool { return s.Phase == status.Complete })
			close(restored)
			require.ErrorIs(t, <-ended, failure.ErrState)
			require.ErrorIs(t, resumed(), failure.ErrState)
			require.ErrorIs(t, collect(func(*engine.Page) error { return nil }), failure.ErrState)
		})
	}
}

// After a server was restored from a copy, a worker may store the pages of a partition before the page that
// announces the partition is stored again. However many partitions have ended so, the collection waits for
// the others.
func TestAPartitionMayEndBeforeItIsAnnounced(t *testing.T) {
	a := serveAPI(t, 4)
	nc := startServer(t)
	c := open(t, nc, cluster.Options{})
	run := submit(t, c, a.config())
	stop := work(t, c, cluster.Worker{})
	requireAll(t, run, a)
	stop()
	js, err := jetstream.New(nc)
	require.NoError(t, err)
	stream, err := js.Stream(t.Context(), "STOPWHEN_RUN_"+run.ID())
	require.NoError(t, err)
	info, err := stream.Info(t.Context())
	require.NoError(t, err)
	var children, parents []*nats.Msg
	for sequence := range info.State.LastSeq {
		m, err := stream.GetMsg(t.Context(), sequence+1)
		require.NoError(t, err)
		m.Header.Del("Nats-Expected-Last-Subject-Sequence")
		page := &nats.Msg{Subject: m.Subject, Header: m.Header, Data: m.Data}
		if strings.Contains(m.Subject, ".users.") {
			children = append(children, page)
		} else {
			parents = append(parents, page)
		}
	}
	require.NotEmpty(t, parents)
	for ended := 1; ended <= 4; ended++ {
		require.NoError(t, stream.Purge(t.Context()))
		late := len(children)
		publish := func(messages []*nats.Msg) {
			for _, m := range messages {
				_, err := js.PublishMsg(t.Context(), m)
				require.NoError(t, err)
			}
		}
		for i, ends := 0, 0; i < len(children); i++ {
			if strings.Contains(string(children[i].Data), `"ending"`) {
				if ends++; ends == ended {
					late = i + 1
					break
				}
			}
		}
		publish(children[:late])
		part := &collector{run: run}
		_, err := part.collect(t, cluster.CollectOptions{NoWait: true})
		require.ErrorContains(t, err, "the run goes on", "after %d partitions", ended)
		publish(parents)
		publish(children[late:])
		_, err = part.collect(t, cluster.CollectOptions{})
		require.NoError(t, err)
		require.Equal(t, sorted(a.want()), sorted(part.items))
	}
}
