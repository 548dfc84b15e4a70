package checkpoint_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/checkpoint"
)

// An extraction that failed resumes after the last committed page.
func Example() {
	var healthy atomic.Bool
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch page := r.URL.Query().Get("page"); {
		case page == "2" && !healthy.Load():
			w.WriteHeader(http.StatusForbidden)
		case page == "4":
			fmt.Fprint(w, `[]`)
		default:
			fmt.Fprintf(w, `[{"page": %s}]`, page)
		}
	}))
	defer api.Close()
	dir, err := os.MkdirTemp("", "checkpoint-*")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	e, err := engine.Load("users.json", []byte(`{
		"api": {"baseUrl": "https://api.example.com/", "pagination": {"method": "pagenum"}},
		"config": {"jobs": [{"endpoint": "users"}]}}`), engine.WithBaseURL(api.URL))
	if err != nil {
		panic(err)
	}

	extract := func() error {
		store, err := checkpoint.Open(filepath.Join(dir, "users.state"), "my program 1.0", e.Fingerprint())
		if err != nil {
			return err
		}
		defer store.Close()
		items, err := store.Rows(filepath.Join(dir, "users.ndjson"), nil)
		if err != nil {
			return err
		}
		if err := store.Begin(); err != nil {
			return err
		}
		_, err = e.With(engine.WithResume(store.Jobs())).Run(context.Background(), func(_ context.Context, page *engine.Page) error {
			if _, err := page.Items.WriteTo(items); err != nil {
				return err
			}
			position, err := page.Checkpoint()
			if err != nil || position == nil { // nil: the run cannot resume after this page
				return err
			}
			if err := store.Mark(page.Job, position, items); err != nil {
				return err
			}
			return store.Flush()
		})
		if err != nil {
			return err
		}
		if err := store.Publish(checkpoint.Publication{Parts: []checkpoint.Part{{Output: items}}}); err != nil {
			return err
		}
		return store.End()
	}

	fmt.Println("first run failed:", extract() != nil)
	healthy.Store(true)
	fmt.Println("second run failed:", extract() != nil)
	text, err := os.ReadFile(filepath.Join(dir, "users.ndjson"))
	if err != nil {
		panic(err)
	}
	fmt.Print(string(text))
	// Output:
	// first run failed: true
	// second run failed: false
	// {"page":1}
	// {"page":2}
	// {"page":3}
}
