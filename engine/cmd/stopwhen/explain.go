package main

import (
	"github.com/spf13/cobra"

	"github.com/stopwhen/stopwhen/rules/printable"
)

func (a *app) explainCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "explain CONFIG",
		Short: "Print the compiled rules of every job without making requests",
		Long: `Print what a configuration compiles to: the first request, how the next request
is built, and every rule that can stop paging, with its id, its expression, what
it reads, and its origin.`,
		Example: `  stopwhen explain users.json
  stopwhen explain users.json --format json | jq '.jobs[].stops[].id'
  stopwhen explain users.json --format mermaid > users.mmd
  stopwhen explain --fixture offset/short-page-stops`,
		Args: a.oneConfig,
		RunE: func(_ *cobra.Command, args []string) error {
			if err := a.checkFormat(explainFormats...); err != nil {
				return err
			}
			a.placeholders = true
			l, err := a.load(args)
			if err != nil {
				return err
			}
			defer l.Close()
			return a.explain(l)
		},
	}
	a.configFlags(cmd)
	a.formatFlag(cmd, explainFormats...)
	return cmd
}

var explainFormats = []string{formatText, formatJSON, formatMermaid}

// explain prints the rules in the format of --format, or as text for run --explain.
func (a *app) explain(l *loaded) error {
	x := l.Explain()
	if a.flags.format == formatJSON {
		return a.writeJSON(x)
	}
	printable.Strings(x)
	text := x.String
	if a.flags.format == formatMermaid {
		text = x.Mermaid
	}
	return a.writeText(text())
}
