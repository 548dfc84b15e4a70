package cluster

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine/cluster/internal/record"
	"github.com/stopwhen/stopwhen/engine/cluster/internal/store"
)

func TestAProblemIsLoggedOnceAMinuteForAllTasksThatHaveIt(t *testing.T) {
	var log bytes.Buffer
	p := &workerRun{cluster: &Cluster{log: slog.New(slog.NewTextHandler(&log, nil))}, news: make(chan struct{}, 1)}
	for _, task := range []string{"a", "b", "c"} {
		p.noteProblem("r", "auth 401", "task "+task+" was refused")
	}
	p.noteProblem("r", "io", "the disk is full")
	require.Equal(t, 2, strings.Count(log.String(), "\n"), "one line for each kind: %s", &log)
	p.cluster.waiting(store.Key{Run: "s"}, errors.New("maximum bytes"))
	var rec, other record.Worker
	p.describe(&rec)
	require.Equal(t, map[string]string{"r": "the disk is full"}, rec.Problems, "the latest")
	require.Equal(t, []string{"s"}, rec.Full)
	require.Len(t, p.news, 1, "the server is told at once")
	(&workerRun{cluster: p.cluster}).describe(&other)
	require.Empty(t, other.Problems, "another worker of the program")
	require.Equal(t, []string{"s"}, other.Full, "the run is full for all workers")

	log.Reset()
	key := problemKey{"r", "auth 401"}
	early := p.problems.all[key]
	early.since = early.since.Add(-logEvery - time.Second)
	p.problems.all[key] = early
	p.noteProblem("r", "auth 401", "task d was refused")
	require.Contains(t, log.String(), "run r: task d was refused; 2 other tasks had this problem since it was logged last")
}
