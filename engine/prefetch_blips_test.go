package engine_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/stopwhen/stopwhen/engine"
)

// A blip is an incident of an API: what it does with all requests that arrive in a time.
type blip struct {
	begin, end time.Duration
	kind       blipKind
}

type blipKind string

const (
	unavailable blipKind = "status 503"
	busy        blipKind = "status 429 with Retry-After"
	reset       blipKind = "connection reset"
)

func (b blip) String() string { return fmt.Sprintf("%s from %s to %s", b.kind, b.begin, b.end) }

// patient is the clock of the test, with the longest wait before a retry: what is tested
// must not depend on chance.
type patient struct{}

func (patient) Now() time.Time                           { return time.Now() }
func (patient) Jitter(bound time.Duration) time.Duration { return bound }

func (patient) Sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// blippingAPI serves a list of pages, each after a latency, except during the blips.
func blippingAPI(pages int, latency time.Duration, blips []blip) transportFunc {
	began := time.Now()
	return func(r *http.Request) (*http.Response, error) {
		at := time.Since(began)
		time.Sleep(latency)
		for _, b := range blips {
			if at < b.begin || at >= b.end {
				continue
			}
			switch b.kind {
			case reset:
				return nil, errors.New("connection reset by peer")
			case busy:
				return answer(r, 429, http.Header{"Retry-After": {"1"}}, "{}"), nil
			case unavailable:
				return answer(r, 503, http.Header{}, "{}"), nil
			}
		}
		page, _ := strconv.Atoi(r.URL.Query().Get("page"))
		if page > pages {
			return answer(r, 200, http.Header{}, `{"data": []}`), nil
		}
		return answer(r, 200, http.Header{}, fmt.Sprintf(`{"data": [{"id": %d}, {"id": %d}]}`, 2*page, 2*page+1)), nil
	}
}

func answer(r *http.Request, status int, header http.Header, body string) *http.Response {
	return &http.Response{StatusCode: status, Header: header, Body: io.NopCloser(strings.NewReader(body)), Request: r}
}

// extractThrough extracts a list from an API with blips, and returns how that ended.
func extractThrough(t *testing.T, prefetch, pages int, latency time.Duration, blips []blip) (items string, result *engine.Result, err error) {
	synctest.Test(t, func(t *testing.T) {
		e := load(t, usersConfig("http://api.test", `"method": "pagenum", "limit": 2`),
			engine.WithTransport(blippingAPI(pages, latency, blips)), engine.WithClock(patient{}), engine.WithPrefetch(prefetch))
		var out bytes.Buffer
		result, err = e.Run(t.Context(), func(_ context.Context, page *engine.Page) error {
			_, err := page.Items.WriteTo(&out)
			return err
		})
		items = out.String()
	})
	return items, result, err
}

var windows = []int{2, 3, 4, 8, 16, 32, 64, engine.AutoPrefetch}

// One incident fails all requests in flight. That must not cost more retries than it costs
// a run that makes one request at a time.
func TestTwoBlipsDoNotEndARunWithManyPagesInFlight(t *testing.T) {
	blips := []blip{{500 * time.Millisecond, 800 * time.Millisecond, reset}, {2 * time.Second, 2300 * time.Millisecond, unavailable}}
	want, one, err := extractThrough(t, 1, 400, 20*time.Millisecond, blips)
	require.NoError(t, err)
	for _, window := range windows {
		t.Run(fmt.Sprint(window), func(t *testing.T) {
			items, many, err := extractThrough(t, window, 400, 20*time.Millisecond, blips)
			require.NoError(t, err)
			require.Equal(t, want, items)
			require.Equal(t, one.Jobs[0].StoppedBy, many.Jobs[0].StoppedBy)
		})
	}
}

func TestPrefetchingThroughBlipsGivesTheSameResult(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		pages := rapid.IntRange(1, 200).Draw(r, "pages")
		latency := time.Duration(rapid.IntRange(5, 60).Draw(r, "latency")) * time.Millisecond
		var blips []blip
		at := time.Duration(0)
		for range rapid.IntRange(0, 4).Draw(r, "blips") {
			at += time.Duration(rapid.IntRange(0, 3000).Draw(r, "pause")) * time.Millisecond
			length := time.Duration(rapid.IntRange(50, 900).Draw(r, "length")) * time.Millisecond
			kind := rapid.SampledFrom([]blipKind{unavailable, busy, reset}).Draw(r, "kind")
			blips = append(blips, blip{at, at + length, kind})
			at += length
		}
		window := rapid.SampledFrom(windows).Draw(r, "prefetch")
		want, one, err := extractThrough(t, 1, pages, latency, blips)
		require.NoError(r, err)
		items, many, err := extractThrough(t, window, pages, latency, blips)
		require.NoError(r, err)
		require.Equal(r, want, items)
		require.Equal(r, one.Jobs[0].StoppedBy, many.Jobs[0].StoppedBy)
		require.Equal(r, one.Jobs[0].Pages, many.Jobs[0].Pages)
		require.Equal(r, one.Jobs[0].Bytes, many.Jobs[0].Bytes)
	})
}
