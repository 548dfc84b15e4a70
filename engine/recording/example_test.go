package recording_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/recording"
)

// newAPI serves five users on three pages, and an empty page after them.
func newAPI() *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Query().Get("page") {
		case "1":
			fmt.Fprint(w, `{"data": [{"id": 1}, {"id": 2}], "last": false}`)
		case "2":
			fmt.Fprint(w, `{"data": [{"id": 3}, {"id": 4}], "last": true}`)
		case "3":
			fmt.Fprint(w, `{"data": [{"id": 5}], "last": true}`)
		default:
			fmt.Fprint(w, `{"data": []}`)
		}
	}))
}

// newEngine compiles a configuration that extracts the users of an API.
func newEngine(address, pagination string) *engine.Engine {
	e, err := engine.Load("users.json", []byte(`{
		"api": {"baseUrl": "`+address+`", "pagination": `+pagination+`},
		"config": {"jobs": [{"endpoint": "users", "dataField": "data"}]}}`))
	if err != nil {
		panic(err)
	}
	return e
}

// A run is recorded and then replayed without the API.
func Example() {
	api := newAPI()
	e := newEngine(api.URL, `{"method": "pagenum"}`)
	ctx := context.Background()

	var file bytes.Buffer
	recorder := recording.NewRecorder(&file, recording.Options{Redactor: e.Redactor()})
	for page, err := range e.With(engine.WithTransport(recorder)).Pages(ctx) {
		if err != nil {
			panic(err)
		}
		fmt.Println("page", page.Page, "items", page.Items.Len())
	}
	if err := recorder.Close(); err != nil {
		panic(err)
	}
	api.Close()

	tape, err := recording.Read(&file)
	if err != nil {
		panic(err)
	}
	replayed, err := recording.Replay(ctx, e, tape)
	if err != nil {
		panic(err)
	}
	for _, job := range replayed.Jobs {
		fmt.Printf("replay: %d pages, %d items, %s\n", job.Pages, job.Items, job.Because[0])
	}
	// Output:
	// page 1 items 2
	// page 2 items 2
	// page 3 items 1
	// page 4 items 0
	// replay: 4 pages, 5 items, pagenum.empty: count(0) == 0
}

// newTape records a run of a configuration.
func newTape(e *engine.Engine) *recording.Recording {
	var file bytes.Buffer
	recorder := recording.NewRecorder(&file, recording.Options{Redactor: e.Redactor()})
	_, err := e.With(engine.WithTransport(recorder)).Run(context.Background(), func(context.Context, *engine.Page) error {
		return nil
	})
	if err == nil {
		err = recorder.Close()
	}
	if err != nil {
		panic(err)
	}
	tape, err := recording.Read(&file)
	if err != nil {
		panic(err)
	}
	return tape
}

// A second configuration trusts the flag of the API, and loses an item.
func ExampleCompare() {
	api := newAPI()
	defer api.Close()
	e := newEngine(api.URL, `{"method": "pagenum"}`)
	tape := newTape(e)

	ctx := context.Background()
	first, err := recording.Replay(ctx, e, tape)
	if err != nil {
		panic(err)
	}
	flag := newEngine(api.URL, `{"method": "pagenum", "nextPageFlag": {"field": "last", "stopOn": true}}`)
	second, err := recording.Replay(ctx, flag, tape)
	if err != nil {
		panic(err)
	}
	for _, c := range recording.Compare(first, second) {
		fmt.Println(c.Job, "pages:", c.Pages, "same items:", c.Same)
		for _, item := range c.Lost {
			fmt.Printf("lost, page %d: %s\n", item.Page, item.Text)
		}
	}
	// Output:
	// users pages: -2 same items: 4
	// lost, page 3: {"id":5}
}

// A player answers the requests of a test from a recording.
func ExamplePlayer() {
	api := newAPI()
	e := newEngine(api.URL, `{"method": "pagenum"}`)
	tape := newTape(e)
	api.Close()

	player := tape.NewPlayer(e.Redactor())
	e = e.With(engine.WithTransport(player), engine.WithClock(player))
	for page, err := range e.Pages(context.Background()) {
		if err != nil {
			panic(err)
		}
		fmt.Println(page.Page, page.Items.Len(), page.Decision)
	}
	fmt.Println("not played:", len(player.Played().Unplayed))
	// Output:
	// 1 2 continue
	// 2 2 continue
	// 3 1 continue
	// 4 0 stop
	// not played: 0
}
