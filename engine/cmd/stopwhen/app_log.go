package main

import (
	"io"
	"log"
	"log/slog"
	"os"
	"slices"

	"github.com/lmittmann/tint"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/stopwhen/stopwhen/rules/printable"
	"github.com/stopwhen/stopwhen/runtime/redact"
)

// logFlags are the flags for the content and the format of the log.
type logFlags struct {
	logFormat                  string
	quiet, verbose, noProgress bool
}

// register adds the flags to a command. The text verbose describes --verbose.
func (l *logFlags) register(cmd *cobra.Command, verbose string) {
	f := cmd.Flags()
	choice(cmd, &l.logFormat, "log-format", "`FORMAT` of the log: text or json", formatText, formatJSON)
	f.BoolVarP(&l.quiet, "quiet", "q", false, "log only errors")
	f.BoolVarP(&l.verbose, "verbose", "v", false, verbose)
}

// openLog opens the log, which passes through the redactor and clears the progress line, if bar is not
// nil. It has the level unless a flag sets another level.
func (a *app) openLog(bar *progress, level slog.Level) (_ *slog.Logger, closeLog func(), err error) {
	if a.quiet && a.verbose {
		return nil, nil, &usageError{"-q and -v cannot be used together"}
	}
	var w io.Writer = a.stderr
	if bar != nil {
		w = bar
	}
	redacted := a.redactor.Writer(a.guard(w))
	return a.newLogger(redacted, level), func() { _ = redacted.Close() }, nil
}

// newLogger returns a logger that writes text for people or, with --log-format
// json, JSON for programs.
func (a *app) newLogger(w io.Writer, level slog.Level) *slog.Logger {
	switch {
	case a.quiet:
		level = slog.LevelError
	case a.verbose:
		level = slog.LevelDebug
	}
	handler := redact.Handler(tint.NewTextHandler(w, &tint.Options{
		Level: level, TimeFormat: "15:04:05", NoColor: !hasColour(a.stderr), ReplaceAttr: dropRedundant,
	}), printable.Text)
	if a.logFormat == formatJSON {
		handler = slog.NewJSONHandler(printable.Writer(w, printable.JSON), &slog.HandlerOptions{Level: level})
	}
	handler = worder{handler, a}
	log.SetFlags(0)
	log.SetOutput(slog.NewLogLogger(handler, slog.LevelDebug).Writer()) // net/http logs through it
	return slog.New(handler)
}

// redundantAttrs are the attributes whose values the message contains. They are
// for programs.
var redundantAttrs = []string{
	"event", "code", "job", "page", "items", "bytes", "ms", "attempt", "wait_ms", "wait_source", "outcome",
	"exchanges", "truncated_bytes", "complete", "file", "partial", "rows", "hub_url", "listen", "dir", "run", "task", "worker", "partitions",
	"pages_behind_gap", "running", "done", "tasks", "responses", "changed",
}

func dropRedundant(_ []string, attr slog.Attr) slog.Attr {
	if slices.Contains(redundantAttrs, attr.Key) {
		return slog.Attr{}
	}
	return attr
}

func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// hasColour reports whether to write colours; see https://no-color.org.
func hasColour(w io.Writer) bool {
	return isTerminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}
