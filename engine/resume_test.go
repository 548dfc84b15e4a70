package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/fixtures"
)

// limitedTree returns a tree with a limit on its partitions: four teams of two pages, and two
// users on each page.
func limitedTree(t *testing.T, limit int) *engine.Engine {
	return load(t, fmt.Appendf(nil, `{"api": {"baseUrl": "https://api.test/", "pagination": {"method": "pagenum", "stopRules": [{"name": "second", "when": "page > 1"}]}},
		"config": {"limits": {"partitions": %d}, "jobs": [
		{"id": "team", "endpoint": "{t}", "dataField": "data", "for": {"t": {"values": [1, 2, 3, 4]}}},
		{"id": "user", "endpoint": "{t}/{u.id}", "dataField": "data", "for": {"u": {"items": "team"}}}]}}`, limit),
		engine.WithTransport(transportFunc(func(r *http.Request) (*http.Response, error) {
			page := r.URL.Query().Get("page")
			return respond(r, fmt.Sprintf(`{"data": [{"id": "%s1"}, {"id": "%[1]s2"}]}`, page))
		})))
}

// TestALoweredLimitHoldsForAResumedRun interrupts runs on every page and resumes them with a
// lower limit: partitions that have begun come to their end, and others begin only as far
// as the limit allows. It is a run with the greater of both numbers.
func TestALoweredLimitHoldsForAResumedRun(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs every case in one goroutine, as other tests do")
	const all = 4 + 4*4
	for at := 1; at <= 2*all; at++ {
		before := &seenPages{checkpoints: map[string]json.RawMessage{}, breakAt: at}
		_, err := limitedTree(t, all).Run(t.Context(), before.deliver)
		require.ErrorIs(t, err, errBroken)
		begun := map[string]bool{}
		for _, page := range before.pages {
			partition, _, _ := strings.Cut(page, " page ")
			begun[partition] = true
		}
		for _, limit := range []int{1, 3, 8, all} {
			want := &seenPages{checkpoints: map[string]json.RawMessage{}}
			result, err := limitedTree(t, max(limit, len(begun))).Run(t.Context(), want.deliver)
			require.NoError(t, err)
			wantResult := comparableResult(t, result)

			got := &seenPages{pages: slices.Clone(before.pages), checkpoints: maps.Clone(before.checkpoints)}
			result, err = limitedTree(t, limit).With(engine.WithResume(got.checkpoints)).Run(t.Context(), got.deliver)
			require.NoError(t, err)
			require.Equal(t, want.pages, got.pages, "limit %d, interrupted on page %d", limit, at)
			require.Equal(t, wantResult, comparableResult(t, result), "limit %d, interrupted on page %d", limit, at)
		}
	}
}

// A state has the partitions that are still to come, so it must not be used with others.
func TestAStateBelongsToItsPartitions(t *testing.T) {
	parts := func(job string) map[string]string {
		t.Helper()
		e, err := engine.Load("config.json", fmt.Appendf(nil, `{"api": {"baseUrl": "https://api.example.com/"}, "config": {"jobs": [%s]}}`, job))
		require.NoError(t, err)
		return e.Fingerprint()
	}
	const values = `{"endpoint": "x/{v}", "for": {"v": {"values": ["a", "b"]}}}`
	const windows = `{"endpoint": "x", "params": {"since": {"expr": "w.from"}}, "for": {"w": {"from": 0, "to": 100, "step": 10}}}`
	tests := []struct{ name, part, before, after string }{
		{"value", "requests", values, `{"endpoint": "x/{v}", "for": {"v": {"values": ["a", "c"]}}}`},
		{"step", "requests", windows, `{"endpoint": "x", "params": {"since": {"expr": "w.from"}}, "for": {"w": {"from": 0, "to": 100, "step": 20}}}`},
		{"overlap", "requests", windows,
			`{"endpoint": "x", "params": {"since": {"expr": "w.from"}}, "for": {"w": {"from": 0, "to": 100, "step": 10, "overlap": 1}}}`},
		{"policy", "rules", values, `{"endpoint": "x/{v}", "onPartitionError": "skip", "for": {"v": {"values": ["a", "b"]}}}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			before, after := parts(tt.before), parts(tt.after)
			require.Equal(t, before, parts(tt.before))
			require.NotEqual(t, before[tt.part], after[tt.part])
			delete(before, tt.part)
			delete(after, tt.part)
			require.Equal(t, before, after, "nothing else has changed")
		})
	}
}

// The checkpoint of a tree of jobs belongs to its root. Under another key it would be ignored, and the
// run would begin anew and deliver what is saved again.
func TestACheckpointOfAnotherJobThanARootIsRefused(t *testing.T) {
	before := &seenPages{checkpoints: map[string]json.RawMessage{}, breakAt: 3}
	_, err := limitedTree(t, 100).Run(t.Context(), before.deliver)
	require.ErrorIs(t, err, errBroken)
	token := before.checkpoints["team"]
	for _, c := range []struct{ key, want, hint string }{
		{"team", "", ""},
		{"user", `job "user" has no checkpoint of its own: it is in the tree of job "team"`, "save checkpoints by Page.Root"},
		{"teams", `the configuration has no job "teams"`, `did you mean "team"?`},
		{"", `the configuration has no job ""`, "checkpoints belong to team"},
	} {
		e := limitedTree(t, 100).With(engine.WithResume(map[string]json.RawMessage{c.key: token}))
		if c.want == "" {
			require.NoError(t, e.Check())
			continue
		}
		_, err := e.Run(t.Context(), func(context.Context, *engine.Page) error { t.Error("a page was requested"); return nil })
		require.ErrorContains(t, err, "WithResume: "+c.want)
		require.ErrorContains(t, err, c.hint)
		if c.key != "" {
			require.ErrorContains(t, e.With(engine.WithJobs("user")).Check(), "WithResume: "+c.want)
		}
	}
}

// A list grows between the interruption of a run and its resumption. The short page before the interruption may have
// been the last one, and is not requested again, so the run says that items may be missing.
func TestAListThatGrowsBeforeARunResumesIsToldOf(t *testing.T) {
	const config = `{"api": {"baseUrl": "https://api.test/", "pagination": {"method": "pagenum", "limit": 2, "stopRules": ["count == 0"]}},
		"config": {"jobs": [{"id": "x", "endpoint": "x", "dataField": "data"}]}}`
	for _, c := range []struct {
		name   string
		pages  []string // after the interruption; the first two pages had two items and one
		warned bool
	}{
		{"grown", []string{`[1, 2]`, `[3, 4]`, `[5]`, `[]`}, true},
		{"as it was", []string{`[1, 2]`, `[3]`, `[]`}, false},
		{"repeats its last page", []string{`[1, 2]`, `[3]`, `[3]`, `[]`}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			pages := []string{`[1, 2]`, `[3]`}
			api := transportFunc(func(r *http.Request) (*http.Response, error) {
				page, err := strconv.Atoi(r.URL.Query().Get("page"))
				require.NoError(t, err)
				return respond(r, `{"data": `+pages[page-1]+`}`)
			})
			var log strings.Builder
			e := load(t, []byte(config), engine.WithTransport(api), engine.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
			var checkpoint json.RawMessage
			_, err := e.Run(t.Context(), func(_ context.Context, page *engine.Page) (err error) {
				if checkpoint, err = page.Checkpoint(); err == nil && page.Page == 2 {
					err = errors.New("interrupted")
				}
				return err
			})
			require.ErrorContains(t, err, "interrupted")
			pages = c.pages
			_, err = e.With(engine.WithResume(map[string]json.RawMessage{"x": checkpoint})).Run(t.Context(), discard)
			require.NoError(t, err)
			require.Equal(t, c.warned, strings.Contains(log.String(), "page 2, after which the run was interrupted, was short"), log.String())
		})
	}
}
