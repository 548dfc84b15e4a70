package diag_test

import (
	"fmt"

	"github.com/stopwhen/stopwhen/rules/diag"
)

// A collector finds the place of a mistake by its path in the configuration.
func Example() {
	source := diag.NewSource("users.json", "{\n  \"api\": {\"limt\": 100}\n}")
	source.Mark("api.limt", 20, 12) // a parser does this
	found := diag.NewCollector(source)
	found.Errorf(diag.Key("api.limt"), "unknown key").WithHint(diag.DidYouMean("limt", []string{"limit", "method"}))
	fmt.Println(found.Diagnostics().Err())
	// Output:
	// api.limt: unknown key (users.json:2:11)
	//  |   "api": {"limt": 100}
	//  |           ^
	//    did you mean "limit"?
}
