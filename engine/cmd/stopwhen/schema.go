package main

import (
	"github.com/spf13/cobra"

	"github.com/stopwhen/stopwhen/rules"
)

func (a *app) schemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of configurations, for editors",
		Long: `Print the JSON Schema (draft 7) of configurations. With it an editor completes
keys, shows their documentation, and marks misspelt ones. It does not cover
everything: stopwhen check also compiles the expressions.`,
		Example: `  stopwhen schema > stopwhen.schema.json`,
		Args:    noArguments,
		RunE: func(*cobra.Command, []string) error {
			return a.writeJSON(rules.Builtin().Schema())
		},
	}
}
