package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"text/template"

	"github.com/spf13/cobra"

	"github.com/stopwhen/stopwhen/engine/files"
	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/printable"
	"github.com/stopwhen/stopwhen/rules/wording"
)

// writeText writes a text for people to standard output. Texts of an API or of a configuration may hold
// characters that control a terminal. They are escaped where the command prints: in log lines by the handler
// of the log, in other texts by the functions of this file. Items are written as the API sent them.
func (a *app) writeText(text string) error {
	_, err := io.WriteString(a.guard(a.stdout), printable.Lines(text))
	return printError(err)
}

// writeTemplate writes a text for people to standard output: a template with some functions.
func (a *app) writeTemplate(text string, funcs template.FuncMap, data any) error {
	b := &strings.Builder{}
	t := template.New("text").Funcs(funcs).Funcs(template.FuncMap{
		"counted": wording.Counted, "size": wording.Size, "clip": wording.Clip, "join": strings.Join,
	})
	if err := template.Must(t.Parse(text)).Execute(b, data); err != nil {
		return err
	}
	return a.writeText(b.String())
}

// An exampleError is an error with an example, which has several lines.
type exampleError struct {
	error
	example string
}

func (e *exampleError) Error() string { return e.error.Error() + "\n\n" + e.example }

func (e *exampleError) Unwrap() error { return e.error }

// textOf returns an error as a text that is safe to print.
func (a *app) textOf(err error) string {
	if e, ok := errors.AsType[*exampleError](err); ok {
		return printable.Text(a.messageOf(e.error)) + "\n\n" + printable.Lines(e.example)
	}
	return printable.Text(a.messageOf(err))
}

// printed returns copies of diagnostics that are safe to print. Only a snippet has
// several lines.
func (a *app) printed(mistakes diag.Diagnostics) diag.Diagnostics {
	safe := make(diag.Diagnostics, len(mistakes))
	for i, m := range mistakes {
		clone := *m
		clone.Hint = a.words(m.Hint, m.Remedy)
		if m.Option != nil {
			clone.Path = a.word(*m.Option)
		}
		clone.Snippet = ""
		printable.Strings(&clone)
		clone.Snippet = printable.Lines(m.Snippet)
		safe[i] = &clone
	}
	return safe
}

// reporting holds the format and the destination of a report.
type reporting struct{ format, out string }

// formatFlag adds the flag --format; the first format is the default.
func (r *reporting) formatFlag(cmd *cobra.Command, formats ...string) {
	choice(cmd, &r.format, "format", "output `FORMAT`: "+wording.OrList(formats), formats...)
}

// writeReport writes to standard output or to a file, which is written only when the report
// is complete. Secrets are hidden in it.
func (a *app) writeReport(out string, write func(io.Writer) error) error {
	var text bytes.Buffer
	if err := write(&text); err != nil {
		return err
	}
	return printError(a.writeFile(out, a.redactor.Text(text.String())))
}

// writeFile writes a text to standard output or to a file.
func (a *app) writeFile(path, text string) error {
	if toStdout(path) {
		_, err := io.WriteString(a.guard(a.stdout), text)
		return err
	}
	file, err := linked(path)
	if err != nil {
		return err
	}
	return a.waits.during(func() error { return writeWhole(file, []byte(text)) })
}

// writeWhole writes a file, which others see with its old content or with the new one. A pipe or a
// device receives the text.
func writeWhole(path string, text []byte) error {
	if files.IsStream(path) {
		return os.WriteFile(path, text, 0)
	}
	return files.Write(path, text, 0o666)
}
