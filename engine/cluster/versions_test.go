package cluster_test

import (
	"strings"
	"testing"

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
		ID: "manyPages", When: "total.pages > 1000", Outcome: "guarded", Policy: "fail", Doc: "pages that are too many",
		Clause: "there are many pages", Message: "there are many pages", Hint: "ask for fewer",
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
	require.Equal(t, "this worker cannot run it: run before: this program compiles the configuration to other rules than the one that submitted it (before) "+
		"(use the same version, with the same methods and functions)", strings.TrimSpace(s.Workers.List[0].Problem))

	work(t, before, cluster.Worker{Name: "before"})
	requireAll(t, runs["before"], a)
	stop()
}
