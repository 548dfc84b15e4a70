package store

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The server is restored from a copy that lacks the last pages, while a collection reads and before
// one continues.
func TestAServerThatHasLostPagesIsNoticed(t *testing.T) {
	s, server := openRun(t, Options{})
	after := uint64(0)
	write := func(page int) {
		var err error
		after, err = s.Append(t.Context(), task, after, Head{State: More, Attempt: fmt.Sprint(page)}, []byte("{}"), ndjson(1))
		require.NoError(t, err)
	}
	write(1)
	server.stop()
	older := t.TempDir()
	require.NoError(t, os.CopyFS(older, os.DirFS(server.options.StoreDir)))
	server.start()
	write(2)
	write(3)
	last := after

	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	seen, ended := make(chan uint64, 10), make(chan error, 1)
	go func() {
		ended <- s.Read(ctx, "r", Mark{}, func(e *Entry) error { seen <- e.Sequence; return nil })
	}()
	for range 3 {
		<-seen
	}
	server.stop()
	server.options.StoreDir = older
	server.start()
	require.ErrorIs(t, <-ended, ErrReplaced)
	none := func(*Entry) error { t.Error("there is no such page"); return nil }
	require.ErrorIs(t, s.Read(ctx, "r", Mark{Sequence: last}, none), ErrReplaced)

	// Other pages have the sequences of those that were lost.
	after = 1
	for page := range 4 {
		write(page)
	}
	require.ErrorIs(t, s.Read(ctx, "r", Mark{Sequence: last, Stored: time.Now().Add(-time.Hour)}, none), ErrReplaced)
}
