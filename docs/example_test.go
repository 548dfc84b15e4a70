package docs_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"time"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/config"
	"github.com/stopwhen/stopwhen/rules"
)

// users serves five users, two per page, to those who know the token.
func users(token string) *httptest.Server {
	pages := map[string]string{
		"":  `{"data": [{"id": 1, "name": "Ada"}, {"id": 2, "name": "Alan"}], "isLast": false}`,
		"0": `{"data": [{"id": 1, "name": "Ada"}, {"id": 2, "name": "Alan"}], "isLast": false}`,
		"2": `{"data": [{"id": 3, "name": "Grace"}, {"id": 4, "name": "Edsger"}], "isLast": false}`,
		"4": `{"data": [{"id": 5, "name": "Barbara"}], "isLast": true}`,
	}
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != token {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		fmt.Fprint(w, pages[r.URL.Query().Get("offset")])
	}))
}

// inDirectoryOf changes to a directory with a configuration of an API, users.json,
// until the function that it returns is called.
func inDirectoryOf(api *httptest.Server) (leave func()) {
	must := func(err error) {
		if err != nil {
			panic(err)
		}
	}
	before, err := os.Getwd()
	must(err)
	dir, err := os.MkdirTemp("", "example-*")
	must(err)
	must(os.WriteFile(filepath.Join(dir, "users.json"), fmt.Appendf(nil, `{
		"api": {"baseUrl": "%s/", "pagination": {"method": "offset", "limit": 2}},
		"config": {"jobs": [{"endpoint": "users", "dataField": "data"}]}}`, api.URL), 0o600))
	must(os.Chdir(dir))
	return func() {
		must(os.Chdir(before))
		must(os.RemoveAll(dir))
	}
}

// The program of the README.
func Example() {
	api := users("")
	defer api.Close()
	defer inDirectoryOf(api)()
	ctx := context.Background()
	extract := func() error {
		e, err := engine.LoadFile("users.json")
		if err != nil {
			return err // every mistake in the configuration, with its place
		}
		for page, err := range e.Pages(ctx) {
			if err != nil {
				return err // an *engine.Error with class, job, page and hint
			}
			for item := range page.Items.All() {
				fmt.Println(string(item)) // one item, as the API sent it
			}
		}
		return nil
	}
	fmt.Println(extract())
	// Output:
	// {"id":1,"name":"Ada"}
	// {"id":2,"name":"Alan"}
	// {"id":3,"name":"Grace"}
	// {"id":4,"name":"Edsger"}
	// {"id":5,"name":"Barbara"}
	// <nil>
}

// A configuration in Go has the structs and keys of a file.
func Example_configuration() {
	api := users("Bearer secret")
	defer api.Close()
	e, err := engine.New(config.Config{
		BaseURL:        api.URL,
		Authentication: config.AuthBearer{Token: "secret"},
		HTTP:           config.HTTP{MaxRetries: new(2)},
		Pagination: config.Pagination{
			Method:       config.Offset{},
			Limit:        2,
			NextPageFlag: config.NextPageFlag{Field: "isLast", StopOn: true},
			ForceStop:    config.ForceStop{Pages: 20, Time: 10 * time.Minute},
			StopRules:    []config.StopRule{{When: "total.items >= 1000"}},
		},
		Jobs: []config.Job{{Endpoint: "users", DataField: "data", Params: map[string]any{"sort": "id"}}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	result, err := e.Run(context.Background(), func(context.Context, *engine.Page) error { return nil })
	fmt.Println(result.Jobs[0].StoppedBy, err)
	// Output:
	// [nextPageFlag offset.short] <nil>
}

// Every mistake in a configuration has a place, and often a hint.
func Example_diagnostics() {
	text := []byte(`{
  "api": {"baseUrl": "https://api.example.com/", "pagination": {"method": "offset", "limit": 0}},
  "config": {"jobs": [{"endpoint": "users", "dataFeild": "data"}]}
}`)
	_, err := engine.Load("users.json", text)

	if mistakes, ok := errors.AsType[engine.Diagnostics](err); ok {
		for _, m := range mistakes {
			fmt.Println(m)
		}
	}
	// Output:
	// api.pagination.limit: want a whole number above 0, got 0 (users.json:2:94)
	//  | om/", "pagination": {"method": "offset", "limit": 0}},
	//  |                                                   ^
	// config.jobs[0].dataFeild: unknown key "dataFeild" (users.json:3:45)
	//  |   "config": {"jobs": [{"endpoint": "users", "dataFeild": "data"}]}
	//  |                                             ^
	//    did you mean "dataField"?
}

// The class of an error decides what to do about it.
func Example_errors() {
	api := users("Bearer secret")
	defer api.Close()
	e, err := engine.New(config.Config{
		BaseURL: api.URL, Pagination: config.Pagination{Method: config.Offset{}, Limit: 2}, Jobs: []config.Job{{Endpoint: "users", DataField: "data"}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, sink := context.Background(), func(context.Context, *engine.Page) error { return nil }

	_, err = e.Run(ctx, sink)
	var failed *engine.Error
	switch {
	case errors.Is(err, engine.ErrTransient):
		fmt.Println("run it again later:", err)
	case errors.As(err, &failed):
		fmt.Printf("%s: job %s, page %d, status %d\n", failed.Class, failed.Job, failed.Page, failed.Status)
	}
	// Output:
	// api: job users, page 1, status 403
}

// A guard is one row: when it matches, and what it says.
func Example_guard() {
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `{"data": [%s, {"id": 0}]}`, r.URL.Query().Get("page"))
	}))
	defer api.Close()
	c := config.Config{
		BaseURL: api.URL, Pagination: config.Pagination{Method: config.PageNumber{}},
		Jobs: []config.Job{{Endpoint: "users", DataField: "data"}},
	}

	sameLast := rules.Guard{
		StopRule: rules.StopRule{
			ID:      "sameLast",
			When:    `prev != nil and prev.items[-1] == items[-1]`,
			Outcome: "guarded",
			Clause:  "two pages in a row end with the same item",
			Message: "page {page} ends with the item of the page before it",
		},
		Policy: "fail",
		Hint:   "the API seems to ignore the page number; or set guards.sameLast to ignore",
		Doc:    "two pages in a row end with the same item",
	}
	e, err := engine.New(c, engine.WithGuard(sameLast))
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = e.Run(context.Background(), func(context.Context, *engine.Page) error { return nil })
	fmt.Println(errors.Is(err, engine.ErrPolicy))
	fmt.Println(err)
	// Output:
	// true
	// job users, page 2, rule sameLast: page 2 ends with the item of the page before it (the API seems to ignore the page number; or set guards.sameLast to ignore)
}

// rows counts the rows of each job.
type rows map[string]int

func (r rows) Page(_ context.Context, page *engine.Page) error {
	r[page.Job] += page.Items.Len()
	return nil
}

func (r rows) Commit(_ context.Context, job engine.JobResult) error {
	fmt.Println(job.Job, "is complete with", r[job.Job], "rows:", job.Message)
	return nil
}

// A sink learns which jobs are complete.
func Example_sink() {
	api := users("")
	defer api.Close()
	e, err := engine.New(config.Config{
		BaseURL: api.URL, Pagination: config.Pagination{Method: config.Offset{}, Limit: 2},
		Jobs: []config.Job{{Endpoint: "users", DataField: "data"}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = e.RunTo(context.Background(), rows{})
	fmt.Println(err)
	// Output:
	// users is complete with 5 rows: page 3 is short: 1 of 2 items
	// <nil>
}

// A database stores items and checkpoints, in transactions.
type database struct {
	items       []string
	checkpoints map[string]json.RawMessage
}

type transaction struct {
	db          *database
	items       []string
	checkpoints map[string]json.RawMessage
}

func (db *database) begin() *transaction {
	return &transaction{db: db, checkpoints: map[string]json.RawMessage{}}
}

func (tx *transaction) insert(item json.RawMessage) { tx.items = append(tx.items, string(item)) }

func (tx *transaction) saveCheckpoint(root string, checkpoint json.RawMessage) {
	tx.checkpoints[root] = checkpoint
}

func (tx *transaction) commit() error {
	tx.db.items = append(tx.db.items, tx.items...)
	maps.Copy(tx.db.checkpoints, tx.checkpoints)
	return nil
}

// Items and checkpoints are saved in one transaction, so that each item is stored
// exactly once, even if the program is killed.
func Example_checkpoints() {
	api := users("")
	defer api.Close()
	e, err := engine.New(config.Config{
		BaseURL: api.URL, Pagination: config.Pagination{Method: config.Offset{}, Limit: 2}, Jobs: []config.Job{{Endpoint: "users", DataField: "data"}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, db := context.Background(), &database{checkpoints: map[string]json.RawMessage{}}

	save := func(_ context.Context, page *engine.Page) error {
		checkpoint, err := page.Checkpoint()
		if err != nil || checkpoint == nil { // nil: the run fails on this page, which the next run requests again
			return err
		}
		tx := db.begin()
		for item := range page.Items.All() {
			tx.insert(item)
		}
		tx.saveCheckpoint(page.Root, checkpoint)
		return tx.commit()
	}

	interrupted, interrupt := context.WithCancel(ctx)
	defer interrupt()
	_, err = e.Run(interrupted, func(ctx context.Context, page *engine.Page) error {
		if page.Page == 2 {
			interrupt()
		}
		return save(ctx, page)
	})
	fmt.Println(errors.Is(err, engine.ErrCancelled), len(db.items))

	_, err = e.With(engine.WithResume(db.checkpoints)).Run(ctx, save)
	fmt.Println(err, len(db.items))
	// Output:
	// true 4
	// <nil> 5
}

// The tests of a configuration can run with those of a program.
func Example_tests() {
	text := []byte(`{
  "api": {"baseUrl": "https://api.example.com/", "pagination": {"method": "offset", "limit": 2}},
  "config": {"jobs": [{"endpoint": "users"}]},
  "tests": [{"name": "a short page is the last", "pages": [[1]], "expect": {"stoppedBy": "offset.empty"}}]
}`)
	e, err := engine.Load("users.json", text)
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()

	report := e.Test(ctx)
	for _, test := range report.Tests {
		for _, d := range test.Differences {
			fmt.Printf("%s: %s: want %s, got %s\n", test.Name, d.Of, d.Want, d.Got)
		}
	}
	// Output:
	// a short page is the last: stoppedBy: want offset.empty, got offset.short
}
