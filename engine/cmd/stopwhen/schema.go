package main

import (
	"fmt"
	"reflect"

	"github.com/spf13/cobra"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/cluster/status"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/value"
)

// schemas are the schemas that --of names, the default first.
var schemas = []struct {
	of     string
	schema func() rules.Object
}{
	{"config", func() rules.Object { return rules.Builtin().Schema() }},
	{"explain", compile.ExplanationSchema},
	{"diff", compile.DifferenceSchema},
	{"stress", engine.StressSchema},
	{"trace", engine.TraceSchema},
	{"result", engine.ResultSchema},
	{"status", func() rules.Object {
		return rules.TypeSchema("status of a stopwhen run", reflect.TypeFor[status.Run]())
	}},
}

func schemaNames() []string {
	names := make([]string, len(schemas))
	for i, s := range schemas {
		names[i] = s.of
	}
	return names
}

func (a *app) schemaCommand() *cobra.Command {
	of := ""
	cmd := &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of configurations, for editors",
		Long: `Print the JSON Schema (draft 7) of configurations. With it an editor completes
keys, shows their documentation, and marks misspelt ones. It does not cover
everything: stopwhen check also compiles the expressions.

--of explain prints the schema of what explain --format json prints, --of diff
that of explain --diff, --of stress that of stress, --of trace that of a line of
a trace, --of result that of the file that run --result writes, and --of status
that of status RUN --format json.`,
		Example: `  stopwhen schema > stopwhen.schema.json
  stopwhen schema --of trace`,
		Args: noArguments,
		RunE: func(*cobra.Command, []string) error {
			for _, s := range schemas {
				if s.of == of {
					return a.writeJSON(s.schema())
				}
			}
			return &usageError{fmt.Sprintf("--of: want %s, got %q", value.OrList(schemaNames()), of)}
		},
	}
	cmd.Flags().StringVar(&of, "of", schemas[0].of, "`WHAT` the schema describes: "+value.OrList(schemaNames()))
	complete(cmd, "of", schemaNames)
	return cmd
}
