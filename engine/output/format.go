package output

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/stopwhen/stopwhen/engine/checkpoint"
	"github.com/stopwhen/stopwhen/rules/wording"
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

// An itemFormat has the properties of a format, and its encoder.
type itemFormat struct {
	kind       Kind
	compressed string // how errors say that the format compresses its files itself; "" if it does not
	table      bool   // see [Format.IsTable]
	whole      bool   // whether the rows are NDJSON until they are published; a file has no lines, and has the number of its rows

	new   func(e encoding, to rowWriter, dataType string, before head) encoder // before: the columns of the file that rows are added to
	count func(file io.Reader) (int64, error)                                  // returns the number of items in a file
	check func(file io.Reader) (head, error)                                   // checks that rows can be added to a file; or nil
	state func(to rowWriter, kept map[string]json.RawMessage) error            // writes the values for the next run; or nil
}

// formats are the formats of items. The first is the default.
var formats = []itemFormat{
	{kind: NDJSON, new: newNDJSON, count: countLines(""), check: checkFirstLine},
	{kind: CSV, table: true, new: newCSV, count: countRecords, check: checkCSV},
	{kind: Singer, new: newSinger, count: countLines(recordStart), state: writeState},
	{kind: Parquet, compressed: "whose columns are compressed with Zstandard", table: true, whole: true,
		new: newParquet, count: countParquet, check: checkParquet},
}

// Formats returns the texts of all formats.
func Formats() []string {
	var names []string
	for _, f := range formats {
		for _, c := range []Compression{Plain, Gzip, Zstd} {
			if f.compressed == "" || c == Plain {
				names = append(names, Format{f.kind, c}.String())
			}
		}
	}
	return names
}

// Kinds returns the kinds of the formats that have a property, such as [Format.IsTable].
func Kinds(have func(Format) bool) (kinds []string) {
	for _, f := range formats {
		if have(Format{Kind: f.kind}) {
			kinds = append(kinds, string(f.kind))
		}
	}
	return kinds
}

// FormatHelp returns the texts of all formats in words, for a help text.
func FormatHelp() string {
	return fmt.Sprintf("%s; .gz or .zst compresses all but %s: csv.gz",
		wording.OrList(Kinds(func(Format) bool { return true })), wording.OrList(Kinds(Format.compressesItself)))
}

// ParseFormat returns the format of a text such as "csv.gz".
func ParseFormat(text string) (Format, error) {
	kind, ending, _ := strings.Cut(text, ".")
	f := Format{Kind(kind), Compression(ending)}
	switch {
	case slices.Contains(Formats(), text):
		return f, nil
	case f.compressesItself():
		return Format{}, fmt.Errorf("want %s, %s, got %q", kind, f.row().compressed, text)
	}
	return Format{}, fmt.Errorf("want %s, or %s, each of these also with .gz or .zst, such as csv.gz, got %q",
		wording.OrList(Kinds(Format.compressesItself)), wording.OrList(Kinds(func(f Format) bool { return !f.compressesItself() })), text)
}

// String returns the file name ending of the format.
func (f Format) String() string {
	text := string(cmp.Or(f.Kind, NDJSON))
	if f.Compression != Plain {
		text += "." + string(f.Compression)
	}
	return text
}

// row returns the row of the format in formats.
func (f Format) row() *itemFormat {
	return &formats[max(0, slices.IndexFunc(formats, func(row itemFormat) bool { return row.kind == f.Kind }))]
}

func (f Format) compressesItself() bool { return f.row().compressed != "" }

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
func (f Format) IsTable() bool { return f.row().table }

// CarriesState reports whether the items are messages, and others among them have the values for the next run.
func (f Format) CarriesState() bool { return f.row().state != nil }

// countLines returns a function that returns the number of lines of a file that have a prefix.
func countLines(prefix string) func(file io.Reader) (int64, error) {
	return func(file io.Reader) (n int64, err error) {
		lines, begins := bufio.NewReaderSize(file, 64<<10), true
		for {
			piece, err := lines.ReadSlice('\n')
			if begins && len(piece) > 0 && bytes.HasPrefix(piece, []byte(prefix)) {
				n++
			}
			switch begins = !errors.Is(err, bufio.ErrBufferFull); {
			case errors.Is(err, io.EOF):
				return n, nil
			case err != nil && begins:
				return 0, err
			}
		}
	}
}

// gzipFrames writes members of gzip (RFC 1952, section 2.2).
type gzipFrames struct{}

func (gzipFrames) NewWriter(w io.Writer) checkpoint.FrameWriter { return gzip.NewWriter(w) }

func (gzipFrames) NewReader(r io.Reader) (io.ReadCloser, error) { return gzip.NewReader(r) }

// zstdFrames writes frames of Zstandard (RFC 8878, section 3.1).
type zstdFrames struct{}

// zstdWindow limits the memory of a compressor, in bytes: it holds two windows. A small window suffices because items
// repeat nearby text.
const zstdWindow = 1 << 20

func (zstdFrames) NewWriter(w io.Writer) checkpoint.FrameWriter {
	z, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(zstdWindow),
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
