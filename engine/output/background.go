package output

import (
	"io"

	"github.com/stopwhen/stopwhen/engine/checkpoint"
)

// background is a compression whose writers compress on another core than the one that judges and writes the pages.
type background struct{ checkpoint.Compression }

func (b background) NewWriter(w io.Writer) checkpoint.FrameWriter {
	return &backgroundWriter{frame: b.Compression.NewWriter(w)}
}

// pieceBytes is the size of the pieces that are compressed in the background.
const pieceBytes = 256 << 10

// A backgroundWriter fills a piece while the one before it is compressed. An error is returned by the next Write that ends a
// piece, or by Close.
type backgroundWriter struct {
	frame  checkpoint.FrameWriter
	filled []byte     // of the next piece
	spare  []byte     // the piece that is compressed, or was
	result chan error // receives the result of the piece that is compressed; nil if there is none
}

func (b *backgroundWriter) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		n := min(len(rest), pieceBytes-len(b.filled))
		b.filled, rest = append(b.filled, rest[:n]...), rest[n:]
		if len(b.filled) < pieceBytes {
			break
		}
		if err := b.wait(); err != nil {
			return 0, err
		}
		b.filled, b.spare = b.spare[:0], b.filled
		b.result = make(chan error, 1)
		go func(piece []byte, result chan<- error) {
			_, err := b.frame.Write(piece)
			result <- err
		}(b.spare, b.result)
	}
	return len(p), nil
}

// wait waits until nothing is compressed, and returns the error of the last piece.
func (b *backgroundWriter) wait() error {
	if b.result == nil {
		return nil
	}
	err := <-b.result
	b.result = nil
	return err
}

func (b *backgroundWriter) Close() error {
	err := b.wait()
	if err == nil && len(b.filled) > 0 {
		_, err = b.frame.Write(b.filled)
	}
	b.filled = b.filled[:0]
	if err != nil {
		return err
	}
	return b.frame.Close()
}

func (b *backgroundWriter) Reset(w io.Writer) {
	_ = b.wait() // the frame is discarded
	b.filled = b.filled[:0]
	b.frame.Reset(w)
}
