package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stopwhen/stopwhen/fixtures"
)

func newFixtures(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "fixtures",
		Short: "List the built-in cases: configurations and their APIs",
		Long: `List the built-in cases. Each consists of a configuration, the requests and
responses of an API, and the expected result. Run one with

  stopwhen run --fixture CASE --trace trace.json
  stopwhen run --fixture CASE --explain`,
		Args: noArguments,
		RunE: func(*cobra.Command, []string) error {
			cases, err := fixtures.All()
			if err != nil {
				return err
			}
			var b strings.Builder
			for _, c := range cases {
				fmt.Fprintf(&b, "%s\n    %s\n", c.Name, c.Title)
			}
			return a.writeText(b.String())
		},
	}
}
