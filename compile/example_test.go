package compile_test

import (
	"fmt"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/compile/language"
	"github.com/stopwhen/stopwhen/rules"
)

// compiled compiles a configuration of one job with a pagination object.
func compiled(pagination rules.Object) *compile.Job {
	cfg, found := rules.Decode(nil, rules.Object{
		{Name: "api", Value: rules.Object{{Name: "baseUrl", Value: "https://api.example.com/"}, {Name: "pagination", Value: pagination}}},
		{Name: "config", Value: rules.Object{{Name: "jobs", Value: []any{rules.Object{{Name: "endpoint", Value: "users"}}}}}},
	}, rules.Options{})
	if err := found.Err(); err != nil {
		panic(err)
	}
	compiled, found := compile.Compile(cfg, compile.Options{})
	if err := found.Err(); err != nil {
		panic(err)
	}
	return compiled.Jobs[0]
}

// A run makes the first request, and the next one from the state and the parts
// that are evaluated after each page.
func ExampleJob_Advance() {
	job := compiled(rules.Object{{Name: "method", Value: "offset"}, {Name: "limit", Value: 100}})
	machine, page := &language.Machine{}, &rules.Context{Limit: 100}
	values, err := job.Compute(machine, page)
	if err != nil {
		panic(err)
	}
	builder, err := job.Builder(values)
	if err != nil {
		panic(err)
	}
	state, request, err := builder.Begin(machine, page)
	if err != nil {
		panic(err)
	}
	for page.Page < 3 {
		address, _ := request.URL()
		fmt.Println(address)

		page.Page++ // and all that the response says
		page.State = state
		var parts compile.PartValues
		if state, parts, _, err = job.Advance(machine, page); err != nil {
			panic(err)
		}
		if request, err = builder.Apply(parts, address); err != nil {
			panic(err)
		}
	}
	// Output:
	// https://api.example.com/users?limit=100&offset=0
	// https://api.example.com/users?limit=100&offset=100
	// https://api.example.com/users?limit=100&offset=200
}

// The reads of an expression say what must be decoded of a response.
func ExampleExpression() {
	job := compiled(rules.Object{
		{Name: "method", Value: "pagenum"},
		{Name: "stopRules", Value: []any{`body.meta.page >= body.meta.pages`}},
	})
	rule := job.Stops[len(job.Stops)-1]
	fmt.Println(rule.Reads)

	page := &rules.Context{Page: 1, Body: map[string]any{"meta": map[string]any{"page": 3}}}
	fmt.Println(rule.Because(page))
	fmt.Println(rule.Missing(page))
	// Output:
	// [body.meta.page body.meta.pages]
	// body.meta.page(3) >= body.meta.pages(absent)
	// [body.meta.pages]
}
