package transport

import (
	"bufio"
	"errors"
	"io"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// maxWindow is the largest window of zstd, in bytes. RFC 9659 requires clients to support it, and
// servers not to exceed it.
const maxWindow = 8 << 20

// aheadBytes is the number of bytes of a compressed body that are read before decompression begins.
const aheadBytes = 64 << 10

// An encoding is a format of compressed bodies.
type encoding struct {
	name  string   // name in messages
	names []string // names in the header Content-Encoding
	magic string   // first bytes of every body that is not empty
	pool  sync.Pool

	omitsEmpty bool // whether a common compressor writes no byte if it has nothing to compress
}

// allEncodings lists the supported encodings.
var allEncodings = []*encoding{
	{
		name: "gzip", names: []string{"gzip", "x-gzip"}, magic: "\x1f\x8b",
		pool: sync.Pool{New: func() any { return newDecompressor(&gzipMembers{}) }},
	},
	{
		name: "zstd", names: []string{"zstd"}, magic: "\x28\xb5\x2f\xfd", omitsEmpty: true, // that of klauspost/compress
		pool: sync.Pool{New: func() any { return newDecompressor(zstdFrames{newZstd()}) }},
	},
}

// newZstd returns a reader of zstd that decompresses in the goroutine of its caller.
func newZstd() *zstd.Decoder {
	// The memory limit covers the windows of frames with a single segment, which the window limit
	// does not.
	z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecoderMaxMemory(maxWindow))
	if err != nil {
		panic(err) // the options are constants
	}
	return z
}

// gzipMembers reads a sequence of gzip members (RFC 1952, section 2.2). [gzip.Reader] would accept
// a body that ends within the header of a member as complete.
type gzipMembers struct {
	from *bufio.Reader
	gzip.Reader
}

// Reset starts reading at the first member of from, which may be empty.
func (m *gzipMembers) Reset(from *bufio.Reader) error {
	m.from = from
	return m.nextMember()
}

// nextMember starts the next member. It returns [io.EOF] if no member follows.
func (m *gzipMembers) nextMember() error {
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

// Read reads the decompressed content.
func (m *gzipMembers) Read(p []byte) (int, error) {
	n, err := m.Reader.Read(p)
	if errors.Is(err, io.EOF) {
		err = m.nextMember()
	}
	return n, err
}

// zstdFrames reads a sequence of zstd frames (RFC 8878, section 3).
type zstdFrames struct{ *zstd.Decoder }

// Reset starts reading at the first frame of from, which may be empty.
func (f zstdFrames) Reset(from *bufio.Reader) error { return f.Decoder.Reset(from) }

// A decompressor is reused for one body after another.
type decompressor struct {
	from *bufio.Reader
	stream
}

// A stream reads the decompressed content of its source.
type stream interface {
	io.Reader
	Reset(from *bufio.Reader) error
}

func newDecompressor(s stream) *decompressor {
	return &decompressor{from: bufio.NewReaderSize(nil, aheadBytes), stream: s}
}

// decompress returns the decompressed content of a body.
func (e *encoding) decompress(body io.ReadCloser) *decompressed {
	return &decompressed{encoding: e, source: bodySource{ReadCloser: body}}
}

// A decompressed is a body that is decompressed as it is read.
type decompressed struct {
	encoding     *encoding
	source       bodySource
	isFile       bool          // whether the body is a compressed file: no header says so
	mayBeNothing bool          // whether a body without a byte is accepted, as empty content
	from         *decompressor // nil before the first read and after the end
	opened       bool          // whether the decompressor reads the body
	begun        bool          // whether some content was decompressed
	err          error         // error that ended the body; nil before its end
}

// A bodySource is a body as it arrives, before decompression.
type bodySource struct {
	io.ReadCloser
	bytes   int             // number of bytes that have arrived
	watch   *watchdog       // is told that bytes have arrived; may be nil
	arrived func(bytes int) // called at the end of the body; may be nil
	err     error           // error that ended the body
}

// Read reads from the body.
func (s *bodySource) Read(p []byte) (int, error) {
	if s.err != nil {
		return 0, s.err
	}
	n, err := s.ReadCloser.Read(p)
	if s.bytes += n; n > 0 && s.watch != nil {
		s.watch.progress()
	}
	if s.err = err; s.arrived != nil && errors.Is(err, io.EOF) {
		s.arrived(s.bytes)
	}
	return n, err
}

// readAhead reads compressed bytes before decompression, up to aheadBytes, and tells watch. It,
// or a later Read, calls arrived after the last byte.
func (d *decompressed) readAhead(watch *watchdog, arrived func(bytes int)) {
	if inner, ok := d.source.ReadCloser.(*decompressed); ok { // compressed more than once
		inner.readAhead(watch, arrived)
		return
	}
	d.source.watch, d.source.arrived = watch, arrived
	d.borrow()
	_, _ = d.from.from.Peek(aheadBytes) // Read returns the error
}

// borrow takes a decompressor from the pool.
func (d *decompressed) borrow() {
	d.from, _ = d.encoding.pool.Get().(*decompressor)
	d.from.from.Reset(&d.source)
}

// Read implements [io.Reader]. The content is verified only when it returns [io.EOF].
func (d *decompressed) Read(p []byte) (n int, err error) {
	if d.err != nil {
		return 0, d.err
	}
	if d.from == nil {
		d.borrow()
	}
	if !d.opened {
		d.opened, err = true, d.open()
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

// open starts decompression. A stream begins with a header, so a body without a byte was cut off, unless it may be nothing.
func (d *decompressed) open() error {
	if _, err := d.from.from.Peek(1); errors.Is(err, io.EOF) && !d.mayBeNothing {
		return io.ErrUnexpectedEOF
	}
	return d.from.Reset(d.from.from)
}

// end records the error that ended the body, and returns the decompressor to the pool. A body that
// was only closed keeps its decompressor, since another goroutine may still be reading from it.
func (d *decompressed) end(err error) error {
	d.err = d.reason(err)
	d.from.from.Reset(nil) // drop the reference to the body
	d.encoding.pool.Put(d.from)
	d.from = nil
	return d.err
}

// reason returns the error that ended a body. An error while reading the body takes precedence over
// an error of the decompressor, which may report the end of the content instead.
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
