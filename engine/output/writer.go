package output

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"

	"github.com/stopwhen/stopwhen/engine/checkpoint"
	"github.com/stopwhen/stopwhen/engine/shape"
)

// Options describe how items are written. The zero Options write NDJSON.
type Options struct {
	Format Format
	// Nested joins the names of nested members in the columns of CSV and Parquet. If it is "", they are joined by ".".
	Nested string
	// Catalog holds schemas and keys of Singer streams. If it is nil, schemas are derived from the
	// items, and there are no keys.
	Catalog *Catalog
}

// An encoding says how the items of a run are written: the options, and facts about the items.
type encoding struct {
	Options
	keys  map[string][]string     // paths of the keys of items, by data type
	known map[string]*shape.Shape // shapes of the items of earlier runs, by data type
}

// An encoder writes items in a format. It receives them as NDJSON, in parts of any size.
type encoder interface {
	io.Writer
	// state writes a message with the values for the next run, if the format has such messages.
	state(kept map[string]json.RawMessage) error
	// rewrite returns a function that rewrites the rows before they are published, or nil if they
	// can remain unchanged. before reads the existing file if the rows are added to one.
	rewrite(before io.Reader) (rewriteFunc, error)
}

// rewriteFunc is the type of [checkpoint.Part].Rewrite.
type rewriteFunc = func(to io.Writer, before, rows io.Reader) error

// rowWriter receives the output of an encoder. It is a [checkpoint.Output] or a stream.
type rowWriter interface {
	// WriteRows writes a text with the given number of rows.
	WriteRows(text []byte, rows int) error
	// WriteHeader writes the text that precedes the rows.
	WriteHeader(text []byte) error
	// Note returns the value set by SetNote, unless it was rolled back together with the data
	// written after it.
	Note() string
	SetNote(note string)
}

var _ rowWriter = (*checkpoint.Output)(nil)

// nested returns the text that joins the names of nested members.
func (e encoding) nested() string { return cmp.Or(e.Nested, ".") }

// ndjson passes items on unchanged.
type ndjson struct {
	to     rowWriter
	counts bool // whether the number of rows matters
}

func newNDJSON(_ encoding, to rowWriter, _ string, _ head) encoder {
	_, streams := to.(*streamRows)
	return &ndjson{to: to, counts: !streams}
}

func (n *ndjson) Write(p []byte) (int, error) {
	rows := 0
	if n.counts {
		rows = bytes.Count(p, newline)
	}
	if err := n.to.WriteRows(p, rows); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (*ndjson) state(map[string]json.RawMessage) error { return nil }

func (*ndjson) rewrite(io.Reader) (rewriteFunc, error) { return nil, nil }

var newline = []byte{'\n'}

// maxBlock is the number of bytes of complete lines that are passed on at once, unless a single
// line is longer. It bounds the memory of encoders.
const maxBlock = 1 << 20

// lineWriter passes on complete lines, many at a time.
type lineWriter struct {
	lines func(block []byte) error
	rest  []byte // beginning of an incomplete line
}

func (l *lineWriter) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		end := bytes.IndexByte(p, '\n') + 1
		if end == 0 {
			l.rest = append(l.rest, p...)
			break
		}
		var block []byte
		if len(l.rest) > 0 {
			l.rest = append(l.rest, p[:end]...)
			block, l.rest = l.rest, l.rest[:0]
		} else {
			end = max(end, bytes.LastIndexByte(p[:min(len(p), maxBlock)], '\n')+1)
			block = p[:end]
		}
		if err := l.lines(block); err != nil {
			return 0, err
		}
		p = p[end:]
	}
	return n, nil
}
