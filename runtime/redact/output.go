package redact

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"

	"github.com/stopwhen/stopwhen/rules/lists"
	"github.com/stopwhen/stopwhen/rules/remedy"
)

// Handler returns a log handler that applies change to every text before it passes a record to
// next: to messages, and to texts, errors and lists of texts in attributes.
func Handler(next slog.Handler, change func(string) string) slog.Handler {
	return handler{next, change}
}

type handler struct {
	slog.Handler
	change func(string) string
}

// Handle passes on a changed copy of a record.
func (h handler) Handle(ctx context.Context, r slog.Record) error {
	changed := slog.NewRecord(r.Time, r.Level, h.change(r.Message), r.PC)
	r.Attrs(func(a slog.Attr) bool {
		changed.AddAttrs(h.attr(a))
		return true
	})
	return h.Handler.Handle(ctx, changed)
}

// WithAttrs returns a handler that adds attributes to its records.
func (h handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return handler{h.Handler.WithAttrs(lists.Map(attrs, h.attr)), h.change}
}

// WithGroup returns a handler that puts its attributes into a group.
func (h handler) WithGroup(name string) slog.Handler {
	return handler{h.Handler.WithGroup(name), h.change}
}

func (h handler) attr(a slog.Attr) slog.Attr {
	v := a.Value.Resolve()
	switch v.Kind() {
	case slog.KindString:
		v = slog.StringValue(h.change(v.String()))
	case slog.KindGroup:
		var inner []slog.Attr
		for _, attr := range v.Group() {
			inner = append(inner, h.attr(attr))
		}
		v = slog.GroupValue(inner...)
	case slog.KindAny:
		v = slog.AnyValue(h.any(v.Any()))
	}
	return slog.Attr{Key: a.Key, Value: v}
}

func (h handler) any(v any) any {
	switch v := v.(type) {
	case error:
		return errors.New(h.change(v.Error()))
	case remedy.Remedy: // not as a text, since each front end words it
		if text := v.String(); h.change(text) != text {
			return h.change(text)
		}
		return v
	case fmt.Stringer:
		return h.change(v.String())
	case []string:
		return lists.Map(v, h.change)
	}
	if text := fmt.Sprint(v); h.change(text) != text {
		return h.change(text)
	}
	return v
}

// Writer returns a writer that hides secrets and writes the result to w. It writes only complete
// lines, so that no secret is cut in two. Close writes the rest.
func (r *Redactor) Writer(w io.Writer) io.WriteCloser { return &redactingWriter{r: r, w: w} }

type redactingWriter struct {
	mu   sync.Mutex
	r    *Redactor
	w    io.Writer
	rest []byte // an incomplete line
}

func (w *redactingWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rest = append(w.rest, p...)
	end := bytes.LastIndexByte(w.rest, '\n') + 1
	if end == 0 {
		return len(p), nil
	}
	_, err := io.WriteString(w.w, w.r.lines(string(w.rest[:end])))
	w.rest = append(w.rest[:0], w.rest[end:]...)
	return len(p), err
}

// Close writes the rest of the last line. It does not close w.
func (w *redactingWriter) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, err := io.WriteString(w.w, w.r.lines(string(w.rest)))
	w.rest = nil
	return err
}

// lines hides the secrets in lines. A JSON line remains JSON.
func (r *Redactor) lines(text string) string {
	if !strings.HasPrefix(text, "{") {
		return r.Text(text)
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(r.JSON(line))
	}
	return b.String()
}
