package engine_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/fixtures"
)

// damageable is a tree with every kind of variable: windows of times that are split, items,
// values, and windows of numbers.
const damageable = `{"api": {"baseUrl": "https://api.test/", "pagination": {"method": "pagenum", "stopRules": [{"name": "second", "when": "page > 1"}]}}, "config": {"jobs": [
	{"id": "order", "endpoint": "orders", "dataField": "data", "params": {"from": {"expr": "day.from"}},
	 "for": {"day": {"from": "2026-01-01", "to": "2026-01-03", "step": "1d", "splitWhen": "count > 1", "smallest": "1h"}}},
	{"id": "line", "endpoint": "orders/{order.id}/{kind}", "dataField": "data", "for": {"order": {"items": "order"}, "kind": {"values": ["a", "b"]}}},
	{"id": "part", "endpoint": "parts/{line.id}", "dataField": "data", "params": {"from": {"expr": "range.from"}},
	 "for": {"line": {"items": "line"}, "range": {"from": 0, "to": 4, "step": 2, "overlap": 1}}}]}}`

// A damagedTree resumes the tree from checkpoints.
type damagedTree struct {
	engine   *engine.Engine
	requests atomic.Int32 // of this run
	cancel   context.CancelFunc
}

// mostRequests ends a run from a damaged checkpoint, which may be a long one.
const mostRequests = 3

func newDamagedTree(t testing.TB) *damagedTree {
	d := &damagedTree{}
	d.engine = load(t, []byte(damageable), engine.WithClock(instant{}), engine.WithTransport(transportFunc(func(r *http.Request) (*http.Response, error) {
		if d.requests.Add(1) > mostRequests {
			d.cancel()
		}
		return respond(r, fmt.Sprintf(`{"data": [{"id": %q}]}`, r.URL.RequestURI()))
	})))
	return d
}

// resume runs the tree from a checkpoint.
func (d *damagedTree) resume(t testing.TB, checkpoint []byte) error {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	d.cancel = cancel
	d.requests.Store(0)
	_, err := d.engine.With(engine.WithResume(map[string]json.RawMessage{"order": checkpoint})).Run(ctx, discard)
	return err
}

// checkpointsOf returns the checkpoints of a run of the tree, one of each length.
func checkpointsOf(t testing.TB) [][]byte {
	byLength := map[int][]byte{}
	d := newDamagedTree(t)
	d.cancel = func() {}
	_, err := d.engine.Run(t.Context(), func(_ context.Context, page *engine.Page) error {
		checkpoint, err := page.Checkpoint()
		byLength[len(checkpoint)/100] = bytes.Clone(checkpoint)
		return err
	})
	require.NoError(t, err)
	var all [][]byte
	for _, size := range slices.Sorted(maps.Keys(byLength)) {
		all = append(all, byLength[size])
	}
	return all
}

// places calls f for every value in a JSON document, with its path and a function that
// replaces it.
func places(v any, path string, replace func(any), f func(path string, v any, replace func(any))) {
	f(path, v, replace)
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			places(v[name], path+"."+name, func(other any) { v[name] = other }, f)
		}
	case []any:
		for i := range v {
			places(v[i], fmt.Sprintf("%s[%d]", path, i), func(other any) { v[i] = other }, f)
		}
	}
}

// mustHold are the places in which no other value is one that a run saves.
var mustHold = regexp.MustCompile(`[.](windows|version|position|branch|job|[$]time)$`)

var everyValue = flag.Bool("every-value", false, "put each of six values in every place of a checkpoint, instead of two of them")

// TestADamagedCheckpointOfATreeIsRefused puts other values in every place of a checkpoint: a
// run from it is refused before its first request, or it ends as any other, where the value
// may as well be what a run has saved.
func TestADamagedCheckpointOfATreeIsRefused(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs every case in one goroutine, as other tests do")
	all, d := checkpointsOf(t), newDamagedTree(t)
	place, tried, refused := 0, 0, 0
	for _, checkpoint := range [][]byte{all[len(all)/2], all[len(all)-1]} {
		var document any
		dec := json.NewDecoder(bytes.NewReader(checkpoint))
		dec.UseNumber()
		require.NoError(t, dec.Decode(&document))
		places(document, "", func(any) {}, func(path string, had any, replace func(any)) {
			place++
			for i, other := range []any{nil, -1, json.Number("9000000000000000000"), "x", []any{nil}, map[string]any{}} {
				if (place+i)%3 != 0 && !*everyValue && !mustHold.MatchString(path) {
					continue
				}
				replace(other)
				damaged, err := json.Marshal(document)
				require.NoError(t, err)
				err = d.resume(t, damaged)
				if err != nil && !isAny(err, engine.ErrState, engine.ErrCancelled, engine.ErrResponse, engine.ErrConfig) {
					t.Errorf("%s = %v: %v", path, other, err)
				}
				tried++
				if err != nil {
					refused++
				}
				if mustHold.MatchString(path) {
					require.ErrorIs(t, err, engine.ErrState, "%s = %v", path, other)
				}
			}
			replace(had)
		})
	}
	require.Greater(t, refused, tried/2)
}

func isAny(err error, classes ...error) bool {
	return slices.ContainsFunc(classes, func(class error) bool { return errors.Is(err, class) })
}

// FuzzTreeState resumes trees from damaged checkpoints. None of them panics.
func FuzzTreeState(f *testing.F) {
	for _, checkpoint := range checkpointsOf(f) {
		f.Add(checkpoint)
	}
	d := newDamagedTree(f)
	f.Fuzz(func(t *testing.T, checkpoint []byte) {
		if err := d.resume(t, checkpoint); errors.Is(err, engine.ErrInternal) {
			t.Fatal(err)
		}
	})
}
