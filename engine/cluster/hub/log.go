package hub

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
)

// natsLogger passes the log of the server to a structured logger.
type natsLogger struct {
	log      *slog.Logger
	fatal    chan<- error  // receives the first error that prevents the start
	broken   chan<- string // receives why a stream can no longer be written
	fromFile bool          // whether the options come from a configuration file
}

// logger returns l, or a logger that discards everything if l is nil.
func logger(log *slog.Logger) *slog.Logger {
	if log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return log
}

// Noticef logs a notice of the server at level debug, because it is a detail for users of a hub.
func (l *natsLogger) Noticef(format string, v ...any) { l.write(slog.LevelDebug, format, v) }

// Debugf logs a debug message.
func (l *natsLogger) Debugf(format string, v ...any) { l.write(slog.LevelDebug, format, v) }

// Warnf logs a warning. The warning about plain-text passwords is only logged for configuration
// files.
func (l *natsLogger) Warnf(format string, v ...any) {
	if l.fromFile || !strings.HasPrefix(format, "Plaintext passwords") {
		l.write(slog.LevelWarn, format, v)
	}
}

// writeError is part of the message of a server that has given up a stream, usually because the
// disk is full. The server does not answer publishers of the stream until it is restarted, even if
// there is space again.
const writeError = "critical write error"

// Errorf logs an error.
func (l *natsLogger) Errorf(format string, v ...any) {
	l.write(slog.LevelError, format, v)
	if text := fmt.Sprintf(format, v...); strings.Contains(strings.ToLower(text), writeError) {
		select {
		case l.broken <- text:
		default: // already reported
		}
	}
}

func (l *natsLogger) write(level slog.Level, format string, v []any) {
	l.log.Log(context.Background(), level, fmt.Sprintf(format, v...), "event", "hub_log")
}

// Tracef discards a trace of the protocol. The server calls it only if tracing is enabled, which a
// hub never does, because the lines contain items.
func (l *natsLogger) Tracef(string, ...any) {}

// Fatalf reports an error that prevents the start. The server expects the process to end. The
// cause is among the arguments of the message.
func (l *natsLogger) Fatalf(format string, v ...any) {
	err := &fatalError{message: fmt.Sprintf(format, v...)}
	for _, arg := range v {
		if cause, ok := arg.(error); ok {
			err.cause = cause
		}
	}
	select {
	case l.fatal <- err:
	default: // a consequence of the first error
	}
}

// A fatalError is a message of the server and its cause.
type fatalError struct {
	message string
	cause   error
}

func (e *fatalError) Error() string { return e.message }

func (e *fatalError) Unwrap() error { return e.cause }
