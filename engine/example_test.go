package engine_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/config"
	"github.com/stopwhen/stopwhen/engine/explain"
)

// users serves 5 users, two per page.
func users() *httptest.Server {
	pages := map[string]string{
		"0": `{"data": [{"id": 1, "name": "Ada"}, {"id": 2, "name": "Alan"}], "total": 5}`,
		"2": `{"data": [{"id": 3, "name": "Grace"}, {"id": 4, "name": "Edsger"}], "total": 5}`,
		"4": `{"data": [{"id": 5, "name": "Barbara"}], "total": 5}`,
	}
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, pages[r.URL.Query().Get("offset")])
	}))
}

// usersFile is a configuration for the API of users.
const usersFile = `{
  "api": {
    "baseUrl": "https://api.example.com/v1/",
    "pagination": {"method": "offset", "limit": 2, "forceStop": {"pages": 20}}
  },
  "config": {"jobs": [{"endpoint": "users", "dataField": "data"}]}
}`

// Load a configuration once, and go through its pages.
func ExampleEngine_Pages() {
	api := users()
	defer api.Close()
	e, err := engine.Load("users.json", []byte(usersFile), engine.WithBaseURL(api.URL))
	if err != nil {
		fmt.Println(err)
		return
	}
	for page, err := range e.Pages(context.Background()) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("page %d: %d items, %s %v\n", page.Page, page.Items.Len(), page.Decision, page.StoppedBy)
		for item := range page.Items.All() {
			fmt.Println(string(item))
		}
	}
	// Output:
	// page 1: 2 items, continue []
	// {"id":1,"name":"Ada"}
	// {"id":2,"name":"Alan"}
	// page 2: 2 items, continue []
	// {"id":3,"name":"Grace"}
	// {"id":4,"name":"Edsger"}
	// page 3: 1 items, stop [offset.short]
	// {"id":5,"name":"Barbara"}
}

// Run passes every page to a function and reports how each job ended.
func ExampleEngine_Run() {
	api := users()
	defer api.Close()
	e, err := engine.Load("users.json", []byte(usersFile), engine.WithBaseURL(api.URL))
	if err != nil {
		fmt.Println(err)
		return
	}
	result, err := e.Run(context.Background(), func(_ context.Context, page *engine.Page) error {
		return nil // write page.Items.Bytes() somewhere: it is NDJSON
	})
	job := result.Jobs[0]
	fmt.Println(job.Job, job.Outcome, job.Reason, job.Pages, job.Items, err)
	fmt.Println(job.Message)
	// Output:
	// users complete offset.short 3 5 <nil>
	// page 3 is short: 1 of 2 items
}

// A configuration may be written in Go as well.
func ExampleNew() {
	api := users()
	defer api.Close()
	e, err := engine.New(config.Config{
		BaseURL: api.URL,
		Pagination: config.Pagination{
			Method: config.Offset{}, Limit: 2,
			StopRules: []config.StopRule{{When: "total.items >= body.total"}},
		},
		Jobs: []config.Job{{Endpoint: "users", DataField: "data"}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	result, err := e.Run(context.Background(), func(context.Context, *engine.Page) error { return nil })
	fmt.Println(result.Jobs[0].StoppedBy, err)
	// Output:
	// [offset.short stopRules[0]] <nil>
}

// Explain prints the compiled rules and makes no request.
func ExampleEngine_Explain() {
	e, err := engine.Load("users.json", []byte(usersFile))
	if err != nil {
		fmt.Println(err)
		return
	}
	job := e.Explain().Jobs[0]
	fmt.Println(job.First.Method, job.First.URL)
	for _, rule := range job.Stops {
		if !rule.Guard {
			fmt.Println(rule.ID, "|", rule.Source)
		}
	}
	// Output:
	// GET https://api.example.com/v1/users?limit=2&offset=0
	// forceStop.pages | total.pages >= 20
	// offset.empty | count == 0
	// offset.short | count < limit
}

// Diff compares two explanations.
func ExampleEngine_Explain_difference() {
	load := func(limit string) *engine.Engine {
		e, _ := engine.Load("users.json", []byte(`{
			"api": {"baseUrl": "https://api.example.com/", "pagination": {"method": "pagenum", "forceStop": {"pages": `+limit+`}}},
			"config": {"jobs": [{"endpoint": "users"}]}}`))
		return e
	}
	before, after := load("10"), load("20")
	fmt.Print(explain.Diff(before.Explain(), after.Explain()))
	// Output:
	// - users.json
	// + users.json
	//
	// 1 job differs.
	//
	// job users
	//   bounds
	//     - cannot run forever: at most 10 pages (forceStop.pages)
	//     + cannot run forever: at most 20 pages (forceStop.pages)
	//   cut-offs
	//     - forceStop.pages: total.pages >= 10
	//         the list ends (limited) when the limit of 10 pages is reached
	//     + forceStop.pages: total.pages >= 20
	//         the list ends (limited) when the limit of 20 pages is reached
}

// A mistake in a configuration is found before any request, with its position.
func ExampleLoad_mistake() {
	_, err := engine.Load("users.json", []byte(`{"api": {"baseUrl": "https://api.example.com/",
  "pagination": {"method": "offset", "limit": 2, "stopRules": ["cuont == 0"]}},
  "config": {"jobs": [{"endpoint": "users"}]}}`))
	fmt.Println(err)
	// Output:
	// api.pagination.stopRules[0]: unknown name cuont (users.json:2:65)
	//  | cuont == 0
	//  | ^
	//    did you mean "count"?
}
