package yaml

import (
	"strings"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/value"
)

// ParseByContent parses a configuration whose name has no ending, such as standard input, as JSON
// or, if it is not JSON, as YAML. If the text begins like JSON, the error is from the JSON
// parser.
func ParseByContent(source *diag.Source) (any, error) {
	root, err := rules.ParseJSON(source)
	if err == nil {
		return root, nil
	}
	asYAML := diag.NewSource(source.Name, source.Text)
	root, yamlErr := Parse(asYAML)
	if _, isObject := value.Members(root); yamlErr == nil && isObject {
		*source = *asYAML // keep the positions of the values
		return root, nil
	}
	if strings.HasPrefix(strings.TrimLeft(source.Text, " \t\r\n"), "{") {
		return nil, err
	}
	return nil, yamlErr
}
