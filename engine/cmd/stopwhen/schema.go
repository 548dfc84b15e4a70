package main

import (
	"github.com/spf13/cobra"

	"github.com/stopwhen/stopwhen/rules"
)

func (a *app) schemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of a configuration, for editors",
		Long: `Print the JSON Schema (draft 7) of a configuration. An editor that has it proposes
keys, shows what they mean, and marks what is misspelt. It cannot tell all:
stopwhen check reads the expressions too.`,
		Example: `  stopwhen schema > stopwhen.schema.json`,
		Args:    noArguments,
		RunE: func(*cobra.Command, []string) error {
			return a.writeJSON(rules.Builtin().Schema())
		},
	}
}
