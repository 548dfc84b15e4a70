package engine_test

import (
	"context"
	"runtime/metrics"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/fixtures"
)

// allocations returns how many objects were allocated so far.
func allocations() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:objects"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// allocationsOfPage runs a tree whose parent has one page of so many items, saves the
// checkpoint of every page, and returns how many objects each page allocates.
func allocationsOfPage(t *testing.T, orders int) uint64 {
	config := strings.Replace(orderConfig, `"limit": 1000`, `"limit": `+strconv.Itoa(orders), 1)
	require.NotEqual(t, orderConfig, config)
	e := load(t, []byte(config), engine.WithTransport(ordersAPI{orders: orders, size: orders}))
	pages, bytes, start, before := 0, 0, time.Now(), allocations()
	_, err := e.Run(t.Context(), func(_ context.Context, page *engine.Page) error {
		pages++
		token, err := page.Checkpoint()
		bytes += len(token)
		return err
	})
	require.NoError(t, err)
	require.GreaterOrEqual(t, pages, orders)
	t.Logf("%d items: %d bytes of checkpoints in %v", orders, bytes, time.Since(start))
	return (allocations() - before) / uint64(pages)
}

// TestACheckpointDoesNotEncodeWhatWaitsAgain: the items of a page of the parent that wait
// for their turn are encoded once, not for the checkpoint of every page. With
// -partitions N it logs the time for a page of N items.
func TestACheckpointDoesNotEncodeWhatWaitsAgain(t *testing.T) {
	fixtures.SkipUnderRace(t, "it measures time or memory")
	few, many := allocationsOfPage(t, 500), allocationsOfPage(t, 2000)
	require.Less(t, many, few+few/2, "objects of each page")
	if *partitions > 10000 {
		allocationsOfPage(t, *partitions)
	}
}
