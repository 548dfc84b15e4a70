package runtime_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/runtime"
	"github.com/stopwhen/stopwhen/runtime/transport"
)

// A loop runs a compiled job. Programs use package engine, which does all of this.
func ExampleLoop_Run() {
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, map[string]string{"1": `[{"id": 1}, {"id": 2}]`, "2": `[{"id": 3}]`, "3": `[]`}[r.URL.Query().Get("page")])
	}))
	defer api.Close()
	job, err := compiledJob(`{"api": {"baseUrl": "` + api.URL + `/", "pagination": {"method": "pagenum"}}, "config": {"jobs": [{"endpoint": "users"}]}}`)
	if err != nil {
		fmt.Println(err)
		return
	}
	origin, err := url.Parse(api.URL)
	if err != nil {
		fmt.Println(err)
		return
	}
	loop := runtime.Loop{Client: transport.New(transport.Options{Origin: origin})}
	defer loop.Client.Close()
	result, err := loop.Run(context.Background(), job, func(_ context.Context, page *runtime.Page) error {
		fmt.Println(page.Page, page.Items.Len(), page.Decision, page.StoppedBy)
		return nil
	})
	fmt.Println(result.Items, result.Outcome, err)
	// Output:
	// 1 2 continue []
	// 2 1 continue []
	// 3 0 stop [pagenum.empty]
	// 3 complete <nil>
}

// compiledJob compiles a configuration of one job.
func compiledJob(text string) (*compile.Job, error) {
	source := diag.NewSource("users.json", text)
	root, err := rules.ParseJSON(source)
	if err != nil {
		return nil, err
	}
	config, found := rules.Decode(source, root, rules.Options{})
	if err := found.Err(); err != nil {
		return nil, err
	}
	compiled, found := compile.Compile(config, compile.Options{})
	if err := found.Err(); err != nil {
		return nil, err
	}
	return compiled.Jobs[0], nil
}
