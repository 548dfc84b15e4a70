package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/stopwhen/stopwhen/engine"
)

// A changingList is an API with a list of orders that may change, and two lines of each.
type changingList struct {
	orders   []int
	requests []string
}

// changing is a job for the orders, and one for their lines. A page of orders has two of them:
// those at an offset, or those after the last one.
func changing(t require.TestingT, api *changingList, keyset bool) *engine.Engine {
	pagination := `{"method": "offset", "limit": 2, "limitParam": "n", "offsetParam": "at"}`
	if keyset {
		pagination = `{"method": "expression", "limit": 2, "nextRequest": {"params": {"after": "items[-1].id"}}, "stopRules": [{"name": "short", "when": "count < 2"}]}`
	}
	return load(t, fmt.Appendf(nil, `{"api": {"baseUrl": "https://api.test/", "pagination": {"method": "multiple", "scrollers": {
		"orders": %s, "lines": {"method": "pagenum", "stopRules": [{"name": "second", "when": "page > 1"}]}}}}, "config": {"jobs": [
		{"id": "order", "endpoint": "orders", "dataField": "data", "scroller": "orders"},
		{"id": "line", "endpoint": "lines/{order.id}", "dataField": "data", "scroller": "lines", "for": {"order": {"items": "order"}}}]}}`, pagination),
		engine.WithClock(instant{}), engine.WithTransport(transportFunc(api.respond)))
}

func (api *changingList) respond(r *http.Request) (*http.Response, error) {
	api.requests = append(api.requests, r.URL.RequestURI())
	query := r.URL.Query()
	if id, isLine := strings.CutPrefix(r.URL.Path, "/lines/"); isLine {
		return respond(r, fmt.Sprintf(`{"data": [{"id": "%s-%s"}]}`, id, query.Get("page")))
	}
	from := 0
	_, _ = fmt.Sscan(query.Get("at"), &from)
	if after := query.Get("after"); after != "" {
		var id int
		_, _ = fmt.Sscan(after, &id)
		if from = slices.IndexFunc(api.orders, func(order int) bool { return order > id }); from < 0 {
			from = len(api.orders)
		}
	}
	page := []map[string]int{}
	for _, id := range api.orders[min(from, len(api.orders)):min(from+2, len(api.orders))] {
		page = append(page, map[string]int{"id": id})
	}
	body, err := json.Marshal(map[string]any{"data": page})
	if err != nil {
		return nil, err
	}
	return respond(r, string(body))
}

// drawChange draws a list that has other orders than before, new ones or fewer, and may have
// them in another order.
func drawChange(t *rapid.T, orders []int, ordered bool) []int {
	changed := slices.DeleteFunc(slices.Clone(orders), func(int) bool { return rapid.IntRange(0, 3).Draw(t, "deleted") == 0 })
	for range rapid.IntRange(0, 3).Draw(t, "inserted") {
		id := rapid.IntRange(0, 99).Draw(t, "order")
		if !slices.Contains(orders, id) && !slices.Contains(changed, id) {
			changed = append(changed, id)
		}
	}
	if slices.Sort(changed); !ordered {
		changed = rapid.Permutation(changed).Draw(t, "permuted")
	}
	return changed
}

// TestAParentThatChangesBetweenTwoRuns interrupts a run and changes the list of the parent
// before it resumes. The two runs together are one in which the list changed at the same
// moment: the partitions for the pages that were saved are run as they were, each page once,
// and the pages behind them are those of the list as it is now.
func TestAParentThatChangesBetweenTwoRuns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		keyset := rapid.Bool().Draw(t, "keyset")
		var orders []int
		for i := range rapid.IntRange(1, 7).Draw(t, "orders") {
			orders = append(orders, 10*(i+1))
		}
		changed := drawChange(t, orders, keyset)
		breakAt := rapid.IntRange(1, 3*len(orders)).Draw(t, "breakAt")

		whole := &changingList{orders: orders}
		want := &seenPages{checkpoints: map[string]json.RawMessage{}}
		result, err := changing(t, whole, keyset).Run(t.Context(), func(ctx context.Context, page *engine.Page) error {
			if len(want.pages)+1 == breakAt {
				whole.orders = changed
			}
			return want.deliver(ctx, page)
		})
		require.NoError(t, err)

		api := &changingList{orders: orders}
		got := &seenPages{checkpoints: map[string]json.RawMessage{}, breakAt: breakAt}
		again, err := changing(t, api, keyset).Run(t.Context(), got.deliver)
		if errors.Is(err, errBroken) {
			api.orders = changed
			got = got.resumed(0, false)
			again, err = changing(t, api, keyset).With(engine.WithResume(got.checkpoints)).Run(t.Context(), got.deliver)
		}
		require.NoError(t, err)
		require.Equal(t, want.pages, got.pages)
		require.Equal(t, whole.requests, api.requests, "no page is requested again")
		require.Equal(t, comparableResult(t, result), comparableResult(t, again))
		if keyset {
			requireOrders(t, got.pages, orders, changed)
		}
	})
}

// requireOrders checks a list whose pages begin after the last item: each order that was
// there before and after the change has its lines, and none has them twice.
func requireOrders(t require.TestingT, pages []string, before, after []int) {
	text := strings.Join(pages, "\n")
	for id := range 100 {
		for page := 1; page <= 2; page++ {
			times := strings.Count(text, fmt.Sprintf(`{"id":"%d-%d"}`, id, page))
			require.LessOrEqual(t, times, 1, "page %d of the lines of order %d", page, id)
			if slices.Contains(before, id) && slices.Contains(after, id) {
				require.Equal(t, 1, times, "page %d of the lines of order %d", page, id)
			}
		}
	}
}
