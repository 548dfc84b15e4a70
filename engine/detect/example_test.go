package detect_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/stopwhen/stopwhen/engine/detect"
)

// An API is recognized from the address of a page: here by a token, which the second
// request sends back.
func ExampleDetect() {
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Query().Get("cursor") == "c2" {
			fmt.Fprint(w, `{"users": [{"id": 3}], "next_cursor": null}`)
			return
		}
		fmt.Fprint(w, `{"users": [{"id": 1}, {"id": 2}], "next_cursor": "c2"}`)
	}))
	defer api.Close()

	result, err := detect.Detect(context.Background(), detect.Request{URL: api.URL + "/v1/users?limit=2"}, detect.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(result.Text(80)) // result.YAML is the configuration
	// Output:
	// Recognized; 2 requests made.
	//
	// Seen:
	//   - The response is JSON.
	//   - The list of items is at users. The page has 2 items.
	//   - next_cursor has a value for the next page; sent as cursor, which no response
	//     names. Proved: page 2 has 1 item that page 1 does not have.
	//   - The end was seen: page 2 is the last by response.param.end.
}
