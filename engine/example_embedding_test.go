package engine_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/config"
	"github.com/stopwhen/stopwhen/rules"
)

// feed serves the entries of two tenants, the newest first. A page begins after
// the entry `before`.
func feed() *httptest.Server {
	entries := map[string][]string{
		"/acme/feed": {
			`{"id": "e3", "at": "2026-11-20T10:00:00Z"}`, `{"id": "e2", "at": "2026-11-19T10:00:00Z"}`, `{"id": "e1", "at": "2026-01-02T10:00:00Z"}`,
		},
		"/umbrella/feed": {`{"id": "u1", "at": "2026-11-20T09:00:00Z"}`},
	}
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		list, ok := entries[r.URL.Path]
		if !ok || r.Header.Get("Authorization") != "Bearer t0ken" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		from := 0
		for i, e := range list {
			if r.URL.Query().Get("before") == e[8:10] {
				from = i + 1
			}
		}
		page := "[]"
		if from < len(list) {
			page = "[" + list[from] + "]"
		}
		fmt.Fprintf(w, `{"items": %s}`, page)
	}))
}

// before pages backwards from the last item, by its id.
var before = rules.Method{
	Name: "before",
	Doc:  "The API expects the id of the oldest item that was read.",
	Fields: []rules.Field{
		{Name: "idKey", Kind: rules.KindPath, Default: "id", Doc: "path of the id in an item"},
	},
	State: []rules.StateVariable{{Name: "oldest", Init: `nil`, Next: `at(items[-1], ${idKey})`}},
	Next:  rules.Overlay{Params: []rules.Part{{Name: "before", Value: `state.oldest`}}},
	Stops: []rules.StopRule{{ID: "before.end", When: `count == 0`, Clause: "a page is empty", Message: "page {page} is empty"}},
}

// isStale reports whether an entry is older than 30 days.
func isStale(entry map[string]any) (bool, error) {
	text, _ := entry["at"].(string)
	at, err := time.Parse(time.RFC3339, text)
	return time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC).Sub(at) > 30*24*time.Hour, err
}

// fetchToken returns the token for a request; it could renew it.
func fetchToken(context.Context) (string, error) { return "t0ken", nil }

// requests prints the requests and the end of a run.
type requests struct{}

func (requests) Observe(_ context.Context, e engine.Event) {
	switch e.Kind {
	case engine.EventRequest:
		fmt.Println("page", e.Page, "status", e.Exchange.Status)
	case engine.EventEnd:
		fmt.Println(e.Job, "ended:", e.Result.Outcome, e.Result.StoppedBy)
	}
}

// One engine serves several tenants. It has a method, a function and an observer of
// the program's own.
func Example_embedding() {
	api := feed()
	defer api.Close()
	e, err := engine.New(config.Config{
		BaseURL:        api.URL,
		Authentication: config.TokenFunc(fetchToken),
		Inputs:         map[string]config.Input{"tenant": {Doc: "whose feed it is", Pattern: "[a-z]+"}},
		Pagination: config.Pagination{
			Method:      config.CustomMethod{Name: "before"},
			StopRules:   []config.StopRule{{When: "isStale(items[-1])"}},
			NextRequest: config.NextRequest{Endpoint: "input.tenant + '/feed'", ApplyToFirst: true},
		},
		Jobs: []config.Job{{Endpoint: "feed", DataField: "items"}},
	}, engine.WithMethod(before), engine.WithFunction("isStale", isStale), engine.WithTimeout(3*time.Minute))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, tenant := range []string{"acme", "umbrella", "initech"} {
		run := e.With(engine.WithInputs(map[string]any{"tenant": tenant}), engine.WithObserver(requests{}))
		_, err := run.Run(context.Background(), func(_ context.Context, page *engine.Page) error {
			for item := range page.Items.All() {
				fmt.Println(tenant, string(item))
			}
			return nil
		})
		if errors.Is(err, engine.ErrAPI) {
			fmt.Println("refused:", tenant)
		}
	}
	// Output:
	// page 1 status 200
	// acme {"id":"e3","at":"2026-11-20T10:00:00Z"}
	// page 2 status 200
	// acme {"id":"e2","at":"2026-11-19T10:00:00Z"}
	// page 3 status 200
	// acme {"id":"e1","at":"2026-01-02T10:00:00Z"}
	// feed ended: complete [stopRules[0]]
	// page 1 status 200
	// umbrella {"id":"u1","at":"2026-11-20T09:00:00Z"}
	// page 2 status 200
	// feed ended: complete [before.end]
	// page 1 status 403
	// feed ended: failed []
	// refused: initech
}
