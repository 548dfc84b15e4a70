package checkpoint

import (
	"bytes"
	"errors"
	"io"
	"os"

	"github.com/stopwhen/stopwhen/engine/files"
)

// A Compression compresses an output. Its type must be comparable. The compressed output consists
// of frames, such as the members of gzip: the content of several consecutive frames is the
// concatenation of their contents. A frame ends where an output is marked, so that committed data
// can be read and continued.
type Compression interface {
	// NewWriter returns a writer of frames to w.
	NewWriter(w io.Writer) FrameWriter
	// NewReader returns the content of all frames of r. An error of NewReader, or of the returned
	// reader, means that the frames are incomplete or damaged.
	NewReader(r io.Reader) (io.ReadCloser, error)
}

// A FrameWriter compresses the data written to it. The first Write begins a frame, and Close ends
// it. Close without a Write writes an empty frame.
type FrameWriter interface {
	io.WriteCloser
	// Reset discards the state of the writer and makes it write to w. When Reset returns, nothing more is written to the
	// former writer.
	Reset(w io.Writer)
}

// uncompressed is the compression of an uncompressed output: its frames are plain text.
type uncompressed struct{}

func (uncompressed) NewWriter(w io.Writer) FrameWriter { return &text{w} }

func (uncompressed) NewReader(r io.Reader) (io.ReadCloser, error) { return io.NopCloser(r), nil }

type text struct{ io.Writer }

func (*text) Close() error { return nil }

func (t *text) Reset(w io.Writer) { t.Writer = w }

// maxFrames limits the number of open files, and thereby the memory of compressors, when a
// compressed file is opened.
const maxFrames = 8

// openFrame returns the compressor of an output whose file is open.
func (o *Output) openFrame() FrameWriter {
	idle := o.store.idle[o.compression]
	switch last := len(idle) - 1; {
	case o.framed:
		return o.frame
	case o.frame != nil:
		o.frame.Reset(appender{o})
	case last >= 0:
		o.frame, o.store.idle[o.compression] = idle[last], idle[:last]
		o.frame.Reset(appender{o})
	default:
		o.frame = o.compression.NewWriter(appender{o})
	}
	o.framed = true
	return o.frame
}

// endFrame ends the current frame of an output, if there is one.
func (o *Output) endFrame() error {
	if !o.framed {
		return nil
	}
	o.framed = false
	return o.frame.Close()
}

// dropFrame discards the frame of an output, including data that is not written yet.
func (o *Output) dropFrame() {
	if o.frame != nil {
		o.frame.Reset(io.Discard)
		o.store.idle[o.compression] = append(o.store.idle[o.compression], o.frame)
	}
	o.frame, o.framed = nil, false
}

// complete ends the frame of an output whose rows are added to a file of size base. A compressed file
// without frames cannot be read, so an empty frame is written if there would be no frame.
func (o *Output) complete(base int64) error {
	if !o.framed && o.written.Bytes == 0 && base == 0 {
		o.openFrame()
	}
	return o.endFrame()
}

// compressed returns a text compressed as one frame.
func compressed(c Compression, text []byte) ([]byte, error) {
	var b bytes.Buffer
	w := c.NewWriter(&b)
	_, err := w.Write(text)
	err = errors.Join(err, w.Close())
	return b.Bytes(), err // the end of the frame is written by Close
}

// openExisting opens the file with the name of the output, to which rows may be added, and returns its
// size. f is nil if there is no such file.
func (o *Output) openExisting() (f files.File, size int64, err error) {
	f, err = o.store.disk.Open(o.name)
	if errors.Is(err, os.ErrNotExist) {
		return nil, 0, nil
	}
	if err == nil {
		size, err = f.Size()
	}
	return f, size, err
}

// Existing returns the content of the file with the name of the output, to which rows may be added.
// It is nil if the file does not exist or is empty. If the output is not compressed, the content is
// also an [io.ReaderAt] with a method Size.
func (o *Output) Existing() (io.ReadCloser, error) {
	f, size, err := o.openExisting()
	if f == nil {
		return nil, err
	}
	if err == nil && size > 0 && o.compression == (uncompressed{}) {
		return &section{io.NewSectionReader(f, 0, size), f}, nil
	}
	var r io.ReadCloser
	if err == nil && size > 0 {
		r, err = o.compression.NewReader(io.NewSectionReader(f, 0, size))
	}
	if r == nil || err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &content{r, f}, nil
}

// Reread returns the rows that were written. It is for [Part].Rewrite, which may read them more than
// once; no rows may be written meanwhile.
func (o *Output) Reread() (io.ReadCloser, error) {
	f, err := o.store.disk.Open(o.path)
	if err != nil {
		return nil, err
	}
	r, err := o.compression.NewReader(io.NewSectionReader(f, 0, o.written.Bytes))
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &content{r, f}, nil
}

// section reads an uncompressed file.
type section struct {
	*io.SectionReader
	file files.File
}

func (s *section) Close() error { return s.file.Close() }

// content reads the content of an open file.
type content struct {
	io.ReadCloser
	file files.File
}

func (c *content) Close() error { return errors.Join(c.ReadCloser.Close(), c.file.Close()) }

// EndsWithOpenLine reports whether the last line of the file with the name of the output has no
// newline. A newline is added before rows are appended to such a file. A compressed file is read
// to its end; an error means that it is damaged.
func (o *Output) EndsWithOpenLine() (bool, error) {
	f, size, err := o.openExisting()
	if f == nil {
		return false, err
	}
	defer f.Close()
	if err != nil {
		return false, err
	}
	return endsWithOpenLine(f, size, o.compression)
}

func endsWithOpenLine(f files.File, size int64, c Compression) (bool, error) {
	if size == 0 {
		return false, nil
	}
	var from int64
	if c == (uncompressed{}) {
		from = size - 1 // only the last byte is needed
	}
	r, err := c.NewReader(io.NewSectionReader(f, from, size-from))
	if err != nil {
		return false, err
	}
	defer r.Close()
	end := lastByte{'\n'}
	_, err = io.Copy(&end, r)
	return end.b != '\n', err
}

// lastByte remembers the last byte written to it.
type lastByte struct{ b byte }

func (l *lastByte) Write(p []byte) (int, error) {
	if len(p) > 0 {
		l.b = p[len(p)-1]
	}
	return len(p), nil
}
