package compile

import (
	"reflect"

	"github.com/stopwhen/stopwhen/rules"
)

// ExplanationSchema returns the JSON Schema of an [Explanation].
func ExplanationSchema() rules.Object {
	return rules.TypeSchema("stopwhen explanation", reflect.TypeFor[Explanation]())
}
