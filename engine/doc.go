// Package engine is the door for programs that page through HTTP APIs.
//
//	e, err := engine.Load("users.json", text)
//	...
//	for page, err := range e.Pages(ctx) {
//		...
//		for item := range page.Items.All() { ... } // raw JSON, as the API sent it
//	}
//
// [Load] reads and compiles a configuration once; an [Engine] never changes and
// may be run by many goroutines. [Engine.Pages] and [Engine.Run] make the
// requests, [Engine.Explain] prints the compiled rules and makes none. Nothing
// is global: the HTTP transport, the clock and the logger are passed in.
package engine
