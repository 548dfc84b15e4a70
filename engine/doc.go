// Package engine extracts lists from paged HTTP APIs.
//
//	e, err := engine.New(engine.Config{
//		BaseURL: "https://api.example.com/v1/",
//		Paging:  engine.Offset{Limit: 100},
//		Jobs:    []engine.Job{{Endpoint: "users", DataField: "data"}},
//	})
//	...
//	for page, err := range e.Pages(ctx) {
//		...
//		for item := range page.Items.All() { ... } // raw JSON, as the API sent it
//	}
//
// [New] compiles a configuration written in Go, [Load] one that is read from a
// file. An [Engine] does not change and may be used by several goroutines; each
// run has its own state and connections. Nothing is global: transport, clock and
// logger are passed in as options.
//
// A method of paging, a guard or a function that is missing is added by
// [WithMethod], [WithGuard] and [WithFunction]; an [Observer] sees every event of
// a run.
package engine
