package hub

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
)

// natsLogger writes what the server logs to a structured logger.
type natsLogger struct {
	log      *slog.Logger
	fatal    chan<- error // receives the first error that prevents the start
	broken   chan<- bool  // receives a value when a stream can no longer be written
	fromFile bool         // the options are those of a configuration file
}

// logger returns a logger, or one that discards everything for nil.
func logger(log *slog.Logger) *slog.Logger {
	if log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return log
}

// Noticef logs a notice of the server, which is a detail for users of a hub.
func (l *natsLogger) Noticef(format string, v ...any) { l.write(slog.LevelDebug, format, v) }

// Debugf logs a detail.
func (l *natsLogger) Debugf(format string, v ...any) { l.write(slog.LevelDebug, format, v) }

// Warnf logs a warning. That about passwords in plain text is for files only.
func (l *natsLogger) Warnf(format string, v ...any) {
	if l.fromFile || !strings.HasPrefix(format, "Plaintext passwords") {
		l.write(slog.LevelWarn, format, v)
	}
}

// writeError is in the message of the server when it has given up a stream, usually since
// the disk is full. It does not answer publishers of the stream any more, also if there is
// space again, until it is started again.
const writeError = "critical write error"

// Errorf logs an error.
func (l *natsLogger) Errorf(format string, v ...any) {
	l.write(slog.LevelError, format, v)
	if strings.Contains(strings.ToLower(fmt.Sprintf(format, v...)), writeError) {
		select {
		case l.broken <- true:
		default: // it is known
		}
	}
}

func (l *natsLogger) write(level slog.Level, format string, v []any) {
	l.log.Log(context.Background(), level, fmt.Sprintf(format, v...), "event", "hub_log")
}

// Tracef is called for every line of the protocol, and only if tracing is enabled, which
// a hub never does: the lines have the items.
func (l *natsLogger) Tracef(string, ...any) {}

// Fatalf is called for an error that prevents the start; the server expects that the
// process ends. The cause is among the arguments of the message.
func (l *natsLogger) Fatalf(format string, v ...any) {
	err := &fatalError{message: fmt.Sprintf(format, v...)}
	for _, arg := range v {
		if cause, ok := arg.(error); ok {
			err.cause = cause
		}
	}
	select {
	case l.fatal <- err:
	default: // an error that follows from the first
	}
}

// A fatalError is a message of the server with its cause.
type fatalError struct {
	message string
	cause   error
}

func (e *fatalError) Error() string { return e.message }

func (e *fatalError) Unwrap() error { return e.cause }
