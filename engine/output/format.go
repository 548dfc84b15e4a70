package output

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/stopwhen/stopwhen/engine/checkpoint"
)

// A Format describes how items are written and compressed. Its text is a file name ending:
// "ndjson", "csv.gz", "singer.zst", "parquet". The zero Format is NDJSON.
type Format struct {
	Kind        Kind
	Compression Compression
}

// A Kind is the form of items in a file.
type Kind string

// Kinds of formats.
const (
	NDJSON Kind = "ndjson" // one item per line, as the API sent it; "" means the same
	CSV    Kind = "csv"    // one item per row, its nested members in columns
	Singer Kind = "singer" // messages SCHEMA, RECORD and STATE of the Singer specification

	// Parquet is a table like CSV, with types, and is always compressed. Its rows are NDJSON until
	// they are published.
	Parquet Kind = "parquet"
)

// A Compression is a file name ending: "gz", "zst", or "" for no compression.
type Compression string

// Values of [Compression].
const (
	Plain Compression = ""
	Gzip  Compression = "gz"
	Zstd  Compression = "zst"
)

// Formats returns the texts of all formats.
func Formats() []string {
	var names []string
	for _, kind := range []Kind{NDJSON, CSV, Singer, Parquet} {
		for _, c := range []Compression{Plain, Gzip, Zstd} {
			if kind != Parquet || c == Plain {
				names = append(names, Format{kind, c}.String())
			}
		}
	}
	return names
}

// ParseFormat returns the format of a text such as "csv.gz".
func ParseFormat(text string) (Format, error) {
	kind, ending, _ := strings.Cut(text, ".")
	if slices.Contains(Formats(), text) {
		return Format{Kind(kind), Compression(ending)}, nil
	}
	if kind == string(Parquet) {
		return Format{}, fmt.Errorf("want parquet, whose columns are compressed with Zstandard, got %q", text)
	}
	return Format{}, fmt.Errorf("want parquet, or ndjson, csv or singer, each of these also with .gz or .zst, such as csv.gz, got %q", text)
}

// String returns the file name ending of the format.
func (f Format) String() string {
	text := string(f.kind())
	if f.Compression != Plain {
		text += "." + string(f.Compression)
	}
	return text
}

func (f Format) kind() Kind { return cmp.Or(f.Kind, NDJSON) }

// check returns an error if the format does not exist.
func (f Format) check() error {
	_, err := ParseFormat(f.String())
	return err
}

var compressions = map[Compression]checkpoint.Compression{Gzip: gzipFrames{}, Zstd: zstdFrames{}}

// compression returns the compression of a file, or nil for an uncompressed file.
func (f Format) compression() checkpoint.Compression { return compressions[f.Compression] }

// IsTable reports whether the items of a stream or a file are one table, whose columns are known when
// the last item has arrived.
func (f Format) IsTable() bool { return f.kind() == CSV || f.kind() == Parquet }

// countRows returns the number of items in a file of the format, without its compression.
func (f Format) countRows(file io.Reader) (n int64, err error) {
	if f.kind() == Parquet {
		table, err := openParquet(file)
		if err != nil {
			return 0, err
		}
		return table.NumRows(), nil
	}
	next := lineReader(file, "")
	switch f.kind() {
	case Singer:
		next = lineReader(file, recordStart)
	case CSV:
		table := csv.NewReader(file)
		table.ReuseRecord, table.FieldsPerRecord = true, -1
		next = func() (bool, error) { _, err := table.Read(); return true, err }
		n = -1 // the header
	}
	for {
		row, err := next()
		switch {
		case errors.Is(err, io.EOF):
			return max(0, n), nil
		case err != nil:
			return 0, err
		case row:
			n++
		}
	}
}

// lineReader returns a function that reads the next line, or a part of it, and reports whether an
// item begins there: a line that is not empty and has the prefix.
func lineReader(file io.Reader, prefix string) func() (bool, error) {
	lines, begins := bufio.NewReaderSize(file, 64<<10), true
	return func() (bool, error) {
		piece, err := lines.ReadSlice('\n')
		row := begins && len(piece) > 0 && bytes.HasPrefix(piece, []byte(prefix))
		begins = !errors.Is(err, bufio.ErrBufferFull)
		if !begins || len(piece) > 0 {
			err = nil // the end of the file comes with the next call
		}
		return row, err
	}
}

// gzipFrames writes members of gzip (RFC 1952, section 2.2).
type gzipFrames struct{}

func (gzipFrames) NewWriter(w io.Writer) checkpoint.FrameWriter { return gzip.NewWriter(w) }

func (gzipFrames) NewReader(r io.Reader) (io.ReadCloser, error) { return gzip.NewReader(r) }

// zstdFrames writes frames of Zstandard (RFC 8878, section 3.1).
type zstdFrames struct{}

// zstdWindow limits the memory of a compressor, in bytes. A small window suffices because items
// repeat nearby text.
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
