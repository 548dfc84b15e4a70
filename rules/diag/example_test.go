package diag_test

import (
	"fmt"

	"github.com/stopwhen/stopwhen/rules/diag"
)

// A collector finds the place of a mistake by its path in the configuration.
func Example() {
	source := diag.NewSource("users.json", "{\n  \"api\": {\"limt\": 100}\n}")
	root, api := diag.Mark{Key: -1}, diag.Mark{Name: "api", Value: 11, Key: 4} // a parser does this
	api.Contain([]diag.Mark{{Name: "limt", Value: 20, Key: 12}})
	root.Contain([]diag.Mark{api})
	source.SetMarks(root)
	found := diag.NewCollector(source)
	found.Errorf(diag.Key("api.limt"), "unknown key").WithHint(diag.DidYouMean("limt", []string{"limit", "method"}))
	fmt.Println(found.Diagnostics().Err())
	// Output:
	// api.limt: unknown key (users.json:2:11)
	//  |   "api": {"limt": 100}
	//  |           ^
	//    did you mean "limit"?
}
