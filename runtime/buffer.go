package runtime

import (
	"errors"
	"io"
	"os"
)

// Buffer holds the body of a response, and is used again for the next. Beyond
// spoolBytes the body stands in a temporary file, which is mapped into memory
// as far as it is looked at, where the system can do that.
type Buffer struct {
	data  []byte
	file  *os.File
	size  int    // of the file
	view  []byte // the file in memory; nil: there is none
	aside int    // held bytes from which the file is used
}

// spoolBytes is the size from which a response is put aside into a file, and
// pieceBytes how much is written there at a time.
const (
	spoolBytes = 4 << 20
	pieceBytes = 256 << 10
)

// begin empties the buffer for a body of so many bytes; less than 0: it is not
// known.
func (b *Buffer) begin(size int64) {
	b.Release()
	b.aside = spoolBytes
	switch {
	case size < 0:
		size = 16 << 10
	case size > spoolBytes && canMap:
		size, b.aside = pieceBytes, pieceBytes // no need to hold so much first
	}
	if int64(cap(b.data)) <= size {
		b.data = make([]byte, 0, size+size/8+1) // the next may be larger, and the last read finds the end
	}
	b.data = b.data[:0]
}

// readFrom reads one piece.
func (b *Buffer) readFrom(r io.Reader) (int, error) {
	if len(b.data) == cap(b.data) {
		if cap(b.data) >= b.aside && canMap {
			if err := b.spool(); err != nil {
				return 0, err
			}
		} else {
			b.data = append(make([]byte, 0, 2*cap(b.data)), b.data...)
		}
	}
	n, err := r.Read(b.data[len(b.data):cap(b.data)])
	b.data = b.data[:len(b.data)+n]
	return n, err
}

// spool moves what is held to the file.
func (b *Buffer) spool() error {
	if b.file == nil {
		file, err := os.CreateTemp("", "stopwhen-response-*")
		if err != nil {
			return spoolFault(err)
		}
		_ = os.Remove(file.Name()) // it is gone when it is closed, whatever happens
		b.file = file
	}
	n, err := b.file.Write(b.data)
	b.size += n
	b.data = b.data[:0]
	if err != nil {
		return spoolFault(err)
	}
	return nil
}

func spoolFault(err error) error {
	return &Error{Class: ClassIO, Op: "read", Message: "a large response cannot be put aside: " + err.Error(), Hint: "make room in " + os.TempDir() + ", or set TMPDIR to another folder", Err: err}
}

// end is the whole body. It is valid until the buffer is used again.
func (b *Buffer) end() ([]byte, *window, error) {
	if b.file == nil {
		return b.data, nil, nil
	}
	if err := b.spool(); err != nil {
		return nil, nil, err
	}
	view, err := mapFile(b.file, b.size)
	if err != nil {
		return nil, nil, spoolFault(err)
	}
	b.view = view
	return view, &window{data: view}, nil
}

// Release gives back the file, if there is one. The body is not valid any more.
func (b *Buffer) Release() {
	if b.file == nil {
		return
	}
	_ = errors.Join(unmap(b.view), b.file.Close()) // nothing of it is needed
	b.file, b.view, b.size = nil, nil, 0
}

// len is the size of what was read.
func (b *Buffer) len() int64 { return int64(b.size + len(b.data)) }
