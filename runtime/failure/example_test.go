package failure_test

import (
	"errors"
	"fmt"

	"github.com/stopwhen/stopwhen/runtime/failure"
)

// The class of an error says whether the same run can be expected to succeed later.
func ExampleError() {
	err := fmt.Errorf("nightly: %w", &failure.Error{
		Class: failure.Transient, Job: "users", Page: 3, Method: "GET", URL: "https://api.example.com/users?page=3",
		Status: 503, Message: "503 Service Unavailable after 5 attempts",
	})
	fmt.Println(err)
	fmt.Println(errors.Is(err, failure.ErrTransient), errors.Is(err, failure.ErrAPI), failure.ExitStatus(err))
	// Output:
	// nightly: job users, page 3: GET https://api.example.com/users?page=3: 503 Service Unavailable after 5 attempts
	// true false 4
}
