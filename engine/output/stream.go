package output

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/checkpoint"
	"github.com/stopwhen/stopwhen/runtime/failure"
)

// A Stream is a sink that writes to a pipe, a device, or any other writer.
//
// The header of CSV has the columns of all items, so CSV waits in a temporary file until
// Close, and must have the items of one data type only.
type Stream struct {
	w        io.Writer
	frame    checkpoint.FrameWriter // nil: not compressed
	options  Options
	kept     map[string]json.RawMessage // by job
	encoders map[string]encoder
	waiting  *os.File // CSV; nil: nothing
}

// NewStream returns a stream to a writer, for the items of the jobs of an engine.
func (o Options) NewStream(w io.Writer, e *engine.Engine) (*Stream, error) {
	if err := o.Format.check(); err != nil {
		return nil, err
	}
	s := &Stream{w: w, options: o, kept: map[string]json.RawMessage{}, encoders: map[string]encoder{}}
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
	if e == nil && s.Waits() && len(s.encoders) > 0 {
		return refusing{}
	}
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

// Page writes the items of a page.
func (s *Stream) Page(_ context.Context, page *engine.Page) error {
	for _, list := range page.Lists {
		if _, err := list.Items.WriteTo(s.Items(list.DataType)); err != nil {
			return err
		}
	}
	return s.Flush()
}

// Commit writes a message with the values for the next run of all jobs so far.
func (s *Stream) Commit(_ context.Context, job engine.JobResult) error {
	if len(job.Kept) == 0 {
		return nil
	}
	text, err := json.Marshal(job.Kept)
	if err != nil {
		return err
	}
	s.kept[job.Job] = text
	return s.State(s.kept)
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
	if s.frame != nil && err == nil {
		err = s.frame.Close()
	}
	s.frame = nil
	return err
}

// writeWaiting writes the rows of CSV, below a header with all columns.
func (s *Stream) writeWaiting() error {
	if s.waiting == nil {
		return nil
	}
	rows := s.waiting
	s.waiting = nil
	defer rows.Close()
	if _, err := rows.Seek(0, io.SeekStart); err != nil {
		return err
	}
	for _, e := range s.encoders { // there is one
		if err := rewriteCSV(s.w, e.(*csvWriter).columns, nil, rows); err != nil {
			return err
		}
	}
	return nil
}

// refusing is the encoder of a second table.
type refusing struct{ encoder }

func (refusing) Write([]byte) (int, error) {
	return 0, &engine.Error{
		Class: failure.IO, Op: "csv", Message: "a table has the items of one dataType, and the jobs have several",
		Hint: "write files, or run one job",
	}
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
