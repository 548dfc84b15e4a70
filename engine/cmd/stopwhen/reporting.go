package main

import (
	"bytes"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/stopwhen/stopwhen/rules/value"
)

// reporting is how a command prints a report, and where.
type reporting struct {
	*app
	format, out string
}

// formatFlag adds the flag --format; the first format is the default.
func (r *reporting) formatFlag(cmd *cobra.Command, formats ...string) {
	choice(cmd, &r.format, "format", "output `FORMAT`: "+value.OrList(formats), formats...)
}

// writeReport writes to standard output or to the file of --out, which is written only when
// the report is complete. Secrets are hidden in it.
func (r *reporting) writeReport(write func(io.Writer) error) error {
	var text bytes.Buffer
	if err := write(&text); err != nil {
		return err
	}
	safe := r.redactor.String(text.String())
	if toStdout(r.out) {
		_, err := io.WriteString(r.guard(r.stdout), safe)
		return printError(err)
	}
	return outputError(r.waits.during(func() error { return os.WriteFile(r.out, []byte(safe), 0o666) }))
}
