package store

import (
	"bytes"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/fixtures"
	"github.com/stopwhen/stopwhen/runtime/document"
)

func TestAPageIsReadAsItWasAppended(t *testing.T) {
	s, _ := openRun(t, Options{})
	head := Head{State: More, Attempt: "a", Page: 1, Delivery: 2, Reopens: true,
		Count: 7, Kind: Searches, Outcome: "complete", Reason: "stop.a b", Label: "order.id=1\r\n: é",
		Totals: Totals{Pages: 3, Items: 4, Bytes: 1 << 40, Children: 5, Findings: 6,
			Partitions: map[string]int{"a.b:c": 2, "d": 1}, Searches: map[string]int{"e": 2}}}
	first, err := s.Append(t.Context(), task, Tail{}, head, []byte(`{"position":1}`), ndjson(3))
	require.NoError(t, err)
	second, err := s.Append(t.Context(), task, first, Head{State: Done, Attempt: "a"}, []byte(`{}`), document.Items{})
	require.NoError(t, err)

	pages := collect(t, s, 0, 2)
	require.Equal(t, task, pages[0].Key)
	require.Equal(t, head, pages[0].Head)
	require.Equal(t, first.Sequence, pages[0].Sequence)
	require.JSONEq(t, `{"position":1}`, string(pages[0].Envelope))
	require.Equal(t, string(ndjson(3).Bytes()), string(pages[0].Items.Bytes()))
	require.Equal(t, 3, pages[0].Items.Len())
	require.Equal(t, second.Sequence, pages[1].Sequence)
	require.Zero(t, pages[1].Items.Len())

	last, err := s.Last(t.Context(), task)
	require.NoError(t, err)
	require.Equal(t, Done, last.State)
	require.Equal(t, `{}`, string(last.Envelope))
	next, err := s.Next(t.Context(), task, 0)
	require.NoError(t, err)
	require.Equal(t, first.Sequence, next.Sequence)
	require.Equal(t, pages[0].Items.Bytes(), next.Items.Bytes())
	next, err = s.Next(t.Context(), task, second.Sequence)
	require.NoError(t, err)
	require.Nil(t, next)
	none, err := s.Last(t.Context(), Key{Run: "r", Submission: "s", Job: "users/v2.x", Task: "0-v2"})
	require.NoError(t, err)
	require.Nil(t, none)
}

// Sizes around the largest message: with one byte more, the page is stored in two parts.
func TestAPageIsStoredInPartsWhenItIsLargerThanAMessage(t *testing.T) {
	fixtures.SkipUnderRace(t, "a page of 50 MB is stored in parts with it")
	s, _ := openRun(t, Options{})
	room := int(s.nc.MaxPayload()) - headerRoom
	after := Tail{}
	for _, c := range []struct{ size, parts int }{
		{0, 0}, {room - 1, 0}, {room, 0}, {room + 1, 2}, {2 * room, 2}, {2*room + 1, 3}, {12*room + 1, 13},
	} {
		t.Run(fmt.Sprint(c.size), func(t *testing.T) {
			envelope := fmt.Appendf(nil, `{"size":%d}`, c.size)
			items := blockOf(max(0, c.size-len(envelope)-1))
			place, err := s.Append(t.Context(), task, after, Head{State: More, Attempt: "a"}, envelope, items)
			require.NoError(t, err)
			require.Equal(t, after.Sequence+uint64(max(1, c.parts)), place.Sequence, "one message for each part")

			read := collect(t, s, after.Sequence, 1)[0]
			next, err := s.Next(t.Context(), task, after.Sequence)
			require.NoError(t, err)
			defer next.Release()
			last, err := s.Last(t.Context(), task)
			require.NoError(t, err)
			for _, e := range []*Entry{&read, next, last} {
				require.Equal(t, place.Sequence, e.Sequence)
				require.Equal(t, c.parts, e.Parts)
				require.Equal(t, string(envelope), string(e.Envelope))
			}
			for _, e := range []*Entry{&read, next} {
				require.True(t, bytes.Equal(items.Bytes(), e.Items.Bytes()))
				require.Equal(t, items.Len(), e.Items.Len())
			}
			after = place
		})
	}
}

func TestAnEnvelopeMayBeLargerThanAMessage(t *testing.T) {
	s, _ := openRun(t, Options{})
	envelope := blockOf(3 * int(s.nc.MaxPayload())).Bytes()
	envelope = envelope[:len(envelope)-1]
	_, err := s.Append(t.Context(), task, Tail{}, Head{State: More, Attempt: "a"}, envelope, ndjson(2))
	require.NoError(t, err)
	last, err := s.Last(t.Context(), task)
	require.NoError(t, err)
	require.True(t, bytes.Equal(envelope, last.Envelope))
	read := collect(t, s, 0, 1)[0]
	require.True(t, bytes.Equal(envelope, read.Envelope))
	require.Equal(t, ndjson(2).Bytes(), read.Items.Bytes())
}

// Every second acknowledgement is lost, so half of the appends have to find out that
// their page is stored.
func TestAPageIsStoredOnceWhenItsAcknowledgementIsLost(t *testing.T) {
	lost := 0
	s, _ := openRun(t, Options{LoseAck: func(Key) bool { lost++; return lost%2 == 0 }})
	after := Tail{}
	for page := range 10 {
		size := 10
		if page%3 == 2 {
			size = 2 << 20
		}
		place, err := s.Append(t.Context(), task, after, Head{State: More, Attempt: "a", Page: page + 1}, []byte(`{}`), blockOf(size))
		require.NoError(t, err)
		after = place
	}
	require.Equal(t, 10, lost)
	for i, e := range collect(t, s, 0, 10) {
		require.Equal(t, i+1, e.Page)
	}
	info, err := s.Info(t.Context(), "r")
	require.NoError(t, err)
	require.Equal(t, uint64(7+3*3), info.Messages)
}

func TestAnAttemptThatWasOvertakenStoresNothing(t *testing.T) {
	s, _ := openRun(t, Options{})
	first, err := s.Append(t.Context(), task, Tail{}, Head{State: More, Attempt: "a", Page: 1}, []byte(`{}`), ndjson(1))
	require.NoError(t, err)
	second, err := s.Append(t.Context(), task, first, Head{State: More, Attempt: "b", Page: 2}, []byte(`{}`), ndjson(1))
	require.NoError(t, err)
	for _, size := range []int{10, 2 << 20} {
		for _, after := range []Tail{{}, first, {Sequence: second.Sequence + 1}} {
			_, err = s.Append(t.Context(), task, after, Head{State: More, Attempt: "zombie", Page: 2}, []byte(`{}`), blockOf(size))
			require.ErrorIs(t, err, ErrLost)
		}
	}
	info, err := s.Info(t.Context(), "r")
	require.NoError(t, err)
	require.Equal(t, uint64(2), info.Messages)
}

func TestOfAppendsThatRaceExactlyOneIsStored(t *testing.T) {
	s, _ := openRun(t, Options{})
	after := Tail{}
	for round := range 5 {
		places, errs := make([]Tail, 8), make([]error, 8)
		var wg sync.WaitGroup
		for i := range places {
			wg.Go(func() {
				size := 10
				if i%2 == 1 {
					size = 3 << 20
				}
				head := Head{State: More, Attempt: fmt.Sprint(round, "-", i)}
				places[i], errs[i] = s.Append(t.Context(), task, after, head, []byte(`{}`), blockOf(size))
			})
		}
		wg.Wait()
		stored := 0
		for i, err := range errs {
			if err == nil {
				stored++
				after = places[i]
				continue
			}
			require.ErrorIs(t, err, ErrLost)
		}
		require.Equal(t, 1, stored)
	}
	require.Len(t, collect(t, s, 0, 5), 5)
}

func TestAPageOfADeletedRunIsRefused(t *testing.T) {
	s, _ := openRun(t, Options{})
	first, err := s.Append(t.Context(), task, Tail{}, Head{State: More, Attempt: "a"}, []byte(`{}`), ndjson(1))
	require.NoError(t, err)
	require.NoError(t, s.DeleteRun(t.Context(), "r", "s", 0))
	_, err = s.Append(t.Context(), task, first, Head{State: More, Attempt: "a"}, []byte(`{}`), ndjson(1))
	require.ErrorIs(t, err, ErrDeleted)
	_, err = s.Append(t.Context(), task, first, Head{State: More, Attempt: "a"}, []byte(`{}`), blockOf(3<<20))
	require.ErrorIs(t, err, ErrDeleted)
	_, err = s.Info(t.Context(), "r")
	require.ErrorIs(t, err, ErrDeleted)
	require.ErrorIs(t, s.Read(t.Context(), "r", 0, Mark{}, nil), ErrDeleted)
	require.ErrorIs(t, s.Heads(t.Context(), "r", nil, nil), ErrDeleted)
	require.NoError(t, s.DeleteRun(t.Context(), "r", "s", 0))
}
