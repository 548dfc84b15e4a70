package store

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	system "runtime"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/stopwhen/stopwhen/fixtures"
	"github.com/stopwhen/stopwhen/runtime/document"
	"github.com/stopwhen/stopwhen/runtime/spool"
)

func keyNumber(n int) Key {
	return Key{Run: "r", Submission: "s", Job: "j", Task: fmt.Sprint("0-v", n)}
}

func TestPagesAreReadInTheOrderInWhichTheyWereStored(t *testing.T) {
	s, _ := openRun(t, Options{})
	var sequences []uint64
	after := map[int]Tail{}
	for page := range 30 {
		k := page % 3
		size := 10
		if page%5 == 0 {
			size = 2 << 20
		}
		place, err := s.Append(t.Context(), keyNumber(k), after[k], Head{State: More, Attempt: "a"}, fmt.Append(nil, page), blockOf(size))
		require.NoError(t, err)
		after[k] = place
		sequences = append(sequences, place.Sequence)
	}
	for i, e := range collect(t, s, 0, 30) {
		require.Equal(t, sequences[i], e.Sequence)
		require.Equal(t, keyNumber(i%3), e.Key)
		require.Equal(t, fmt.Sprint(i), string(e.Envelope))
	}
	require.Equal(t, sequences[20], collect(t, s, sequences[19], 1)[0].Sequence)
}

func TestReadingWaitsForPagesAndEndsWhenTheRunIsDeleted(t *testing.T) {
	s, _ := openRun(t, Options{})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	started, read := make(chan bool, 1), 0
	_, err := s.Append(ctx, task, Tail{}, Head{State: More, Attempt: "a"}, []byte("1"), ndjson(1))
	require.NoError(t, err)
	var wg sync.WaitGroup
	wg.Go(func() {
		err := s.Read(ctx, "r", 0, Mark{}, func(*Entry) error { read++; started <- true; return nil })
		assert.ErrorIs(t, err, ErrDeleted)
	})
	<-started
	_, err = s.Append(ctx, keyNumber(1), Tail{}, Head{State: More, Attempt: "a"}, []byte("2"), ndjson(1))
	require.NoError(t, err)
	<-started
	require.NoError(t, s.DeleteRun(ctx, "r", "s", 0))
	wg.Wait()
	require.Equal(t, 2, read)
}

func TestTheLastPagesOfAllTasksAreKnownWithoutReadingThem(t *testing.T) {
	s, _ := openRun(t, Options{})
	require.NoError(t, s.Heads(t.Context(), "r", nil, func(StoredHead) error { return errors.New("there is none") }))
	for n := range 20 {
		first, err := s.Append(t.Context(), keyNumber(n), Tail{}, Head{State: More, Attempt: "a", Totals: Totals{Items: 1}}, []byte("1"), ndjson(1))
		require.NoError(t, err)
		if n%2 == 0 {
			_, err = s.Append(t.Context(), keyNumber(n), first, Head{State: Done, Attempt: "a", Totals: Totals{Items: n}}, []byte("2"), blockOf(1100<<10))
			require.NoError(t, err)
		}
	}
	seen := map[Key]bool{}
	require.NoError(t, s.Heads(t.Context(), "r", nil, func(h StoredHead) error {
		n := len(seen)
		require.False(t, seen[h.Key])
		seen[h.Key] = true
		require.Equal(t, keyNumber(n), h.Key)
		if n%2 == 0 {
			require.Equal(t, Head{State: Done, Attempt: "a", Parts: 2, After: h.After, Totals: Totals{Items: n}}, h.Head)
		} else {
			require.Equal(t, Head{State: More, Attempt: "a", Totals: Totals{Items: 1}}, h.Head)
		}
		return nil
	}))
	require.Len(t, seen, 20)
	for from, want := range map[uint64]int{1: 30, 1000: 0} {
		n := 0
		require.NoError(t, s.HeadsFrom(t.Context(), "r", from, nil, func(StoredHead) error { n++; return nil }))
		require.Equal(t, want, n)
	}
	stop := errors.New("stop")
	require.ErrorIs(t, s.Heads(t.Context(), "r", nil, func(StoredHead) error { return stop }), stop)
}

// The last page of the task is in parts, of which none may be released.
func TestReleasedPagesAreGoneButTheLastRemains(t *testing.T) {
	for _, size := range []int{10, 3 << 20} {
		s, _ := openRun(t, Options{})
		var after Tail
		var sequences []uint64
		for range 4 {
			place, err := s.Append(t.Context(), task, after, Head{State: More, Attempt: "a"}, []byte("{}"), blockOf(size))
			require.NoError(t, err)
			after = place
			sequences = append(sequences, place.Sequence)
		}
		_, err := s.Append(t.Context(), keyNumber(2), Tail{}, Head{State: More, Attempt: "a"}, []byte("{}"), blockOf(size))
		require.NoError(t, err)
		require.NoError(t, s.Release(t.Context(), task, sequences[1]))
		next, err := s.Next(t.Context(), task, 0)
		require.NoError(t, err)
		require.Equal(t, sequences[2], next.Sequence)
		next.Release()
		require.NoError(t, s.Release(t.Context(), task, after.Sequence))
		require.NoError(t, s.Release(t.Context(), task, after.Sequence))
		require.Len(t, collect(t, s, 0, 2), 2)
		last, err := s.Last(t.Context(), task)
		require.NoError(t, err)
		require.Equal(t, after.Sequence, last.Sequence)
		_, err = s.Append(t.Context(), task, after, Head{State: Done, Attempt: "a"}, []byte("{}"), blockOf(size))
		require.NoError(t, err)
		require.NoError(t, s.Release(t.Context(), keyNumber(3), 100))
	}
}

// What is written comes from a file, in pieces; what is read of a large page is in one.
func TestAPageOf50MBIsNotHeldInMemory(t *testing.T) {
	fixtures.SkipUnderRace(t, "it measures time or memory")
	s, _ := openRun(t, Options{})
	block := bytes.Repeat(append(bytes.Repeat([]byte("7"), 1<<20-1), '\n'), 50)
	var file spool.Buffer
	defer file.Release()
	file.Reset(-1)
	_, err := file.Write(block)
	require.NoError(t, err)
	body, mapping, err := file.Body()
	require.NoError(t, err)
	_, err = s.Append(t.Context(), task, Tail{}, Head{State: Done, Attempt: "a"}, []byte("{}"), document.NewItems(body, 50, mapping))
	require.NoError(t, err)
	enough := errors.New("enough")
	require.ErrorIs(t, s.Read(t.Context(), "r", 0, Mark{}, func(e *Entry) error {
		require.Equal(t, 50, e.Items.Len())
		require.True(t, bytes.Equal(block, e.Items.Bytes()))
		require.True(t, e.Mapping != nil || system.GOOS != "linux", "the page is in memory")
		return enough
	}), enough)
}

func TestAppendsAndReadsContinueAcrossRestarts(t *testing.T) {
	s, server := openRun(t, Options{}, func(o *server.Options) { o.MaxPayload = 64 << 10 })
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	const pages = 60
	var wg sync.WaitGroup
	wg.Go(func() {
		var after Tail
		for page := range pages {
			size := 100
			if page%7 == 3 {
				size = 300_000
			}
			place, err := s.Append(ctx, task, after, Head{State: More, Attempt: "a", Page: page + 1}, []byte("{}"), blockOf(size))
			if err != nil {
				t.Error(err)
				cancel()
				return
			}
			after = place
		}
	})
	wg.Go(func() {
		for range 3 {
			time.Sleep(20 * time.Millisecond)
			server.restart()
		}
	})
	enough, read := errors.New("enough"), 0
	require.ErrorIs(t, s.Read(ctx, "r", 0, Mark{}, func(e *Entry) error {
		if read++; read != e.Page {
			return fmt.Errorf("page %d instead of %d", e.Page, read)
		}
		if read == pages {
			return enough
		}
		return nil
	}), enough)
	wg.Wait()
}

// A model of a run: appends by attempts that know the last page, or an earlier one, and
// of which some acknowledgements are lost, reads from the last position, and restarts.
func TestEveryPageIsStoredOnceAndReadByteForByte(t *testing.T) {
	s, server := openRun(t, Options{}, func(o *server.Options) { o.MaxPayload = 64 << 10 })
	var lose bool
	s.options.LoseAck = func(Key) bool { lost := lose; lose = false; return lost }
	runs := 0
	if f := flag.Lookup("rapid.checks"); f.Value.String() == f.DefValue {
		require.NoError(t, f.Value.Set("10"))
		defer func() { require.NoError(t, f.Value.Set(f.DefValue)) }()
	}
	rapid.Check(t, func(r *rapid.T) {
		runs++
		run := fmt.Sprint("model", runs)
		require.NoError(r, s.CreateRun(t.Context(), run, "s", 0))
		defer func() { require.NoError(r, s.DeleteRun(t.Context(), run, "s", 0)) }()
		type stored struct {
			key      Key
			sequence uint64
			items    []byte
		}
		var log []stored
		last := map[Key]Tail{}
		position, read := uint64(0), 0
		r.Repeat(map[string]func(*rapid.T){
			"append": func(r *rapid.T) {
				key := Key{Run: run, Submission: "s", Job: rapid.StringN(0, 5, 20).Draw(r, "job"),
					Task: rapid.SampledFrom([]string{"0", "1"}).Draw(r, "task")}
				after, lost := last[key], rapid.Bool().Draw(r, "lose")
				if len(log) > 0 && rapid.IntRange(0, 3).Draw(r, "stale") == 0 {
					key, after = log[len(log)-1].key, Tail{Sequence: log[len(log)-1].sequence + 1}
				}
				size := rapid.SampledFrom([]int{0, 3, 1000, 48<<10 - 3, 48<<10 - 2, 48 << 10, 200_000}).Draw(r, "size")
				items := blockOf(size)
				lose = lost
				place, err := s.Append(t.Context(), key, after, Head{State: More, Attempt: fmt.Sprint(len(log))}, []byte("{}"), items)
				lose = false
				if after != last[key] {
					require.ErrorIs(r, err, ErrLost)
					return
				}
				require.NoError(r, err)
				last[key] = place
				log = append(log, stored{key, place.Sequence, items.Bytes()})
			},
			"read": func(r *rapid.T) {
				enough := errors.New("enough")
				if read == len(log) {
					return
				}
				require.ErrorIs(r, s.Read(t.Context(), run, position, Mark{}, func(e *Entry) error {
					want := log[read]
					require.Equal(r, want.key, e.Key)
					require.Equal(r, want.sequence, e.Sequence)
					require.True(r, bytes.Equal(want.items, e.Items.Bytes()))
					position = e.Sequence
					if read++; read == len(log) {
						return enough
					}
					return nil
				}), enough)
			},
			"restart": func(r *rapid.T) {
				if rapid.IntRange(0, 9).Draw(r, "rarely") == 0 {
					server.restart()
				}
			},
		})
	})
}
