package redact

import (
	"bytes"
	"io"
	"strings"
	"sync"
)

// Writer returns a writer that hides the secrets in what it writes to w. It writes
// only complete lines, so that no secret is cut in two; Close writes the rest.
func (r *Redactor) Writer(w io.Writer) io.WriteCloser { return &redactingWriter{r: r, w: w} }

type redactingWriter struct {
	mu   sync.Mutex
	r    *Redactor
	w    io.Writer
	rest []byte // a line that is not complete yet
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

// Close writes the last line, if it has no newline.
func (w *redactingWriter) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, err := io.WriteString(w.w, w.r.lines(string(w.rest)))
	w.rest = nil
	return err
}

// lines hides the secrets in lines, of which those that are JSON remain so.
func (r *Redactor) lines(text string) string {
	if !strings.HasPrefix(text, "{") {
		return r.String(text)
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(r.JSON(line))
	}
	return b.String()
}
