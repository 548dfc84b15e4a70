package partition_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"time"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/runtime"
	"github.com/stopwhen/stopwhen/runtime/partition"
	"github.com/stopwhen/stopwhen/runtime/transport"
)

// The configuration of the documentation of the package.
const ordersAndLines = `{"api": {"baseUrl": "%s/"}, "config": {"jobs": [
	{"id": "orders", "endpoint": "orders"},
	{"id": "lines", "endpoint": "orders/{order.id}/{kind}", "for": {"order": {"items": "orders"}, "kind": {"values": ["goods", "fees"]}}}]}}`

// serveOrders serves two orders, and a line of each kind for each order.
func serveOrders() *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/orders" {
			fmt.Fprint(w, `[{"id": 7}, {"id": 8}]`)
			return
		}
		fmt.Fprintf(w, `[{"path": %q}]`, r.URL.Path)
	}))
}

// On one machine, a walk runs all tasks in order.
func ExampleWalk_Run() {
	api := serveOrders()
	defer api.Close()
	walk := partition.Walk{Loop: runtime.Loop{Client: clientOf(api)}}
	defer walk.Client.Close()
	results, err := walk.Run(context.Background(), rootJob(api), func(_ context.Context, page *runtime.Page) error {
		fmt.Printf("%s: %s", page.Job, page.Items.Bytes())
		return nil
	})
	for _, r := range results {
		fmt.Println(r.Job, r.Outcome, r.Items, "items")
	}
	fmt.Println(err)
	// Output:
	// orders: {"id":7}
	// {"id":8}
	// lines: {"path":"/orders/7/goods"}
	// lines: {"path":"/orders/7/fees"}
	// lines: {"path":"/orders/8/goods"}
	// lines: {"path":"/orders/8/fees"}
	// orders complete 2 items
	// lines complete 4 items
	// <nil>
}

// On many machines, a queue has the tasks, and any machine runs the next one. This queue is a slice.
func ExampleTasks_Run() {
	api := serveOrders()
	defer api.Close()
	walk := partition.Walk{Loop: runtime.Loop{Client: clientOf(api)}}
	defer walk.Client.Close()
	ctx, roots := context.Background(), []*compile.Job{rootJob(api)}
	tasks, err := walk.Tasks(ctx, roots, time.Now())
	if err != nil {
		fmt.Println(err)
		return
	}
	queue := partition.RootTasks(roots, nil)
	for len(queue) > 0 {
		task := queue[0]
		queue = queue[1:]
		_, err := tasks.Run(ctx, task, nil, func(_ context.Context, step *partition.Step) error {
			kind := "values"
			if step.Page != nil {
				kind = fmt.Sprintf("page %d", step.Page.Page)
			}
			fmt.Printf("%s (%s, level %d, %q): %s; found:", task.ID, task.Job, task.Level, step.Label, kind)
			for _, child := range step.Children {
				fmt.Print(" ", child.ID)
			}
			fmt.Println("; ended:", step.Ending != nil)
			queue = append(queue, step.Children...)
			return nil
		})
		if err != nil {
			fmt.Println(err)
		}
	}
	// Output:
	// 0 (orders, level 0, ""): page 1; found: 0-p1j0i0 0-p1j0i1; ended: true
	// 0-p1j0i0 (lines, level 1, "order.id=7"): values; found: 0-p1j0i0-v0 0-p1j0i0-v1; ended: true
	// 0-p1j0i1 (lines, level 1, "order.id=8"): values; found: 0-p1j0i1-v0 0-p1j0i1-v1; ended: true
	// 0-p1j0i0-v0 (lines, level 2, "order.id=7, kind=goods"): page 1; found:; ended: true
	// 0-p1j0i0-v1 (lines, level 2, "order.id=7, kind=fees"): page 1; found:; ended: true
	// 0-p1j0i1-v0 (lines, level 2, "order.id=8, kind=goods"): page 1; found:; ended: true
	// 0-p1j0i1-v1 (lines, level 2, "order.id=8, kind=fees"): page 1; found:; ended: true
}

// clientOf returns a client of an API.
func clientOf(api *httptest.Server) *transport.Client {
	origin, err := url.Parse(api.URL)
	if err != nil {
		panic(err)
	}
	return transport.New(transport.Options{Origin: origin})
}

// rootJob compiles ordersAndLines for an API, and returns the job orders.
func rootJob(api *httptest.Server) *compile.Job {
	source := diag.NewSource("orders.json", fmt.Sprintf(ordersAndLines, api.URL))
	root, err := rules.ParseJSON(source)
	if err != nil {
		panic(err)
	}
	config, found := rules.Decode(source, root, rules.Options{})
	if found.Err() != nil {
		panic(found.Err())
	}
	compiled, found := compile.Compile(config, compile.Options{})
	if found.Err() != nil {
		panic(found.Err())
	}
	return compiled.Jobs[0]
}
