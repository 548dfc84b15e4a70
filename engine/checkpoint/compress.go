package checkpoint

import (
	"bytes"
	"errors"
	"io"
	"os"
)

// A Compression compresses an output. Its type is comparable. What it writes consists of frames, such as the
// members of gzip: several of them in sequence hold their contents in sequence. A frame
// ends where an output is marked, so that what was committed can be read and continued.
type Compression interface {
	// NewWriter returns a writer of frames to w.
	NewWriter(w io.Writer) FrameWriter
	// NewReader returns the content of all frames of r. An error of it, or of the
	// reader, means that they are incomplete or damaged.
	NewReader(r io.Reader) (io.ReadCloser, error)
}

// A FrameWriter compresses what is written to it. The first Write begins a frame, and
// Close ends it. A frame without content is written by Close alone.
type FrameWriter interface {
	io.WriteCloser
	// Reset begins again with another writer, whatever happened before.
	Reset(w io.Writer)
}

// maxFrames bounds the files that are open, and with them the memory of compressors, when
// one that is compressed is opened.
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

// endFrame ends the frame of an output, if one has begun.
func (o *Output) endFrame() error {
	if !o.framed {
		return nil
	}
	o.framed = false
	return o.frame.Close()
}

// dropFrame forgets the frame of an output, with what was not written yet.
func (o *Output) dropFrame() {
	if o.frame != nil {
		o.store.idle[o.compression] = append(o.store.idle[o.compression], o.frame)
	}
	o.frame, o.framed = nil, false
}

// complete ends the frame of an output. An output without rows gets an empty frame, unless
// the file before, to which it is added, has one: a compressed file without any cannot be
// read.
func (o *Output) complete(before file) error {
	if o.compression == nil || o.size > 0 || o.framed {
		return o.endFrame()
	}
	var base int64
	if before != nil {
		var err error
		if base, err = before.Size(); err != nil {
			return err
		}
	}
	if base == 0 {
		o.openFrame()
	}
	return o.endFrame()
}

// compressed returns a text as a frame.
func compressed(c Compression, text []byte) ([]byte, error) {
	if c == nil {
		return text, nil
	}
	var b bytes.Buffer
	w := c.NewWriter(&b)
	_, err := w.Write(text)
	return b.Bytes(), errors.Join(err, w.Close())
}

// decompressed returns the content of a file that is read from r.
func decompressed(c Compression, r io.Reader) (io.ReadCloser, error) {
	if c == nil {
		return io.NopCloser(r), nil
	}
	return c.NewReader(r)
}

// Before returns the content of the file under the name of the output, to which rows may
// be added. It is nil if there is no such file, or if it is empty.
func (o *Output) Before() (io.ReadCloser, error) {
	f, err := o.store.files.Open(o.name, 0)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	r, err := openContent(f, o.compression)
	if r == nil {
		return nil, errors.Join(err, f.Close())
	}
	return &content{r, f}, nil
}

// content is the content of an open file.
type content struct {
	io.ReadCloser
	file file
}

func (c *content) Close() error { return errors.Join(c.ReadCloser.Close(), c.file.Close()) }

// openContent returns the content of a file, which is nil if the file is empty.
func openContent(f file, c Compression) (io.ReadCloser, error) {
	size, err := f.Size()
	if err != nil || size == 0 {
		return nil, err
	}
	return decompressed(c, io.NewSectionReader(f, 0, size))
}

// EndsWithOpenLine reports whether the last line of the file under the name of the output
// has no newline. Before rows are appended to such a file, it gets one. A compressed file
// is read to its end, and an error says that it is damaged.
func (o *Output) EndsWithOpenLine() (bool, error) {
	f, err := o.store.files.Open(o.name, 0)
	if err != nil {
		return false, err
	}
	defer f.Close()
	return endsWithOpenLine(f, o.compression)
}

func endsWithOpenLine(f file, c Compression) (bool, error) {
	size, err := f.Size()
	if err != nil || size == 0 {
		return false, err
	}
	if c == nil {
		last := make([]byte, 1)
		if _, err = f.ReadAt(last, size-1); errors.Is(err, io.EOF) {
			err = nil
		}
		return last[0] != '\n', err
	}
	r, err := openContent(f, c)
	if err != nil {
		return false, err
	}
	defer r.Close()
	end := lastByte{'\n'}
	_, err = io.Copy(&end, r)
	return end.b != '\n', err
}

// lastByte remembers the last byte that was written to it.
type lastByte struct{ b byte }

func (l *lastByte) Write(p []byte) (int, error) {
	if len(p) > 0 {
		l.b = p[len(p)-1]
	}
	return len(p), nil
}
