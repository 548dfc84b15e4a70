package cluster_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/cluster"
	"github.com/stopwhen/stopwhen/engine/cluster/hub"
)

// A program that submits a run, works on it, and collects it. On many machines, these are
// three programs, and the server is one that runs already.
func Example() {
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/teams" {
			fmt.Fprint(w, `[{"id": "a"}, {"id": "b"}]`)
			return
		}
		fmt.Fprintf(w, `[{"of": %q}]`, r.URL.Path)
	}))
	defer api.Close()
	dir, err := os.MkdirTemp("", "stopwhen-example-*")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	server, err := hub.Start(context.Background(), hub.Options{Dir: dir, Listen: "127.0.0.1:0"})
	if err != nil {
		panic(err)
	}
	defer server.Shutdown()

	nc, err := nats.Connect(server.URL(), nats.MaxReconnects(-1), nats.ReconnectBufSize(-1))
	if err != nil {
		panic(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		panic(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	c, err := cluster.Open(ctx, js, cluster.Options{Engine: []engine.Option{engine.WithEnv(os.LookupEnv)}})
	if err != nil {
		panic(err)
	}
	run, err := c.Submit(ctx, cluster.Submission{Run: "users", Name: "users.json", Text: fmt.Appendf(nil, `{
		"api": {"baseUrl": %q},
		"config": {"jobs": [
			{"id": "teams", "endpoint": "teams"},
			{"id": "users", "endpoint": "teams/{team.id}/users", "for": {"team": {"items": "teams"}}}]}}`, api.URL)})
	if err != nil {
		panic(err)
	}

	worked := make(chan error)
	go func() { worked <- c.Work(ctx, cluster.Worker{Slots: 4}) }()

	e, err := run.Engine()
	if err != nil {
		panic(err)
	}
	result, err := run.Collect(ctx, e, func(_ context.Context, page *engine.Page) error {
		for item := range page.Items.All() {
			fmt.Printf("%s: %s\n", page.Job, item)
		}
		return nil
	}, cluster.CollectOptions{Sorted: true})
	fmt.Println(result.Jobs[1].Message, err)
	cancel()
	fmt.Println(<-worked)

	// Output:
	// teams: {"id":"a"}
	// teams: {"id":"b"}
	// users: {"of":"/teams/a/users"}
	// users: {"of":"/teams/b/users"}
	// complete: 2 partitions <nil>
	// <nil>
}
