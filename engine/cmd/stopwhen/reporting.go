package main

import (
	"bytes"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/stopwhen/stopwhen/rules/value"
)

// reporting is how a command prints a report, and where.
type reporting struct{ format, out string }

// formatFlag adds the flag --format; the first format is the default.
func (r *reporting) formatFlag(cmd *cobra.Command, formats ...string) {
	choice(cmd, &r.format, "format", "output `FORMAT`: "+value.OrList(formats), formats...)
}

// writeReport writes to standard output or to a file, which is written only when the report
// is complete. Secrets are hidden in it.
func (a *app) writeReport(out string, write func(io.Writer) error) error {
	var text bytes.Buffer
	if err := write(&text); err != nil {
		return err
	}
	return printError(a.writeFile(out, a.redactor.String(text.String())))
}

// writeFile writes a text to standard output or to a file.
func (a *app) writeFile(path, text string) error {
	if toStdout(path) {
		_, err := io.WriteString(a.guard(a.stdout), text)
		return err
	}
	return a.waits.during(func() error { return os.WriteFile(path, []byte(text), 0o666) })
}
