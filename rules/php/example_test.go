package php_test

import (
	"fmt"

	"github.com/stopwhen/stopwhen/rules/php"
	"github.com/stopwhen/stopwhen/rules/value"
)

// What PHP does to a value differs from what other languages do.
func Example() {
	fmt.Println(php.Empty("0"), php.Empty("0.0"), php.Empty("false"))
	fmt.Println(php.Int("12 pages"), php.Bool("false"))
	fmt.Println(php.BuildQuery(value.Object{{Name: "page", Value: 2}, {Name: "active", Value: true}, {Name: "q", Value: "a b"}}))
	seconds, ok := php.StrToTime("10 minutes", 0)
	fmt.Println(seconds, ok)
	// Output:
	// true false false
	// 12 true
	// page=2&active=1&q=a+b
	// 600 true
}
