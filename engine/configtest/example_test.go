package configtest_test

import (
	"context"
	"fmt"

	"github.com/stopwhen/stopwhen/engine"
)

// A configuration holds its own tests, and Engine.Test runs them without a network.
func ExampleReport() {
	e, err := engine.Load("users.json", []byte(`{
	  "api": {"baseUrl": "https://api.example.com/", "pagination": {"method": "pagenum", "forceStop": {"pages": 9}}},
	  "config": {"jobs": [{"endpoint": "users"}]},
	  "tests": [
	    {"name": "an empty page ends the list", "pages": [[1, 2], []], "expect": {"items": 2, "reason": "pagenum.empty"}},
	    {"name": "a short page does too", "pages": [[1], [2], []], "expect": {"items": 1}}
	  ]
	}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	report := e.Test(context.Background())
	for _, test := range report.Tests {
		fmt.Println(test.Name, test.OK)
		for _, d := range test.Differences {
			fmt.Printf("  %s: want %s, got %s\n", d.Of, d.Want, d.Got)
		}
	}
	for _, rule := range report.Coverage[0].Gaps() {
		fmt.Println(rule.Rule, rule.Gap)
	}
	// Output:
	// an empty page ends the list true
	// a short page does too false
	//   items: want 1, got 2
	// forceStop.pages never true
}
