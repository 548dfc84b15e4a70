// Package spool holds response bodies. A small body is in memory. A large one is
// in a temporary file that is mapped into memory one window at a time, so that
// a page of 100 MB needs little more memory than one of 1 MB.
//
// Read buffer.go first, then window.go; map_linux.go maps the file. On other
// systems every body is in memory. The file has no name once it is open, so that
// nothing remains of it, even after a crash.
package spool

import (
	"errors"
	"io"
	"os"

	"github.com/stopwhen/stopwhen/runtime/failure"
)

// A Buffer holds the body of one response, or what was made of it, and is reused for the
// next. The zero Buffer is empty.
type Buffer struct {
	data  []byte
	file  *os.File
	size  int    // of the file
	view  []byte // the mapped file; nil until Body is called
	limit int    // bytes held in memory before the file is used
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
	for rest := p; len(rest) > 0; {
		if err := b.makeRoom(); err != nil {
			return len(p) - len(rest), err
		}
		n := copy(b.data[len(b.data):cap(b.data)], rest)
		b.data, rest = b.data[:len(b.data)+n], rest[n:]
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

// Len returns the number of bytes in the buffer.
func (b *Buffer) Len() int64 { return int64(b.size + len(b.data)) }

// spool moves the bytes in memory to the file.
func (b *Buffer) spool() error {
	if b.file == nil {
		file, err := os.CreateTemp("", "stopwhen-response-*")
		if err != nil {
			return spoolError(err)
		}
		_ = os.Remove(file.Name()) // the open file outlives its name, whatever happens to the process
		b.file = file
	}
	n, err := b.file.Write(b.data)
	b.size += n
	b.data = b.data[:0]
	if err != nil {
		return spoolError(err)
	}
	return nil
}

// spoolError returns the error for a temporary file that cannot be used.
func spoolError(err error) error {
	return &failure.Error{
		Class: failure.IO, Op: "read", Message: "a large response cannot be written to a temporary file: " + err.Error(), Err: err,
		Hint: "free space in " + os.TempDir() + ", or set TMPDIR to another directory",
	}
}

// Body returns everything that was read or written, and the window of a body that is in a
// file (nil for one in memory). Both are valid until the next Reset or Release.
func (b *Buffer) Body() ([]byte, *Window, error) {
	if b.file == nil {
		return b.data, nil, nil
	}
	if err := b.spool(); err != nil {
		return nil, nil, err
	}
	view, err := mapFile(b.file, b.size)
	if err != nil {
		return nil, nil, spoolError(err)
	}
	b.view = view
	return view, &Window{data: view}, nil
}

// Release closes the file, if there is one. The body is no longer valid.
func (b *Buffer) Release() {
	if b.file == nil {
		return
	}
	_ = errors.Join(unmap(b.view), b.file.Close()) // the file is deleted, so nothing can be lost
	b.file, b.view, b.size = nil, nil, 0
}

// Trim releases the file, and what is in memory if that is more than some bytes. The body is no
// longer valid.
func (b *Buffer) Trim(most int) {
	b.Release()
	if cap(b.data) > most {
		b.data = nil
	}
}
