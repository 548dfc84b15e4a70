package engine

import (
	"reflect"

	"github.com/stopwhen/stopwhen/engine/stress"
	"github.com/stopwhen/stopwhen/rules"
)

// TraceSchema returns the JSON Schema of one line of a trace: of a [Record].
func TraceSchema() rules.Object {
	return rules.TypeSchema("a line of a stopwhen trace", reflect.TypeFor[Record]())
}

// ResultSchema returns the JSON Schema of a [Result].
func ResultSchema() rules.Object {
	return rules.TypeSchema("result of a stopwhen run", reflect.TypeFor[resultFile]())
}

// StressSchema returns the JSON Schema of a [stress.Report].
func StressSchema() rules.Object {
	return rules.TypeSchema("report of stopwhen stress", reflect.TypeFor[stress.Report]())
}

// resultFile has a name that differs from that of a [JobResult], since the schema names
// its definitions by the names of types.
type resultFile Result
