package transport

import (
	"bufio"
	"errors"
	"io"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// maxWindow is the largest window of zstd, in bytes: what RFC 9659 requires of clients and
// allows servers.
const maxWindow = 8 << 20

// aheadBytes is how much of a compressed body is read before any of it is decompressed.
const aheadBytes = 64 << 10

// An encoding is a format of compressed bodies.
type encoding struct {
	name  string   // for messages
	names []string // in the header Content-Encoding
	magic string   // begins every body that is not empty
	pool  sync.Pool
}

// allEncodings are the encodings that can be decompressed.
var allEncodings = []*encoding{
	{
		name: "gzip", names: []string{"gzip", "x-gzip"}, magic: "\x1f\x8b",
		pool: sync.Pool{New: func() any { return newDecompressor(&members{}) }},
	},
	{
		name: "zstd", names: []string{"zstd"}, magic: "\x28\xb5\x2f\xfd",
		pool: sync.Pool{New: func() any { return newDecompressor(frames{newZstd()}) }},
	},
}

// newZstd returns a reader of zstd that decompresses in the goroutine of its caller.
func newZstd() *zstd.Decoder {
	// The limit of the memory holds for the windows of frames with a single segment, which
	// the limit of the window does not cover.
	z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecoderMaxMemory(maxWindow))
	if err != nil {
		panic(err) // the options are constants
	}
	return z
}

// members reads a sequence of members of gzip (RFC 1952, section 2.2). That of [gzip.Reader]
// takes a body that ends in the header of a member for complete.
type members struct {
	from *bufio.Reader
	gzip.Reader
}

// Reset begins with the first member of from, which may have none.
func (m *members) Reset(from *bufio.Reader) error {
	m.from = from
	return m.next()
}

// next begins with the next member. The error is [io.EOF] if there is none.
func (m *members) next() error {
	if _, err := m.from.Peek(1); err != nil {
		return err
	}
	err := m.Reader.Reset(m.from)
	m.Multistream(false)
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// Read reads what the members hold.
func (m *members) Read(p []byte) (int, error) {
	n, err := m.Reader.Read(p)
	if errors.Is(err, io.EOF) {
		err = m.next()
	}
	return n, err
}

// frames reads a sequence of frames of zstd (RFC 8878, section 3).
type frames struct{ *zstd.Decoder }

// Reset begins with the first frame of from, which may have none.
func (f frames) Reset(from *bufio.Reader) error { return f.Decoder.Reset(from) }

// A decompressor decompresses one body after another.
type decompressor struct {
	from *bufio.Reader
	stream
}

// A stream reads what is compressed in from.
type stream interface {
	io.Reader
	Reset(from *bufio.Reader) error
}

func newDecompressor(s stream) *decompressor {
	return &decompressor{from: bufio.NewReaderSize(nil, aheadBytes), stream: s}
}

// decompress returns what a body holds.
func (e *encoding) decompress(body io.ReadCloser) *decompressed {
	return &decompressed{encoding: e, source: source{ReadCloser: body}}
}

// decompressed is a body that is decompressed while it is read.
type decompressed struct {
	encoding *encoding
	source   source
	isFile   bool          // no header says that it is compressed
	from     *decompressor // nil before the first read and after the end
	opened   bool          // the decompressor reads the body
	begun    bool          // something was decompressed
	err      error         // of the end; nil before it
}

// A source is a body as it arrives, before it is decompressed.
type source struct {
	io.ReadCloser
	bytes    int             // that have arrived
	progress func()          // is called when some have arrived; may be nil
	arrived  func(bytes int) // is called at the end of the body; may be nil
	err      error           // that ended it
}

// Read reads from the body.
func (s *source) Read(p []byte) (int, error) {
	if s.err != nil {
		return 0, s.err
	}
	n, err := s.ReadCloser.Read(p)
	if s.bytes += n; n > 0 && s.progress != nil {
		s.progress()
	}
	if s.err = err; s.arrived != nil && errors.Is(err, io.EOF) {
		s.arrived(s.bytes)
	}
	return n, err
}

// readAhead reads the compressed bytes before they are decompressed, up to aheadBytes, and
// reports its progress. It calls arrived, or Read does, when the last one was read.
func (d *decompressed) readAhead(progress func(), arrived func(bytes int)) {
	if inner, ok := d.source.ReadCloser.(*decompressed); ok { // compressed more than once
		inner.readAhead(progress, arrived)
		return
	}
	d.source.progress, d.source.arrived = progress, arrived
	d.borrow()
	_, _ = d.from.from.Peek(aheadBytes) // Read returns the error
}

// borrow takes a decompressor from the pool.
func (d *decompressed) borrow() {
	d.from, _ = d.encoding.pool.Get().(*decompressor)
	d.from.from.Reset(&d.source)
}

// Read decompresses. The bytes are not certain until it returns [io.EOF].
func (d *decompressed) Read(p []byte) (n int, err error) {
	if d.err != nil {
		return 0, d.err
	}
	if d.from == nil {
		d.borrow()
	}
	if !d.opened {
		d.opened, err = true, d.from.Reset(d.from.from)
	}
	if err == nil {
		n, err = d.from.Read(p)
	}
	d.begun = d.begun || n > 0
	if err != nil {
		err = d.end(err)
	}
	return n, err
}

// end keeps the error that ended the body and gives the decompressor back. A body that was
// only closed keeps its decompressor, which somebody may still be reading from.
func (d *decompressed) end(err error) error {
	d.err = d.reason(err)
	d.from.from.Reset(nil) // gives up the reference to the body
	d.encoding.pool.Put(d.from)
	d.from = nil
	return d.err
}

// reason returns why a body ended. If reading it failed, that is the reason, whatever the
// decompressor makes of it: some take it for the end of the content.
func (d *decompressed) reason(err error) error {
	switch {
	case d.source.err != nil && !errors.Is(d.source.err, io.EOF) && d.from.from.Buffered() == 0:
		return d.source.err
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return err
	}
	return &encodingError{encoding: d.encoding.name, isFile: d.isFile, begun: d.begun, err: err}
}

// Close closes the body.
func (d *decompressed) Close() error { return d.source.Close() }
