package output

import (
	"encoding/json"
	"errors"
	"io"
	"os"

	"github.com/stopwhen/stopwhen/engine/checkpoint"
)

// A Stream is a pipe, a device, or any other writer that items are written to.
//
// The header of CSV has the columns of all items, so CSV waits in a temporary file until
// Close, and must have the items of one data type only.
type Stream struct {
	w        io.Writer
	frame    checkpoint.FrameWriter // nil: not compressed
	options  Options
	encoders map[string]encoder
	waiting  *os.File // CSV; nil: nothing
}

// NewStream returns a stream to a writer.
func (o Options) NewStream(w io.Writer) (*Stream, error) {
	if err := o.Format.check(); err != nil {
		return nil, err
	}
	s := &Stream{w: w, options: o, encoders: map[string]encoder{}}
	if c := o.Format.compression(); c != nil {
		s.frame = c.NewWriter(w)
		s.w = s.frame
	}
	return s, nil
}

// Waits reports whether nothing arrives before Close.
func (s *Stream) Waits() bool { return s.options.Format.kind() == CSV }

// Items returns a writer for the items of a data type, as NDJSON.
func (s *Stream) Items(dataType string) io.Writer { return s.encoder(dataType) }

func (s *Stream) encoder(dataType string) encoder {
	e := s.encoders[dataType]
	if e == nil {
		e = s.options.encoder(&streamRows{stream: s}, dataType, nil)
		s.encoders[dataType] = e
	}
	return e
}

// Flush passes on what the compressor holds, so that a reader can decompress all that was
// written.
func (s *Stream) Flush() error {
	f, ok := s.frame.(interface{ Flush() error })
	if !ok || s.Waits() {
		return nil
	}
	return f.Flush()
}

// State writes a message with the values for the next run, by job, if the format has one.
func (s *Stream) State(kept map[string]json.RawMessage) error {
	if s.options.Format.kind() != Singer || len(kept) == 0 {
		return nil
	}
	return errors.Join(writeState(&streamRows{stream: s}, kept), s.Flush())
}

// Close writes what waits, and ends the compression. It does not close the writer.
func (s *Stream) Close() error {
	err := s.writeWaiting()
	if s.frame != nil {
		err = errors.Join(err, s.frame.Close())
		s.frame = nil
	}
	return err
}

// writeWaiting writes the rows of CSV, below a header with all columns.
func (s *Stream) writeWaiting() error {
	if s.waiting == nil {
		return nil
	}
	defer s.waiting.Close()
	w := s.w
	for _, e := range s.encoders {
		if _, err := s.waiting.Seek(0, io.SeekStart); err != nil {
			return err
		}
		if err := rewriteCSV(w, e.(*csvWriter).columns, nil, s.waiting); err != nil {
			return err
		}
	}
	s.waiting = nil
	return nil
}

// streamRows is what an encoder writes to a stream.
type streamRows struct {
	stream *Stream
	note   string
}

func (r *streamRows) WriteRows(text []byte, _ int) error {
	w := r.stream.w
	if r.stream.Waits() {
		file, err := r.stream.wait()
		if err != nil {
			return err
		}
		w = file
	}
	_, err := w.Write(text)
	return err
}

func (r *streamRows) WriteHeader(text []byte) error { return r.WriteRows(text, 0) }

func (r *streamRows) Note() string { return r.note }

func (r *streamRows) SetNote(note string) { r.note = note }

// wait returns the file of the rows that wait.
func (s *Stream) wait() (*os.File, error) {
	if s.waiting != nil {
		return s.waiting, nil
	}
	file, err := os.CreateTemp("", "stopwhen-csv-*")
	if err != nil {
		return nil, err
	}
	_ = os.Remove(file.Name()) // an open file lasts until it is closed, even by a crash
	s.waiting = file
	return file, nil
}
