package output

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"os"

	"github.com/stopwhen/stopwhen/engine/checkpoint"
	"github.com/stopwhen/stopwhen/runtime/spool"
)

// A stream writes items to a pipe, a device, or any other writer.
//
// A table has the columns of all items, so it waits in a temporary file until close, and its stream must
// have items of a single data type.
type stream struct {
	w        io.Writer
	frame    checkpoint.FrameWriter // nil if not compressed
	encoding encoding
	encoders map[string]encoder
	waiting  spool.File // waiting rows of a table
	closed   bool
}

// newStream returns a stream to a writer.
func (e encoding) newStream(w io.Writer) *stream {
	s := &stream{w: w, encoding: e, encoders: map[string]encoder{}, waiting: spool.File{Holds: "a table"}}
	if c := e.Format.compression(); c != nil {
		s.frame = c.NewWriter(w)
		s.w = s.frame
	}
	return s
}

// waits reports whether the output is held back until close.
func (s *stream) waits() bool { return s.encoding.Format.IsTable() && !s.closed }

// items returns the encoder for the items of a data type.
func (s *stream) items(dataType string) encoder {
	e := s.encoders[dataType]
	if e == nil {
		e = s.encoding.Format.row().new(s.encoding, &streamRows{stream: s}, dataType, head{})
		s.encoders[dataType] = e
	}
	return e
}

// flush passes on the data held by the compressor, so that a reader can decompress everything
// written so far.
func (s *stream) flush() error {
	f, ok := s.frame.(interface{ Flush() error })
	if !ok || s.waits() {
		return nil
	}
	return f.Flush()
}

// state writes a message with the values for the next run, by job, if the format has such
// messages.
func (s *stream) state(kept map[string]json.RawMessage) error {
	write := s.encoding.Format.row().state
	if write == nil || len(kept) == 0 {
		return nil
	}
	return errors.Join(write(&streamRows{stream: s}, kept), s.flush())
}

// close writes the waiting data and ends the compression. It does not close the writer.
func (s *stream) close() error {
	var err error
	if s.waits() {
		err = s.writeWaiting()
	}
	if s.frame != nil && err == nil {
		err = s.frame.Close()
	}
	s.frame, s.closed = nil, true
	return err
}

// writeWaiting writes the waiting rows as a table with all columns.
func (s *stream) writeWaiting() error {
	defer s.waiting.Close()
	if s.encoding.Format.row().whole && len(s.encoders) == 0 { // a table without rows
		s.items("")
	}
	rows := io.NewSectionReader(&s.waiting, 0, s.waiting.Size())
	for _, e := range s.encoders { // there is at most one if rows wait
		rewrite, err := e.rewrite(nil)
		if err == nil && rewrite != nil {
			err = rewrite(s.w, nil, rows)
		} else if err == nil {
			_, err = io.Copy(s.w, rows)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// streamRows is the rowWriter of an encoder that writes to a stream.
type streamRows struct {
	stream *stream
	note   string
}

func (r *streamRows) WriteRows(text []byte, _ int) error {
	w := r.stream.w
	if r.stream.waits() {
		w = &r.stream.waiting
	}
	_, err := w.Write(text)
	return err
}

func (r *streamRows) WriteHeader(text []byte) error { return r.WriteRows(text, 0) }

func (r *streamRows) Note() string { return r.note }

func (r *streamRows) SetNote(note string) { r.note = note }

// pipes are the open pipes and devices of a run.
type pipes struct {
	guard func(io.Writer) io.Writer // see [PublisherOptions.Guard]
	files []*os.File
}

// open opens a pipe or a device for writing.
func (ps *pipes) open(path string) (io.Writer, error) {
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return nil, err
	}
	ps.files = append(ps.files, file)
	if ps.guard == nil {
		return file, nil
	}
	return ps.guard(file), nil
}

// close closes all of them, and returns the first error.
func (ps *pipes) close() (first error) {
	for _, file := range ps.files {
		first = cmp.Or(first, file.Close())
	}
	ps.files = nil
	return first
}
