package main

import (
	"reflect"
	"slices"

	"github.com/spf13/cobra"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/cluster/status"
	"github.com/stopwhen/stopwhen/engine/explain"
	"github.com/stopwhen/stopwhen/engine/stress"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/wording"
)

// schemas are the schemas that --of names, the default first.
var schemas = []struct {
	name   string
	schema func() rules.Object
}{
	{"config", func() rules.Object { return rules.Builtin().Schema() }},
	{"explain", explain.ExplanationSchema},
	{"diff", explain.DifferenceSchema},
	{"stress", schemaOf[stress.Report]("report of stopwhen stress")},
	{"trace", schemaOf[engine.Record]("a line of a stopwhen trace")},
	{"result", schemaOf[resultFile]("result of a stopwhen run")},
	{"status", schemaOf[status.Run]("status of a stopwhen run")},
}

// resultFile gives the result of a run a name of its own in the schema, whose definitions have the
// names of types, since the result of a job is a Result, too.
type resultFile engine.Result

func schemaOf[T any](title string) func() rules.Object {
	return func() rules.Object { return rules.TypeSchema(title, reflect.TypeFor[T]()) }
}

func schemaNames() []string {
	names := make([]string, len(schemas))
	for i, s := range schemas {
		names[i] = s.name
	}
	return names
}

func newSchema(a *app) *cobra.Command {
	name := ""
	cmd := &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of configurations, for editors",
		Long: `Print the JSON Schema (draft 7) of configurations. With it an editor completes
keys, shows their documentation, and marks misspelt ones. It does not cover
everything: stopwhen check also compiles the expressions.

--of selects another schema. explain, diff, stress and status are the JSON that
explain, explain --diff, stress and status RUN print with --format json; trace
is a line of a trace, and result the file that run --result writes.`,
		Example: `  stopwhen schema > stopwhen.schema.json
  stopwhen schema --of trace`,
		Args: noArguments,
		RunE: func(*cobra.Command, []string) error {
			return a.writeJSON(schemas[slices.Index(schemaNames(), name)].schema())
		},
	}
	choice(cmd, &name, "of", "`WHAT` the schema describes: "+wording.OrList(schemaNames()), schemaNames()...)
	return cmd
}
