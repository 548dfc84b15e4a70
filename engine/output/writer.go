package output

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"

	"github.com/stopwhen/stopwhen/engine/checkpoint"
)

// Options say how items are written. The zero Options are those of NDJSON.
type Options struct {
	Format Format
	// Nested joins the names of nested members in the columns of CSV; "" is ".".
	Nested string
	// Catalog has schemas and keys of Singer streams; nil: schemas are derived from the
	// items, and there are no keys.
	Catalog *Catalog
}

// An encoder writes items in a format. It receives them as NDJSON, in parts of any size.
type encoder interface {
	io.Writer
	// state writes a message with the values for the next run, if the format has one.
	state(kept map[string]json.RawMessage) error
	// rewrite returns how the rows have to be rewritten before they appear, after the
	// content of a file if they are added to it. It is nil if they can remain as they
	// are.
	rewrite(before io.Reader) (rewriteFunc, error)
}

// rewriteFunc is the type of [checkpoint.Commitment].Rewrite.
type rewriteFunc = func(to io.Writer, before, rows io.Reader) error

// rowWriter is where an encoder writes. It is [checkpoint.Output], or a stream.
type rowWriter interface {
	// WriteRows writes a text with a number of rows.
	WriteRows(text []byte, rows int) error
	// WriteHeader writes what precedes the rows.
	WriteHeader(text []byte) error
	// Note returns what SetNote has set, unless it was taken back together with what
	// was written after it.
	Note() string
	SetNote(note string)
}

var _ rowWriter = (*checkpoint.Output)(nil)

// encoder returns the encoder of a stream of items. The columns are those of the file
// that rows are added to.
func (o Options) encoder(to rowWriter, stream string, columns []string) encoder {
	switch o.Format.kind() {
	case CSV:
		return newCSV(to, cmp.Or(o.Nested, "."), columns)
	case Singer:
		return newSinger(to, stream, o.Catalog)
	}
	return &ndjson{to: to}
}

// ndjson passes items on as they are.
type ndjson struct{ to rowWriter }

func (n *ndjson) Write(p []byte) (int, error) {
	if err := n.to.WriteRows(p, bytes.Count(p, newline)); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (*ndjson) state(map[string]json.RawMessage) error { return nil }

func (*ndjson) rewrite(io.Reader) (rewriteFunc, error) { return nil, nil }

var newline = []byte{'\n'}

// maxBlock is how many bytes of lines are passed on at once, unless one line is longer. It
// bounds the memory for what is made of them.
const maxBlock = 1 << 20

// lineWriter passes complete lines on, many at a time.
type lineWriter struct {
	lines func(block []byte) error
	rest  []byte // the beginning of a line
}

func (l *lineWriter) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		end := linesEnd(p, len(l.rest) > 0)
		if end == 0 {
			l.rest = append(l.rest, p...)
			break
		}
		block := p[:end]
		if len(l.rest) > 0 {
			block = append(l.rest, block...)
			l.rest = block[:0]
		}
		if err := l.lines(block); err != nil {
			return 0, err
		}
		p = p[end:]
	}
	return n, nil
}

// linesEnd returns the end of the lines at the beginning of p that are passed on at once, or of
// the first line; 0 if it has no end.
func linesEnd(p []byte, first bool) int {
	if !first {
		if i := bytes.LastIndexByte(p[:min(len(p), maxBlock)], '\n'); i >= 0 {
			return i + 1
		}
	}
	return bytes.IndexByte(p, '\n') + 1
}
