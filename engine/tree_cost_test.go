package engine_test

import (
	"bytes"
	"cmp"
	"context"
	"flag"
	"fmt"
	"net/http"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/fixtures"
)

// partitions is how many partitions the test of memory compares with a tenth of them:
// `go test ./engine -run FlatMemory -partitions 100000 -v` for the figures of the
// documentation.
var partitions = flag.Int("partitions", 10000, "how many partitions the test of memory runs")

// ordersAPI lists orders in pages, with their items.
type ordersAPI struct {
	orders int
	size   int // of a page; 0: 1000
}

const orderConfig = `{"api": {"baseUrl": "https://api.test/", "pagination": {"method": "offset", "limit": 1000}},
	"config": {"jobs": [
		{"id": "orders", "endpoint": "orders", "dataField": "data"},
		{"id": "lines", "endpoint": "orders/{order.id}/lines", "dataField": "data", "for": {"order": {"items": "orders"}}}]}}`

func (a ordersAPI) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Path != "/orders" {
		return respond(r, `{"data": [{"line": 1, "text": "a line"}, {"line": 2, "text": "another"}]}`)
	}
	offset, _ := strconv.Atoi(r.URL.Query().Get("offset"))
	var items []string
	for id := offset; id < min(offset+cmp.Or(a.size, 1000), a.orders); id++ {
		items = append(items, fmt.Sprintf(`{"id": %d, "text": "%s"}`, id, strings.Repeat("x", 100)))
	}
	return respond(r, `{"data": [`+strings.Join(items, ",")+`]}`)
}

// heap returns the bytes that are reachable.
func heap() uint64 {
	debug.FreeOSMemory() // collects first
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// heapOfOrders runs a tree with so many partitions, and returns the most bytes that were
// reachable after a page, and those of the largest checkpoint.
func heapOfOrders(t *testing.T, orders int, options ...engine.RunOption) (peak uint64, largest int) {
	t.Helper()
	e := load(t, []byte(orderConfig), engine.WithTransport(ordersAPI{orders: orders})).With(options...)
	pages := 0
	result, err := e.Run(t.Context(), func(_ context.Context, page *engine.Page) error {
		if pages++; pages%(orders/10) != 5 {
			return nil
		}
		checkpoint, err := page.Checkpoint()
		peak, largest = max(peak, heap()), max(largest, len(checkpoint))
		return err
	})
	require.NoError(t, err)
	require.Equal(t, orders, result.Jobs[1].Partitions.Count)
	return peak, largest
}

// TestPartitionsNeedFlatMemory runs trees of different sizes: neither what is in memory nor
// the checkpoint grows with the number of partitions.
func TestPartitionsNeedFlatMemory(t *testing.T) {
	fixtures.SkipUnderRace(t, "it measures time or memory")
	for _, jobs := range []int{1, 4} {
		few, fewSaved := heapOfOrders(t, *partitions/10, engine.WithParallelJobs(jobs))
		many, manySaved := heapOfOrders(t, *partitions, engine.WithParallelJobs(jobs))
		t.Logf("%d jobs: %d and %d kB in memory, checkpoints of %d and %d kB", jobs, few>>10, many>>10, fewSaved>>10, manySaved>>10)
		require.Less(t, many, few+2<<20)
		require.Less(t, manySaved, fewSaved+10<<10)
	}
}

// BenchmarkPartitionRequest measures what the request of a partition takes with net/http
// alone, for comparison with BenchmarkPartition.
func BenchmarkPartitionRequest(b *testing.B) {
	b.ReportAllocs()
	client, body := http.Client{Transport: ordersAPI{}}, bytes.NewBuffer(nil)
	for i := range b.N {
		response, err := client.Get(fmt.Sprintf("https://api.test/orders/%d/lines?limit=1000&offset=0", i))
		require.NoError(b, err)
		body.Reset()
		_, err = body.ReadFrom(response.Body)
		require.NoError(b, err)
		require.NoError(b, response.Body.Close())
	}
}

// BenchmarkPartition measures a partition of one page, HTTP aside.
func BenchmarkPartition(b *testing.B) {
	b.ReportAllocs()
	e := load(b, []byte(orderConfig), engine.WithTransport(ordersAPI{orders: b.N}))
	_, err := e.Run(b.Context(), discard)
	require.NoError(b, err)
}

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
		checkpoint, err := page.Checkpoint()
		bytes += len(checkpoint)
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
