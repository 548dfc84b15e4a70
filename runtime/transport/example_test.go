package transport_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"

	"github.com/stopwhen/stopwhen/runtime/transport"
)

// A client repeats a request that fails for a while, and sends the credentials to
// its origin only.
func ExampleClient_Do() {
	attempts := 0
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if attempts++; attempts == 1 {
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintf(w, `["%s"]`, r.Header.Get("Authorization"))
	}))
	defer api.Close()
	origin, err := url.Parse(api.URL)
	if err != nil {
		fmt.Println(err)
		return
	}
	client := transport.New(transport.Options{
		Origin: origin, Auth: transport.BearerAuth("t0ken"),
		Retry: transport.RetryPolicy{MaxAttempts: 3, Header: "Retry-After", Statuses: []int{http.StatusServiceUnavailable}},
	})
	defer client.Close()
	response, err := client.Do(context.Background(), transport.Call{Method: http.MethodGet, URL: api.URL + "/users"}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(response.Status, string(response.Body))

	_, err = client.Do(context.Background(), transport.Call{Method: http.MethodGet, URL: "https://other.example.com/"}, nil)
	fmt.Println(err != nil)
	// Output:
	// 200 ["Bearer t0ken"]
	// true
}
