package redact_test

import (
	"fmt"

	"github.com/stopwhen/stopwhen/runtime/redact"
)

func ExampleRedactor() {
	r := redact.New([]string{"s3cret/token"})
	fmt.Println(r.Text("Authorization: Bearer s3cret/token"))
	fmt.Println(r.Shown("https://user:password@api.test/users?page=2&state=s3cret%2Ftoken"))
	fmt.Println(r.Header("Cookie", "session=1"))
	// Output:
	// Authorization: Bearer ***
	// https://***@api.test/users?page=2&state=***
	// ***
}
