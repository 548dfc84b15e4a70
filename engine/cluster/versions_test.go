package cluster_test

import (
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/cluster"
	"github.com/stopwhen/stopwhen/engine/cluster/status"
	"github.com/stopwhen/stopwhen/rules"
)

// While a fleet is upgraded, workers of two versions, which compile a configuration to other rules,
// share a server. Each runs what its version has submitted, says why it leaves the rest alone, and
// holds up nothing.
func TestWorkersOfTwoVersionsWorkBesideEachOther(t *testing.T) {
	a := serveAPI(t, 4)
	nc := startServer(t)
	before := open(t, nc, cluster.Options{})
	now := open(t, nc, cluster.Options{Engine: []engine.Option{engine.WithGuard(rules.Guard{
		StopRule: rules.StopRule{ID: "manyPages", When: "total.pages > 1000", Outcome: "guarded",
			Clause: "there are many pages", Message: "there are many pages"},
		Policy: "fail", Doc: "pages that are too many", Hint: "ask for fewer",
	})}})
	runs := map[string]*cluster.Run{}
	for id, c := range map[string]*cluster.Cluster{"before": before, "now": now} {
		run, err := c.Submit(t.Context(), cluster.Submission{Run: id, Name: "c.json", Text: a.config(), Program: id})
		require.NoError(t, err)
		runs[id] = run
	}
	stop := work(t, now, cluster.Worker{Name: "now"})
	requireAll(t, runs["now"], a)
	s := await(t, runs["before"], func(s *status.Run) bool { return len(s.Workers.List) == 1 && s.Workers.List[0].Problem != "" })
	require.Equal(t, 0, s.Total.Failed)
	require.Equal(t, "this worker cannot run it: run before: this program compiles the configuration to different rules than the program that submitted it (before) "+
		"(use the same version, with the same methods and functions)", strings.TrimSpace(s.Workers.List[0].Problem))

	work(t, before, cluster.Worker{Name: "before"})
	requireAll(t, runs["before"], a)
	stop()
}

// A stored stream is a stream with its messages, without the headers of the server.
type storedStream struct {
	Config   jetstream.StreamConfig `json:"config"`
	Messages []struct {
		Subject string      `json:"subject"`
		Header  nats.Header `json:"header"`
		Data    string      `json:"data"`
	} `json:"messages"`
}

// testdata/earlier.json is what the server held when commit 4da57028 ended a worker with two slots: of six teams,
// the users of two are stored, those of team 1 up to page 1, and those of team 3 have failed with status 404; the
// users of teams 1, 4 and 5 are queued. A worker of this version takes up where that one stopped.
func TestARunThatAnEarlierVersionHasBegunIsCompleted(t *testing.T) {
	a := serveAPI(t, 6)
	var asked sync.Map
	through := transportFunc(func(r *http.Request) (*http.Response, error) {
		asked.Store(r.URL.Path, true)
		r = r.Clone(r.Context())
		r.URL.Host = strings.TrimPrefix(a.URL, "http://")
		return http.DefaultTransport.RoundTrip(r)
	})
	config := []byte(strings.Replace(string(a.config()), a.URL, "http://api.example", 1))
	nc := startServer(t)
	restoreEarlier(t, nc, config)
	c := open(t, nc, cluster.Options{Engine: []engine.Option{engine.WithTransport(through)}})
	run, err := c.Run(t.Context(), "r1")
	require.NoError(t, err)
	s, err := run.Status(t.Context())
	require.NoError(t, err)
	require.Equal(t, status.Counts{Partitions: 7, Done: 3, Failed: 1, Waiting: 3, Pages: 11, Items: 18, Bytes: 442}, s.Total)

	run, err = c.Submit(t.Context(), cluster.Submission{Run: "r1", Name: "c.json", Text: config, Priority: 2, Patience: time.Minute})
	require.NoError(t, err)
	retried, err := run.Retry(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, retried)
	work(t, c, cluster.Worker{})
	requireAll(t, run, a)
	for _, stored := range []string{"/teams", "/teams/0/users", "/teams/2/users"} {
		_, again := asked.Load(stored)
		require.False(t, again, "%s was stored, and is requested again", stored)
	}
}

// restoreEarlier publishes the messages of testdata/earlier.json. The rules of the run become those of this
// version, since a worker leaves runs with other rules alone.
func restoreEarlier(t *testing.T, nc *nats.Conn, config []byte) {
	t.Helper()
	js, err := jetstream.New(nc)
	require.NoError(t, err)
	text, err := os.ReadFile("testdata/earlier.json")
	require.NoError(t, err)
	e, err := engine.Load("c.json", config)
	require.NoError(t, err)
	var streams []storedStream
	require.NoError(t, json.Unmarshal(text, &streams))
	for _, stream := range streams {
		_, err := js.CreateStream(t.Context(), stream.Config)
		require.NoError(t, err)
		for _, m := range stream.Messages {
			if stream.Config.Name == "KV_STOPWHEN_RUNS" {
				var record map[string]any
				require.NoError(t, json.Unmarshal([]byte(m.Data), &record))
				record["fingerprint"] = e.Fingerprint()
				text, err := json.Marshal(record)
				require.NoError(t, err)
				m.Data = string(text)
			}
			_, err := js.PublishMsg(t.Context(), &nats.Msg{Subject: m.Subject, Header: m.Header, Data: []byte(m.Data)})
			require.NoError(t, err)
		}
	}
}
