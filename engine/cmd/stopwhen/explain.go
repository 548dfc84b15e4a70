package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stopwhen/stopwhen/rules/value"
)

func (a *app) explainCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "explain CONFIG",
		Short: "Print the compiled rules of every job, and make no request",
		Long: `Print what a configuration compiles to: the first request, how the next one is
built, and every rule that can stop the scrolling, with its id, the expression,
what it reads, and where it comes from.`,
		Example: `  stopwhen explain users.json
  stopwhen explain users.json --format json | jq '.jobs[].stops[].id'
  stopwhen explain users.json --format mermaid > users.mmd
  stopwhen explain --fixture offset/short-page-stops`,
		Args: a.oneConfig,
		RunE: func(_ *cobra.Command, args []string) error {
			l, err := a.load(args)
			if err != nil {
				return err
			}
			defer l.Close()
			return a.explain(l)
		},
	}
	a.configFlags(cmd)
	a.formatFlag(cmd, "text", "json", "mermaid")
	return cmd
}

func (a *app) explain(l *loaded) error {
	switch a.flags.format {
	case "", "text":
		_, err := fmt.Fprint(a.stdout, l.Explain())
		return outputError(err)
	case "json":
		return a.writeJSON(l.Explain())
	case "mermaid":
		_, err := fmt.Fprint(a.stdout, l.Explain().Mermaid())
		return outputError(err)
	}
	return a.checkFormat("text", "json", "mermaid")
}

func (a *app) checkCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "check CONFIG",
		Short: "Find mistakes in a configuration, and make no request",
		Long: `Read and compile a configuration, and report every fault with its place and its
cure. Exit status 2 says that there are faults; warnings leave it at 0.`,
		Example: `  stopwhen check users.json
  stopwhen check users.yaml --dialect keboola`,
		Args: a.oneConfig,
		RunE: func(_ *cobra.Command, args []string) error {
			l, err := a.load(args)
			if err != nil {
				return err
			}
			defer l.Close()
			for _, w := range l.Warnings() {
				fmt.Fprintf(a.stderr, "warning: %v\n", w)
			}
			rules := 0
			for _, job := range l.Explain().Jobs {
				rules += len(job.State) + len(job.Next) + len(job.Stops) + len(job.OnError)
			}
			parts := []string{value.Counted(len(l.Jobs()), "job"), value.Counted(rules, "rule")}
			if n := len(l.Warnings()); n > 0 {
				parts = append(parts, value.Counted(n, "warning"))
			}
			_, err = fmt.Fprintf(a.stdout, "ok: %s\n", strings.Join(parts, ", "))
			if n := len(l.Tests()); n > 0 && err == nil {
				_, err = fmt.Fprintf(a.stdout, "%s; run %s with stopwhen test\n", value.Counted(n, "test"), pronoun(n))
			}
			return outputError(err)
		},
	}
	a.configFlags(cmd)
	return cmd
}
