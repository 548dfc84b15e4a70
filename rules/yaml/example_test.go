package yaml_test

import (
	"fmt"

	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/yaml"
)

func ExampleParse() {
	root, err := yaml.Parse(diag.NewSource("users.yaml", "endpoint: users\nparams: {active: yes, since: 2026-01-01, limit: 100}\n"))
	fmt.Println(root, err)

	_, err = yaml.Parse(diag.NewSource("users.yaml", "endpoint: users\nendpoint: groups\n"))
	fmt.Println(err)
	// Output:
	// [{endpoint users} {params [{active yes} {since 2026-01-01} {limit 100}]}] <nil>
	// endpoint: the key "endpoint" appears twice (users.yaml:2:1)
	//  | endpoint: groups
	//  | ^
	//    remove one of them
}
