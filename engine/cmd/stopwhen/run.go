package main

import (
	"github.com/spf13/cobra"

	"github.com/stopwhen/stopwhen/engine/explain"
)

// A runCommand is stopwhen run.
type runCommand struct {
	extraction
	explainOnly bool
}

func newRun(a *app) *cobra.Command {
	c := &runCommand{extraction: extraction{loader: loader{app: a}}}
	cmd := &cobra.Command{
		Use:   "run CONFIG",
		Short: "Extract what a configuration describes",
		Long: `Run all jobs of a configuration, in order. Items are written as NDJSON, one item
per line, to standard output or, with --out, to DIR/<dataType>.ndjson; --format
names other formats. The log goes to standard error and shows why each job
stopped.

CONFIG is a JSON file, a YAML file (named .yaml or .yml), or - for standard
input. Items of pages fetched before a failure are written, too.`,
		Example: `  stopwhen run users.json > users.ndjson
  stopwhen run users.json --out data --format parquet
  stopwhen run users.json --out data --trace trace.json
  stopwhen run users.yaml --env API_TOKEN --fail-on limited,guarded
  stopwhen run users.json --out data --state users.state --prefetch auto
  stopwhen run --fixture offset/short-page-stops --explain`,
		Args: c.oneConfig,
		RunE: c.Run,
	}
	c.runFlags(cmd)
	c.outFlag(cmd, "-")
	f := cmd.Flags()
	f.StringVar(&c.record, "record", "", "`FILE` for a recording of all requests and responses (HAR); - is standard output")
	f.BoolVar(&c.explainOnly, "explain", false, "print the compiled rules without making requests")
	a.showFirst(cmd, "Flags for a run every night", "out", "state", "fail-on", "env")
	return cmd
}

// Run extracts, or explains the configuration.
func (c *runCommand) Run(cmd *cobra.Command, args []string) error {
	if c.explainOnly {
		if err := c.checkResultFlags(cmd); err != nil {
			return err
		}
		c.placeholders = true
		l, err := c.load(args)
		if err != nil {
			return err
		}
		defer l.Close()
		return c.explain(l, c.kept, reporting{}, explain.TextOptions{})
	}
	return c.runConfig(cmd, args)
}
