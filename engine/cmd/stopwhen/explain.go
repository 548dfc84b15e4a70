package main

import (
	"io"

	"github.com/spf13/cobra"
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
	text := l.Explain().String
	switch a.flags.format {
	case formatJSON:
		return a.writeJSON(l.Explain())
	case formatMermaid:
		text = l.Explain().Mermaid
	}
	_, err := io.WriteString(a.stdout, text())
	return outputError(err)
}
