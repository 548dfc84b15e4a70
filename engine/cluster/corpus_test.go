package cluster_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/cluster"
	"github.com/stopwhen/stopwhen/fixtures"
	"github.com/stopwhen/stopwhen/rules/yaml"
	"github.com/stopwhen/stopwhen/runtime"
)

// TestACollectedRunIsTheRunOnOneMachine runs every case of the corpus with several jobs or
// partitions on workers. What is collected must be what one machine extracts: in its order
// if it is sorted, otherwise in the order of each partition.
func TestACollectedRunIsTheRunOnOneMachine(t *testing.T) {
	cases, err := fixtures.All()
	require.NoError(t, err)
	var refused atomic.Int64 // cases with a secret in the configuration, which are about something else
	t.Cleanup(func() {
		if !*everyCase {
			require.LessOrEqual(t, refused.Load(), int64(4))
		}
	})
	played := 0
	for _, c := range cases {
		if !severalTasks(c) {
			continue
		}
		played++
		number := played
		t.Run(c.Name, func(t *testing.T) {
			if number%12 != 0 {
				fixtures.SkipUnderRace(t, "a twelfth of the cases has the same goroutines")
			}
			t.Parallel()
			orders := []bool{true, false}
			if !*everyCase { // each order for every second case
				orders = []bool{number%2 == 0}
			}
			if !playDistributed(t, c, orders) {
				refused.Add(1)
			}
		})
	}
	require.Greater(t, played, 90)
}

// playDistributed compares the orders of a case. It reports false for one that is refused,
// because a secret is written in its configuration.
func playDistributed(t *testing.T, c *fixtures.Case, orders []bool) bool {
	t.Helper()
	nc := startServer(t)
	one := local(t, c)
	for _, sorted := range orders {
		many := distributed(t, nc, c, sorted)
		if many == nil {
			return false
		}
		if one.err != nil { // others of the run go on
			require.Error(t, many.err)
			continue
		}
		require.NoError(t, many.err)
		require.Equal(t, one.byPartition(), many.byPartition())
		require.Equal(t, one.results(t, sorted), many.results(t, sorted))
		if sorted {
			require.Equal(t, one.pages, many.pages)
		}
	}
	return true
}

var everyCase = flag.Bool("every-case", false, "run the cases of one job, too")

// partitioned matches configurations with several jobs or with partitions.
var partitioned = regexp.MustCompile(`"for"|"endpoint"(?s:.*)"endpoint"|"children"`)

var obtainsTokens = regexp.MustCompile(`"type": *"(oauth2|login|oauth20\.login)"`)

// severalTasks reports whether a case has several tasks that can run in any order: no
// response takes time, or answers a request that another one answers too.
func severalTasks(c *fixtures.Case) bool {
	if c.Exit == 2 || !*everyCase && !partitioned.Match(c.Config) {
		return false
	}
	known := map[string]bool{}
	for _, e := range c.Exchanges {
		if e.Response.After > 0 || known[e.Request.String()] {
			return false
		}
		known[e.Request.String()] = true
	}
	return true
}

// extraction is what came of a run.
type extraction struct {
	neutral func(string) string
	pages   []pageOf
	result  *engine.Result
	err     error
}

type pageOf struct{ partition, items string }

func (x *extraction) page(_ context.Context, page *engine.Page) error {
	partition, err := json.Marshal(page.Partition)
	x.pages = append(x.pages, pageOf{page.Job + " " + x.neutral(string(partition)), x.neutral(string(page.Items.Bytes()))})
	return err
}

// byPartition returns the items of each partition, in their order.
func (x *extraction) byPartition() map[string]string {
	all := map[string]string{}
	for _, p := range x.pages {
		all[p.partition] += p.items
	}
	return all
}

// results returns the results of the jobs without their times, and without what depends on
// the order in which partitions end.
func (x *extraction) results(t *testing.T, sorted bool) []string {
	t.Helper()
	var all []string
	for _, job := range x.result.Jobs {
		job.Seconds = 0
		if job.Partitions != nil && !sorted {
			job.Message, _, _ = strings.Cut(job.Message, ", the first: ")
			slices.SortFunc(job.Findings, func(a, b engine.Finding) int { return strings.Compare(a.Partition, b.Partition) })
			slices.SortFunc(job.Partitions.Failures, func(a, b runtime.PartitionFailure) int { return strings.Compare(a.Partition, b.Partition) })
		}
		text, err := json.Marshal(job)
		require.NoError(t, err)
		all = append(all, x.neutral(string(text)))
	}
	return all
}

// serveAny serves a case to requests in any order.
func serveAny(t *testing.T, c *fixtures.Case) *fixtures.Server {
	t.Helper()
	anyOrder := *c
	anyOrder.AnyOrder = true
	server, err := fixtures.Serve(&anyOrder)
	require.NoError(t, err)
	t.Cleanup(server.Close)
	return server
}

func env(name string) (string, bool) {
	return "secret-of-" + name, strings.HasPrefix(name, "FIXTURE_")
}

func engineOptions(server *fixtures.Server) []engine.Option {
	return []engine.Option{
		engine.WithClock(server.Clock()), engine.WithFormat(".yaml", yaml.Parse), engine.WithFormat(".yml", yaml.Parse), engine.WithEnv(env),
	}
}

func keptOf(t *testing.T, server *fixtures.Server) (kept map[string]map[string]any) {
	t.Helper()
	if text := server.Kept(); text != nil {
		require.NoError(t, json.Unmarshal(text, &kept))
	}
	return kept
}

// local runs a case on one machine.
func local(t *testing.T, c *fixtures.Case) *extraction {
	t.Helper()
	server := serveAny(t, c)
	e, err := engine.Load(c.ConfigName, server.ConfigText(), append(engineOptions(server), engine.WithKept(keptOf(t, server)))...)
	require.NoError(t, err)
	x := &extraction{neutral: server.Neutral}
	x.result, x.err = e.Run(t.Context(), x.page)
	return x
}

// distributed runs a case on two workers. It returns nil if a secret is written in its
// configuration.
func distributed(t *testing.T, nc *nats.Conn, c *fixtures.Case, sorted bool) *extraction {
	t.Helper()
	server := serveAny(t, c)
	cl := open(t, nc, cluster.SilentAtOnce(cluster.Final(cluster.Options{Engine: engineOptions(server)})))
	run, err := cl.Submit(t.Context(), cluster.Submission{
		Run: fmt.Sprintf("sorted-%t", sorted), Name: c.ConfigName, Text: server.ConfigText(), Kept: keptOf(t, server), Now: server.Clock().Now(),
	})
	if err != nil && (strings.Contains(err.Error(), "holds a secret") || strings.Contains(err.Error(), "the default of a secret input")) {
		return nil
	}
	require.NoError(t, err)
	workers := []cluster.Worker{{Name: "a", Slots: 2}, {Name: "b", Slots: 2}}
	if obtainsTokens.Match(c.Config) { // each worker obtains its own, and the case has only one
		workers = workers[:1]
	}
	stop := work(t, cl, workers...)
	defer stop()
	e, err := run.Engine()
	require.NoError(t, err)
	x := &extraction{neutral: server.Neutral}
	x.result, x.err = run.Collect(t.Context(), e, x.page, cluster.CollectOptions{Sorted: sorted})
	return x
}
