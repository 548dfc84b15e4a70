package value_test

import (
	"encoding/json"
	"fmt"

	"github.com/stopwhen/stopwhen/rules/value"
)

// The specification's empty value (section 3.1) is not that of other languages:
// zero and an empty list are values.
func ExampleEmpty() {
	for _, v := range []any{nil, "", false, 0, []any{}} {
		fmt.Printf("%#v %v\n", v, value.Empty(v))
	}
	// Output:
	// <nil> true
	// "" true
	// false true
	// 0 false
	// []interface {}{} false
}

// An object keeps the order of its members.
func ExampleObject() {
	params := value.Object{{Name: "page", Value: 1}, {Name: "limit", Value: 100}}
	params = params.With("page", 2)
	text, err := json.Marshal(params)
	fmt.Println(string(text), err)
	// Output:
	// {"page":2,"limit":100} <nil>
}
