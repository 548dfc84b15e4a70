package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/stopwhen/stopwhen/rules/value"
)

// reporting is how a command prints a report, and where.
type reporting struct {
	*app
	format, out string
}

// formatFlag adds the flag --format; the first format is the default.
func (a *reporting) formatFlag(cmd *cobra.Command, formats ...string) {
	cmd.Flags().StringVar(&a.format, "format", formats[0], "output `FORMAT`: "+value.OrList(formats))
	complete(cmd, "format", func() []string { return formats })
}

func (a *reporting) checkFormat(formats ...string) error {
	if slices.Contains(formats, a.format) {
		return nil
	}
	return &usageError{fmt.Sprintf("--format: want %s, got %q", value.OrList(formats), a.format)}
}

// writeReport writes to standard output or to the file of --out, which is written only when
// the report is complete. Secrets are hidden in it.
func (a *reporting) writeReport(write func(io.Writer) error) error {
	var text bytes.Buffer
	if err := write(&text); err != nil {
		return err
	}
	safe := a.redactor.String(text.String())
	if toStdout(a.out) {
		_, err := io.WriteString(a.guard(a.stdout), safe)
		return printError(err)
	}
	return outputError(a.waits.during(func() error { return os.WriteFile(a.out, []byte(safe), 0o666) }))
}
