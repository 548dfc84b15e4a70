package output

import (
	"compress/gzip"
	"io"

	"github.com/klauspost/compress/zstd"

	"github.com/stopwhen/stopwhen/engine/checkpoint"
)

// gzipFrames compresses to members of gzip (RFC 1952, section 2.2).
type gzipFrames struct{}

func (gzipFrames) NewWriter(w io.Writer) checkpoint.FrameWriter { return gzip.NewWriter(w) }

func (gzipFrames) NewReader(r io.Reader) (io.ReadCloser, error) { return gzip.NewReader(r) }

// zstdFrames compresses to frames of Zstandard (RFC 8878, section 3.1).
type zstdFrames struct{}

// zstdWindow bounds the memory of a compressor, in bytes. Items repeat what is near.
const zstdWindow = 1 << 20

func (zstdFrames) NewWriter(w io.Writer) checkpoint.FrameWriter {
	z, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1), zstd.WithLowerEncoderMem(true), zstd.WithWindowSize(zstdWindow),
		zstd.WithZeroFrames(true))
	if err != nil {
		panic(err) // the options are constant
	}
	return z
}

func (zstdFrames) NewReader(r io.Reader) (io.ReadCloser, error) {
	z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	return z.IOReadCloser(), nil
}
