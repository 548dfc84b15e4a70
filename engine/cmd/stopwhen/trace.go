package main

import (
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/stopwhen/stopwhen/engine/report"
	"github.com/stopwhen/stopwhen/rules/printable"
)

// A traceCommand is stopwhen trace.
type traceCommand struct {
	*app
	reporting
	verdicts bool
}

func newTrace(a *app) *cobra.Command {
	c := &traceCommand{app: a}
	cmd := &cobra.Command{
		Use:   "trace TRACE",
		Short: "Show the pages of a trace and where each rule first became true",
		Long: `Show a trace of stopwhen run --trace as tables, or as an HTML page with a
timeline. The HTML page loads nothing and runs no script, so it can be sent to
others and opened offline. TRACE is a file, or - for standard input.`,
		Example: `  stopwhen run users.json --trace trace.json > users.ndjson
  stopwhen trace trace.json
  stopwhen trace trace.json --verdicts
  stopwhen trace trace.json --format html --out report.html`,
		Args: arguments(1, 1, "one trace"),
		RunE: c.Run,
	}
	c.formatFlag(cmd, formatText, formatHTML)
	cmd.Flags().BoolVar(&c.verdicts, "verdicts", false, "also list the verdicts of every page; the HTML page always does")
	cmd.Flags().StringVarP(&c.out, "out", "o", "-", "`FILE` to write to; - is standard output")
	return cmd
}

// Run shows a trace.
func (c *traceCommand) Run(_ *cobra.Command, args []string) error {
	if err := checkReportFile(c.out, args[0]); err != nil {
		return err
	}
	run, err := c.readTrace(args[0])
	if err != nil {
		return err
	}
	run.ShowVerdicts = c.verdicts
	printable.Strings(run)
	write := run.Text
	if c.format == formatHTML {
		write = run.HTML
	}
	return c.writeReport(c.out, func(w io.Writer) error {
		if toStdout(c.out) {
			w = printable.Writer(w, printable.Lines)
		}
		return write(w)
	})
}

func (a *app) readTrace(path string) (*report.Run, error) {
	name := "standard input"
	if path != "-" {
		name = filepath.Base(path)
	}
	return readInput(a, "trace", path, func(r io.Reader) (*report.Run, error) { return report.Read(name, r) })
}
