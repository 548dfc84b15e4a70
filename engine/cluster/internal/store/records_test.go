package store

import (
	"bytes"
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/runtime/failure"
)

func TestAConfigurationIsFoundByItsSubmission(t *testing.T) {
	s, _ := openRun(t, Options{})
	require.NoError(t, s.PutConfig(t.Context(), "s", []byte("api: {}")))
	require.NoError(t, s.PutConfig(t.Context(), "s", []byte("api: {}")))
	text, err := s.Config(t.Context(), "s")
	require.NoError(t, err)
	require.Equal(t, "api: {}", string(text))
	_, err = s.Config(t.Context(), "0000")
	require.ErrorIs(t, err, failure.ErrState)
	err = s.PutConfig(t.Context(), "s", bytes.Repeat([]byte("x"), 1<<20))
	require.ErrorIs(t, err, failure.ErrConfig)
	require.ErrorContains(t, err, "the configuration has 1048576 bytes, and the NATS server accepts 1032192 (raise max_payload of the server)")
}

func TestARecordIsReplacedOnlyByThoseWhoKnowIt(t *testing.T) {
	s, _ := openRun(t, Options{})
	none, err := s.Run(t.Context(), "r")
	require.NoError(t, err)
	require.Nil(t, none)
	first, err := s.PutRun(t.Context(), "r", []byte("1"))
	require.NoError(t, err)
	_, err = s.PutRun(t.Context(), "r", []byte("2"))
	require.ErrorIs(t, err, ErrConflict)
	second, err := s.UpdateRun(t.Context(), "r", []byte("3"), first)
	require.NoError(t, err)
	_, err = s.UpdateRun(t.Context(), "r", []byte("4"), first)
	require.ErrorIs(t, err, ErrConflict)
	record, err := s.Run(t.Context(), "r")
	require.NoError(t, err)
	require.Equal(t, "3", string(record.Value))
	require.Equal(t, second, record.Revision)

	_, err = s.PutRun(t.Context(), "q", []byte("5"))
	require.NoError(t, err)
	records, err := s.Runs(t.Context())
	require.NoError(t, err)
	require.Len(t, records, 2)
	require.NoError(t, s.DeleteRun(t.Context(), "r", "s", 0))
	records, err = s.Runs(t.Context())
	require.NoError(t, err)
	require.Equal(t, "q", records[0].Name)
	require.Len(t, records, 1)
	_, err = s.PutRun(t.Context(), "r", []byte("6")) // the name is free again
	require.NoError(t, err)
}

func TestChangesOfRunsAreWatchedAcrossARestart(t *testing.T) {
	s, server := openRun(t, Options{})
	_, err := s.PutRun(t.Context(), "r", []byte("1"))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	seen := make(chan Record, 10)
	wg.Go(func() { assert.ErrorIs(t, s.WatchRuns(ctx, func(r Record) { seen <- r }), failure.ErrCancelled) })
	require.Equal(t, "1", string((<-seen).Value))
	server.restart()
	record, err := s.Run(t.Context(), "r")
	require.NoError(t, err)
	_, err = s.UpdateRun(t.Context(), "r", []byte("2"), record.Revision)
	require.NoError(t, err)
	select {
	case r := <-seen:
		require.Equal(t, "2", string(r.Value))
	case <-time.After(time.Minute):
		t.Error("the change was not delivered")
	}
	require.NoError(t, s.DeleteRun(t.Context(), "r", "s", 0))
	require.Nil(t, (<-seen).Value)
	cancel()
	wg.Wait()
}

func TestWorkersAreKnownByAnyName(t *testing.T) {
	s, _ := openRun(t, Options{})
	require.NoError(t, s.PutWorker(t.Context(), "host.example:1/é", []byte("a")))
	require.NoError(t, s.PutWorker(t.Context(), "other", []byte("b")))
	require.NoError(t, s.DeleteWorker(t.Context(), "other"))
	workers, err := s.Workers(t.Context())
	require.NoError(t, err)
	require.Len(t, workers, 1)
	require.Equal(t, "host.example:1/é", workers[0].Name)
	require.Equal(t, "a", string(workers[0].Value))
}

// What the server has in memory is lost with it, and there again with the next record.
func TestAWorkerIsKnownAfterARestart(t *testing.T) {
	server := startServer(t)
	s := server.open(Options{})
	require.NoError(t, s.PutWorker(t.Context(), "a", []byte("{}")))
	server.restart()
	workers, err := s.Workers(t.Context())
	require.NoError(t, err)
	require.Empty(t, workers)
	server.restart()
	require.NoError(t, s.PutWorker(t.Context(), "a", []byte("{}")))
	workers, err = server.open(Options{}).Workers(t.Context())
	require.NoError(t, err)
	require.Len(t, workers, 1)
}
