// Package spool holds response bodies. A small body is in memory. A large one is
// in a temporary file that is mapped into memory, of which one part at a time is resident, so that
// a page of 100 MB needs little more memory than one of 1 MB. What needs all of
// it reads the file instead, since every mapped page of the file costs time.
//
// A large body is read by its consumer while it arrives, in stream.go. Files are
// mapped into memory in map_linux.go; all else is in buffer.go. On other systems
// every body is in memory. The file has no name once it is open, so that nothing
// remains of it, even after a crash.
package spool

import (
	"errors"
	"io"
	"iter"
	"os"

	"github.com/stopwhen/stopwhen/runtime/failure"
)

// A Buffer holds the body of one response, or its conversion, and is reused for the next. A large
// body is read by a [Consumer] while it arrives. The zero Buffer is empty.
type Buffer struct {
	data  []byte
	file  File
	view  []byte // the mapped file; nil until Body is called
	limit int    // bytes held in memory before the file is used

	consumer Consumer // reads a large body while it arrives; may be nil
	stream   *Stream  // nil unless the consumer reads the body
	part     []byte   // part of the stream that data fills
	parts    [][]byte // parts of streams, with their headroom
	first    []byte   // data before the stream
}

const (
	spoolBytes = 4 << 20   // bodies larger than this are spooled to a file
	pieceBytes = 256 << 10 // bytes written to the file at a time
)

// Reset empties the buffer for a body of size bytes; a negative size is unknown.
func (b *Buffer) Reset(size int64) {
	b.Release()
	b.limit = spoolBytes
	switch {
	case size < 0:
		size = 16 << 10
	case size > spoolBytes && canMap:
		size, b.limit = pieceBytes, pieceBytes // it goes to the file from the start
	}
	if int64(cap(b.data)) <= size {
		// The next body may be larger, and the last read needs a byte to find the end.
		b.data = make([]byte, 0, size+size/8+1)
	}
	b.data = b.data[:0]
}

// ReadBy lets a consumer read large bodies while they arrive, from the next Reset on. The file of such a
// body holds the output of the consumer. If c is nil, the file holds the body itself.
func (b *Buffer) ReadBy(c Consumer) { b.consumer = c }

// Consumed returns the result of the consumer, and the first bytes of the body, after Body. Both are
// nil if the consumer did not read the body, because it is in memory.
func (b *Buffer) Consumed() (result any, head []byte) {
	if b.stream == nil {
		return nil, nil
	}
	return b.stream.result, b.stream.head
}

// ReadPiece reads once from r and appends to the buffer. It returns the number of
// bytes and the error of r, which is io.EOF at the end. If a temporary file is
// needed and cannot be written, the error is a [*failure.Error].
func (b *Buffer) ReadPiece(r io.Reader) (int, error) {
	if err := b.makeRoom(); err != nil {
		return 0, err
	}
	n, err := r.Read(b.data[len(b.data):cap(b.data)])
	b.data = b.data[:len(b.data)+n]
	return n, err
}

// Write appends p to the buffer. Its error is one of the temporary file, a
// [*failure.Error].
func (b *Buffer) Write(p []byte) (int, error) {
	for left := p; len(left) > 0; {
		if err := b.makeRoom(); err != nil {
			return len(p) - len(left), err
		}
		n := copy(b.data[len(b.data):cap(b.data)], left)
		b.data, left = b.data[:len(b.data)+n], left[n:]
	}
	return len(p), nil
}

// makeRoom makes room for at least one byte in memory.
func (b *Buffer) makeRoom() error {
	switch {
	case len(b.data) < cap(b.data):
		return nil
	case cap(b.data) >= b.limit && canMap:
		return b.spool()
	}
	b.data = append(make([]byte, 0, max(2*cap(b.data), 512)), b.data...)
	return nil
}

// Len returns the number of bytes that the buffer has received.
func (b *Buffer) Len() int64 {
	if b.stream != nil {
		return b.stream.size + int64(len(b.data))
	}
	return b.file.size + int64(len(b.data))
}

// spool moves the bytes in memory to the file, or passes them to the consumer.
func (b *Buffer) spool() error {
	b.file.Holds = "a large response"
	switch {
	case b.stream != nil:
		b.stream.add(b.part[:headroom+len(b.data)])
	case b.consumer != nil:
		b.first = b.data
		b.stream = newStream(b.consumer, &b.file, b.data, b.parts)
	}
	if b.stream != nil {
		b.part = b.room()
		b.data, b.limit = b.part[headroom:], 0
		return nil
	}
	_, err := b.file.Write(b.data)
	b.data = b.data[:0]
	return err
}

// room returns a part to fill, after its headroom.
func (b *Buffer) room() []byte {
	if len(b.stream.free) == 0 && len(b.parts) < streamParts {
		b.parts = append(b.parts, make([]byte, headroom+pieceBytes))
		return b.parts[len(b.parts)-1][:headroom]
	}
	return (<-b.stream.free)[:headroom]
}

// Body returns the contents of the buffer, and the mapping of a body in a file (nil for a body in
// memory). Both are valid until the next Reset or Release.
func (b *Buffer) Body() ([]byte, *Mapping, error) {
	switch {
	case b.stream != nil:
		b.stream.add(b.part[:headroom+len(b.data)])
		b.data = b.data[:0]
		if b.stream.end(); b.stream.err != nil {
			return nil, nil, b.stream.err
		}
		if b.file.size == 0 { // the consumer found a mistake in the first part
			return nil, nil, nil
		}
	case b.file.file == nil:
		return b.data, nil, nil
	default:
		if err := b.spool(); err != nil {
			return nil, nil, err
		}
	}
	view, err := mapFile(b.file.file, int(b.file.size))
	if err != nil {
		return nil, nil, b.file.fault("read from", err)
	}
	b.view = view
	return view, &Mapping{data: view, file: &b.file, buffer: b.data[:min(cap(b.data), pieceBytes)]}, nil
}

// Release closes the file, if there is one. The body is no longer valid. A consumer that still reads
// it receives an error.
func (b *Buffer) Release() {
	if b.stream != nil {
		b.stream.abort()
		b.data = b.first[:0]
	}
	b.stream, b.part, b.first = nil, nil, nil
	_ = unmap(b.view) // the file is deleted, so nothing can be lost
	b.file.Close()
	b.view = nil
}

// Trim releases the file, and the memory of the buffer if it is larger than most bytes. The body
// becomes invalid.
func (b *Buffer) Trim(most int) {
	b.Release()
	if cap(b.data) > most {
		b.data = nil
	}
	b.parts = nil
}

// A File is a temporary file for data that is written once and read later, even while more is
// added. It is created by the first write. The zero File is empty.
type File struct {
	Holds string // contents, for error messages, such as "a large response"

	file *os.File
	size int64
}

// Write appends p to the file. Its error is a [*failure.Error].
func (f *File) Write(p []byte) (n int, err error) {
	if f.file == nil {
		if f.file, err = os.CreateTemp("", "stopwhen-*"); err != nil {
			return 0, f.fault("written to", err)
		}
		_ = os.Remove(f.file.Name()) // the open file outlives its name, whatever happens to the process
	}
	n, err = f.file.Write(p)
	f.size += int64(n)
	if err != nil {
		err = f.fault("written to", err)
	}
	return n, err
}

// Size returns the number of bytes in the file.
func (f *File) Size() int64 { return f.size }

// ReadAt reads from the file. Its error is a [*failure.Error], or io.EOF.
func (f *File) ReadAt(p []byte, at int64) (n int, err error) {
	if n, err = f.file.ReadAt(p, at); err != nil && !errors.Is(err, io.EOF) {
		err = f.fault("read from", err)
	}
	return n, err
}

// CopyTo writes the bytes from start to end to w.
func (f *File) CopyTo(w io.Writer, start, end int64) error {
	_, err := io.Copy(w, io.NewSectionReader(f, start, end-start))
	return err
}

// Close deletes the file.
func (f *File) Close() {
	if f.file != nil {
		_ = f.file.Close() // it has no name, so this deletes it
	}
	f.file, f.size = nil, 0
}

// fault returns the error of an operation on the file. done completes "cannot be … a temporary file": "written to".
func (f *File) fault(done string, err error) error {
	return &failure.Error{
		Class: failure.IO, Op: "read", Message: f.Holds + " cannot be " + done + " a temporary file: " + err.Error(), Err: err,
		Hint: "free space in " + os.TempDir() + ", or set TMPDIR to another directory",
	}
}

// A Mapping limits how much of a mapped file is in memory: bytes that were passed are released, and
// are read from the file again when they are accessed. A nil Mapping stands for a body in
// memory; all methods accept it.
type Mapping struct {
	data []byte // the whole mapping
	low  int    // bytes from low on may be in memory
	at   int    // bytes below at have been passed

	file   *File
	buffer []byte // for parts of the file that are read
}

// ResidentBytes is the approximate part of a large document that is in memory at a time.
const ResidentBytes = 4 << 20

// Pass reports that the bytes below i are not needed for now. The bytes from low
// on may be touched before the next call.
func (m *Mapping) Pass(i, low int) {
	if m != nil && i-m.at >= ResidentBytes {
		release(m.data, m.low, i)
		m.at, m.low = i, min(low, i)
	}
}

// Parts iterates over the bytes from start to end in parts, which are valid until the iteration continues. They
// are read from the file: if everything is needed, that takes less time than mapping every page of it.
func (m *Mapping) Parts(start, end int) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for start < end {
			part := m.buffer[:min(len(m.buffer), end-start)]
			if _, err := m.file.ReadAt(part, int64(start)); err != nil {
				part = m.data[start:end]
			}
			if !yield(part) {
				return
			}
			start += len(part)
		}
	}
}

// Rewind releases all bytes and starts again at the beginning.
func (m *Mapping) Rewind() {
	if m != nil {
		release(m.data, m.low, len(m.data))
		m.at, m.low = 0, 0
	}
}
