package engine_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/fixtures"
)

// errBroken ends a run that a test interrupts.
var errBroken = errors.New("interrupted")

// seenPages is what a sink has received, and the checkpoint after the last page that has
// one.
type seenPages struct {
	pages       []string
	committed   int // pages that the checkpoint covers
	checkpoints map[string]json.RawMessage
	breakAt     int  // page on which the sink fails, from 1; 0: none
	before      bool // it fails before it saves the checkpoint
}

func (s *seenPages) deliver(_ context.Context, page *engine.Page) error {
	breaks := len(s.pages)+1 == s.breakAt
	if breaks && s.before {
		return errBroken
	}
	partition, err := json.Marshal(page.Partition)
	if err != nil {
		return err
	}
	s.pages = append(s.pages, fmt.Sprintf("%s %s page %d: %s%s, written %d, skipped %t, final %t: %s", page.Job, partition, page.Page,
		page.Decision, page.StoppedBy, page.Items.Len(), page.Skipped, page.Final, page.Items.Bytes()))
	checkpoint, err := page.Checkpoint()
	if err != nil {
		return err
	}
	if checkpoint != nil {
		s.checkpoints[page.Root], s.committed = bytes.Clone(checkpoint), len(s.pages)
	}
	if breaks {
		return errBroken
	}
	return nil
}

// resumed returns what the next run adds to: the pages of the checkpoint.
func (s *seenPages) resumed(breakAt int, before bool) *seenPages {
	return &seenPages{pages: s.pages[:s.committed], committed: s.committed, checkpoints: s.checkpoints, breakAt: breakAt, before: before}
}

// byTree returns the pages, those of each tree of jobs together: trees may run at the same
// time.
func (s *seenPages) byTree(tree *drawnTree) []string {
	var all []string
	for _, root := range tree.jobs {
		for _, page := range s.pages {
			job, _, _ := strings.Cut(page, " ")
			if root.parent == nil && tree.rootOf(job) == root {
				all = append(all, page)
			}
		}
	}
	return all
}

// comparableResult returns a result without its running times.
func comparableResult(t require.TestingT, result *engine.Result) string {
	for i := range result.Jobs {
		result.Jobs[i].Seconds = 0
	}
	text, err := json.MarshalIndent(result.Jobs, "", " ")
	require.NoError(t, err)
	return string(text)
}

// errorText returns the text of an error, without that of the cause in a context.
func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// TestATreeFollowsItsModel generates trees of partitions and compares a run with a model
// that walks the tree in the order of the documentation: each page of a partition, and
// after it the partitions for its items. It runs each with other numbers of jobs: pages
// and results are the same.
func TestATreeFollowsItsModel(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	rapid.Check(t, func(t *rapid.T) {
		tree := drawTree(t)
		e := load(t, tree.config(), engine.WithTransport(tree), engine.WithClock(instant{}))
		want := &seenPages{checkpoints: map[string]json.RawMessage{}}
		result, err := e.Run(context.Background(), want.deliver)
		model := tree.model()
		require.Equal(t, model.failed || model.refused(), err != nil, "%v\n%s", err, tree.config())
		var got []string
		for _, page := range want.pages {
			got = append(got, pageOf(page))
		}
		require.Equal(t, model.pages, got, "%v %s", err, tree.config())
		wantResult := comparableResult(t, result)
		for _, jobs := range []int{2, rapid.IntRange(3, 8).Draw(t, "jobs")} {
			parallel := &seenPages{checkpoints: map[string]json.RawMessage{}}
			result, again := e.With(engine.WithParallelJobs(jobs)).Run(context.Background(), parallel.deliver)
			require.Equal(t, want.byTree(tree), parallel.byTree(tree), "%d jobs; %s", jobs, tree.config())
			require.Equal(t, errorText(err), errorText(again))
			require.Equal(t, wantResult, comparableResult(t, result), "%d jobs; %s", jobs, tree.config())
		}
	})
}

// TestABrokenTreeResumes interrupts runs of generated trees again and again, each time on
// another page, and resumes them in an engine of its own. Together they deliver the pages
// of a run that was not interrupted, each once, and end with the same result.
func TestABrokenTreeResumes(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	rapid.Check(t, func(t *rapid.T) {
		tree := drawTree(t)
		fresh := func() *engine.Engine {
			return load(t, tree.config(), engine.WithTransport(tree), engine.WithClock(instant{}))
		}
		want := &seenPages{checkpoints: map[string]json.RawMessage{}}
		result, err := fresh().Run(context.Background(), want.deliver)
		wantResult := comparableResult(t, result)
		got := &seenPages{checkpoints: map[string]json.RawMessage{}}
		for at := 0; ; {
			at += rapid.IntRange(1, 4).Draw(t, "breakAfter")
			got = got.resumed(at, rapid.Bool().Draw(t, "before"))
			jobs := rapid.SampledFrom([]int{1, 1, 3}).Draw(t, "jobs")
			result, again := fresh().With(engine.WithResume(maps.Clone(got.checkpoints)), engine.WithParallelJobs(jobs)).Run(context.Background(), got.deliver)
			if errors.Is(again, errBroken) {
				continue
			}
			require.Equal(t, want.byTree(tree), got.byTree(tree), "%s", tree.config())
			require.Equal(t, errorText(err), errorText(again))
			if err == nil { // of a failed run, the result depends on what was read ahead
				require.Equal(t, wantResult, comparableResult(t, result), "%s", tree.config())
			}
			return
		}
	})
}

// largePartitions has partitions whose pages are too large to wait for their turn in memory.
func largePartitions(t *testing.T) *engine.Engine {
	t.Helper()
	fill := strings.Repeat("x", 400_000)
	return load(t, []byte(`{"api": {"baseUrl": "https://api.test/", "pagination": {"method": "pagenum"}}, "config": {"jobs": [
		{"id": "team", "endpoint": "{t}", "dataField": "data", "for": {"t": {"values": [0, 1, 2, 3, 4, 5, 6, 7]}}}]}}`),
		engine.WithTransport(transportFunc(func(r *http.Request) (*http.Response, error) {
			if r.URL.Query().Get("page") == "4" {
				return respond(r, `{"data": []}`)
			}
			item := fmt.Sprintf(`{"of": %q, "fill": "%s"}`, r.URL.RequestURI(), fill)
			return respond(r, `{"data": [`+item+`,`+item+`]}`)
		})))
}

// TestLargePagesWaitForTheirTurn lets partitions run ahead of a slow sink: their pages wait
// in files, and come as without concurrency.
func TestLargePagesWaitForTheirTurn(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	of := func(jobs int) (seen []string) {
		_, err := largePartitions(t).With(engine.WithParallelJobs(jobs)).Run(t.Context(), func(_ context.Context, page *engine.Page) error {
			require.Len(t, page.Lists, 1)
			require.Equal(t, page.Items.Bytes(), page.Lists[0].Items.Bytes())
			for item := range page.Items.All() {
				seen = append(seen, string(item[:30]))
			}
			return nil
		})
		require.NoError(t, err)
		return seen
	}
	want := of(1)
	require.Len(t, want, 8*3*2)
	require.Equal(t, want, of(5))
}

// TestATreeEndsWithItsContextOrItsSink cancels runs of partitions, and lets their sink fail,
// on every page: they end with that error and leave no goroutine.
func TestATreeEndsWithItsContextOrItsSink(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	full := errors.New("full")
	for last := 1; last <= 12; last++ {
		for _, cancels := range []bool{true, false} {
			if fixtures.Race && last%11 != 1 {
				continue
			}
			ctx, cancel := context.WithCancel(t.Context())
			pages := 0
			_, err := largePartitions(t).With(engine.WithParallelJobs(4)).Run(ctx, func(context.Context, *engine.Page) error {
				pages++
				switch {
				case pages < last:
					return nil
				case cancels:
					cancel()
					return nil
				}
				return full
			})
			cancel()
			if cancels {
				require.ErrorIs(t, err, engine.ErrCancelled, "after page %d", last)
			} else {
				require.ErrorIs(t, err, full, "after page %d", last)
				require.Equal(t, last, pages, "no page follows one that the sink did not take")
			}
		}
	}
}

// Partitions that run ahead keep their pages until it is their turn, and not until the end
// of the job.
func TestPartitionsThatRanAheadFreeTheirPages(t *testing.T) {
	fixtures.SkipUnderRace(t, "it measures time or memory")
	const partitions, size = 150, 512 << 10
	text := strings.Repeat("x", size)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprintf(w, `[{"id": %q, "text": %q}]`, r.URL.Path, text)
	}))
	defer server.Close()
	config := fmt.Sprintf(`{"api": {"baseUrl": "%s/"},
		"config": {"jobs": [{"id": "parts", "endpoint": "p/{n}", "dataField": ".", "for": {"n": {"values": "1..%d"}}}]}}`, server.URL, partitions)
	e, err := engine.Load("c.json", []byte(config))
	require.NoError(t, err)

	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	pages, before, after := 0, heap(), uint64(0)
	_, err = e.With(engine.WithParallelJobs(8)).Run(context.Background(), func(context.Context, *engine.Page) error {
		if pages++; pages == partitions {
			after = heap()
		}
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, partitions, pages)
	require.Less(t, after, before+partitions*size/4)
}
