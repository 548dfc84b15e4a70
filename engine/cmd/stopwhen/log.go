package main

import (
	"fmt"
	"io"
	"log"
	"log/slog"
	"os"
	"slices"

	"github.com/lmittmann/tint"
	"golang.org/x/term"
)

// newLog logs to standard error: for people, or as JSON for programs.
func (a *app) newLog(w io.Writer, debug bool) (*slog.Logger, error) {
	level := slog.LevelInfo
	switch {
	case a.flags.quiet:
		level = slog.LevelError
	case a.flags.verbose || debug:
		level = slog.LevelDebug
	}
	var handler slog.Handler
	switch a.flags.logFormat {
	case "", "text":
		handler = tint.NewTextHandler(w, &tint.Options{Level: level, TimeFormat: "15:04:05", NoColor: !colourful(a.stderr), ReplaceAttr: forPeople})
	case "json":
		handler = slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level})
	default:
		return nil, &usageError{fmt.Sprintf("--log-format: want text or json, got %q", a.flags.logFormat)}
	}
	logger := slog.New(handler)
	log.SetFlags(0)
	log.SetOutput(slog.NewLogLogger(handler, slog.LevelDebug).Writer()) // net/http speaks through it
	return logger, nil
}

// said are the attributes that the message says as well; programs read them from
// --log-format json.
var said = []string{"event", "code", "job", "page", "items", "bytes", "ms", "attempt", "wait_ms", "wait_source", "outcome"}

func forPeople(_ []string, attr slog.Attr) slog.Attr {
	if slices.Contains(said, attr.Key) {
		return slog.Attr{}
	}
	return attr
}

// terminal tells whether a stream is one that a person looks at.
func terminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// colourful tells whether colours are welcome; see https://no-color.org.
func colourful(w io.Writer) bool {
	return terminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}
