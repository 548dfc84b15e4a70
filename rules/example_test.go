package rules_test

import (
	"fmt"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/diag"
)

// A configuration becomes rules, in the order of evaluation: these can stop the list.
func ExampleConfig_Lower() {
	source := diag.NewSource("users.json", `{
	  "api": {
	    "baseUrl": "https://api.example.com/",
	    "pagination": {"method": "offset", "limit": 50, "forceStop": {"pages": 20}}
	  },
	  "config": {"jobs": [{"endpoint": "users"}]}
	}`)
	root, err := rules.ParseJSON(source)
	if err != nil {
		fmt.Println(err)
		return
	}
	config, found := rules.Decode(source, root, rules.Options{})
	if err := found.Err(); err != nil {
		fmt.Println(err)
		return
	}
	lowered, found := config.Lower()
	if err := found.Err(); err != nil {
		fmt.Println(err)
		return
	}
	for _, rule := range lowered.Jobs[0].Rules {
		if rule.Role == rules.RoleStop && !rule.Guard {
			fmt.Printf("%-15s %s\n", rule.ID, rule.Source)
		}
	}
	// Output:
	// forceStop.pages total.pages >= 20
	// offset.empty    count == 0
	// offset.short    count < limit
}

// A mistake is reported with its place and the nearest known word.
func ExampleDecode() {
	source := diag.NewSource("users.json", `{"api": {"baseUrl": "https://api.example.com/"}, "config": {"jobs": [{"endpoint": "users", "dataFeild": "data"}]}}`)
	root, err := rules.ParseJSON(source)
	if err != nil {
		fmt.Println(err)
		return
	}
	_, found := rules.Decode(source, root, rules.Options{})
	for _, d := range found {
		fmt.Printf("%s (%s) %s: %s\n", d.Path, d.Location(), d.Message, d.Hint)
	}
	// Output:
	// config.jobs[0].dataFeild (users.json:1:92) unknown key "dataFeild": did you mean "dataField"?
}
