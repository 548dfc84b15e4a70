package output

import (
	"errors"
	"io"

	"github.com/parquet-go/parquet-go"

	"github.com/stopwhen/stopwhen/runtime/spool"
)

// pagePool holds the pages of a row group in a temporary file, so that the memory of the writer does not
// grow with the row group. It is a [parquet.BufferPool] of one buffer for each column.
type pagePool struct {
	file    spool.File
	pending []byte // written to the file next
	used    int    // number of buffers that are used
}

// maxPending is the number of bytes that are written to the file at once.
const maxPending = 256 << 10

func newPagePool() *pagePool { return &pagePool{file: spool.File{Holds: "a row group"}} }

// GetBuffer returns an empty buffer.
func (p *pagePool) GetBuffer() io.ReadWriteSeeker {
	p.used++
	return &pageBuffer{pool: p}
}

// PutBuffer takes a buffer back. The last one releases the space in the file.
func (p *pagePool) PutBuffer(io.ReadWriteSeeker) {
	if p.used--; p.used == 0 {
		p.close()
	}
}

func (p *pagePool) close() {
	p.pending = p.pending[:0]
	p.file.Close()
}

func (p *pagePool) flush() error {
	if len(p.pending) == 0 {
		return nil
	}
	_, err := p.file.Write(p.pending)
	p.pending = p.pending[:0]
	return err
}

// A pageBuffer holds the pages of a column.
type pageBuffer struct {
	pool  *pagePool
	parts []section // of the file
	read  int       // number of parts that were read
	at    int64     // position in the next one
}

var _ parquet.BufferPool = (*pagePool)(nil)

// Write adds to the pages.
func (b *pageBuffer) Write(text []byte) (int, error) {
	p := b.pool
	start := p.file.Size() + int64(len(p.pending))
	p.pending = append(p.pending, text...)
	end := start + int64(len(text))
	if last := len(b.parts) - 1; last >= 0 && b.parts[last].end == start {
		b.parts[last].end = end
	} else {
		b.parts = append(b.parts, section{start: start, end: end})
	}
	if len(p.pending) < maxPending {
		return len(text), nil
	}
	return len(text), p.flush()
}

// Seek goes to the beginning of the pages, which is the only place that the writer seeks.
func (b *pageBuffer) Seek(int64, int) (int64, error) {
	b.read, b.at = 0, 0
	return 0, b.pool.flush()
}

// Read reads on.
func (b *pageBuffer) Read(text []byte) (int, error) {
	if b.read == len(b.parts) {
		return 0, io.EOF
	}
	part := b.parts[b.read]
	n := int(min(int64(len(text)), part.end-part.start-b.at))
	n, err := b.pool.file.ReadAt(text[:n], part.start+b.at)
	if b.at += int64(n); b.at == part.end-part.start {
		b.read, b.at = b.read+1, 0
	}
	if errors.Is(err, io.EOF) && n > 0 {
		err = nil
	}
	return n, err
}
