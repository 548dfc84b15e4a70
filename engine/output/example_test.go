package output_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/checkpoint"
	"github.com/stopwhen/stopwhen/engine/config"
	"github.com/stopwhen/stopwhen/engine/output"
)

// The items of a run become a table. A run that fails resumes when the function is called
// again, and the table appears when it is complete.
func Example() {
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `[{"id": 1, "address": {"city": "Bern"}}, {"id": 2, "tags": ["new"]}]`)
	}))
	defer api.Close()
	e, err := engine.New(config.Config{BaseURL: api.URL, Jobs: []config.Job{{Endpoint: "users"}}})
	if err != nil {
		panic(err)
	}
	path, err := os.MkdirTemp("", "output-*")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(path)

	extract := func() error {
		state, err := checkpoint.Open(filepath.Join(path, "users.state"), "my program 1.0", e.Fingerprint())
		if err != nil {
			return err
		}
		defer state.Close()
		files, err := output.Open(e, state, output.PublisherOptions{
			Dir: path, Options: output.Options{Format: output.Format{Kind: output.CSV}},
		})
		if err != nil {
			return err
		}
		defer files.Close()
		_, err = files.Run(context.Background())
		return err
	}

	fmt.Println(extract())
	table, err := os.ReadFile(filepath.Join(path, "users.csv"))
	if err != nil {
		panic(err)
	}
	fmt.Print(string(table))
	// Output:
	// <nil>
	// id,address.city,tags
	// 1,Bern,
	// 2,,"[""new""]"
}

// A stream of Singer messages goes to any writer.
func ExampleOpen_stream() {
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `[{"id": 1}, {"id": 2}]`)
	}))
	defer api.Close()
	e, err := engine.New(config.Config{BaseURL: api.URL, Jobs: []config.Job{{Endpoint: "users"}}})
	if err != nil {
		panic(err)
	}
	stream, err := output.Open(e, checkpoint.Stateless(), output.PublisherOptions{
		Stream: os.Stdout, Options: output.Options{Format: output.Format{Kind: output.Singer}},
	})
	if err != nil {
		panic(err)
	}
	_, err = stream.Run(context.Background())
	fmt.Println(err, stream.Close())
	// Output:
	// {"type":"SCHEMA","stream":"users","schema":{"type":"object","properties":{"id":{"type":["null","integer"]}}},"key_properties":[]}
	// {"type":"RECORD","stream":"users","record":{"id":1}}
	// {"type":"RECORD","stream":"users","record":{"id":2}}
	// <nil> <nil>
}
