package cluster_test

import (
	"flag"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine/cluster"
	"github.com/stopwhen/stopwhen/engine/cluster/status"
	"github.com/stopwhen/stopwhen/fixtures"
)

var manyPartitions = flag.Int("partitions", 5000, "the partitions of TestTheStatusCountsManyPartitions")

// TestTheStatusCountsManyPartitions has a parent with as many partitions, of
// which every tenth has failed, every tenth goes on, and nine tenths of the rest are done.
func TestTheStatusCountsManyPartitions(t *testing.T) {
	fixtures.SkipUnderRace(t, "it measures time or memory")
	nc := startServer(t)
	c := open(t, nc, cluster.Options{})
	run, err := c.Submit(t.Context(), cluster.Submission{Run: "many", Name: "c.json", Text: []byte(`{"api": {"baseUrl": "http://127.0.0.1:1/"},
		"config": {"jobs": [{"id": "orders", "endpoint": "orders"},
			{"id": "lines", "endpoint": "{order.id}", "for": {"order": {"items": "orders"}}}]}}`)})
	require.NoError(t, err)
	n := *manyPartitions
	js, err := jetstream.New(nc, jetstream.WithPublishAsyncMaxPending(1000))
	require.NoError(t, err)
	publish(t, js, "stopwhen.page.many."+cluster.SubmissionOf(run)+".orders.0", "{}",
		fmt.Sprintf(`{"state": "done", "outcome": "complete", "partitions": {"lines": %d}, "pages": 1}`, n))
	for i := range n {
		end := `"state": "done", "outcome": "complete", "reason": "short"`
		body := "{}"
		switch i % 10 {
		case 0:
			end = `"state": "failed"`
			body = `{"ending": {"results": [{"job": "lines", "error": {"class": "api", "message": "status 403"}}]}}`
		case 1:
			end = `"state": "more"`
		}
		publish(t, js, fmt.Sprintf("stopwhen.page.many.%s.lines.0-p1j0i%d", cluster.SubmissionOf(run), i), body,
			fmt.Sprintf(`{%s, "pages": 3, "items": 20, "label": "order.id=%d"}`, end, i))
	}
	<-js.PublishAsyncComplete()

	start := time.Now()
	s, err := run.Status(t.Context())
	require.NoError(t, err)
	t.Logf("the status of %d partitions took %s", n, time.Since(start))
	start = time.Now()
	all, err := c.Overview(t.Context())
	require.NoError(t, err)
	require.Equal(t, s.Summary, all.Runs[0])
	t.Logf("the overview took %s", time.Since(start))
	require.NoError(t, run.Cancel(t.Context()))
	over, err := c.Overview(t.Context())
	require.NoError(t, err)
	start = time.Now()
	again, err := c.Overview(t.Context())
	require.NoError(t, err)
	require.Equal(t, over.Runs, again.Runs)
	t.Logf("the overview when the run is over took %s", time.Since(start))
	want := status.Counts{Partitions: n + 1, Done: n/10*8 + 1, Failed: n / 10, Waiting: n / 10, Pages: 3*n + 1, Items: 20 * n}
	require.Equal(t, want, s.Total)
	require.Equal(t, []status.End{{Outcome: "complete", Reason: "short", Partitions: n / 10 * 8}}, s.Jobs[1].Ends)
	require.Len(t, s.Failed, 100)
	require.Equal(t, "status 403", s.Failed[99].Error.Message)
	require.Contains(t, warnings(s), "lost", "what has neither ended nor is queued")
}

// publish stores a message as a worker does.
func publish(t *testing.T, js jetstream.JetStream, subject, envelope, head string) {
	t.Helper()
	m := nats.NewMsg(subject)
	m.Data = []byte(envelope + "\n")
	m.Header.Set("Stopwhen-Head", head)
	_, err := js.PublishMsgAsync(m, jetstream.WithStallWait(time.Minute))
	require.NoError(t, err)
}
