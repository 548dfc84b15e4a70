package output

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/stopwhen/stopwhen/rules/wording"
)

// countRecords returns the number of records of a CSV file, without the header.
func countRecords(file io.Reader) (n int64, err error) {
	table := csv.NewReader(file)
	table.ReuseRecord, table.FieldsPerRecord = true, -1
	for n = -2; err == nil; n++ { // neither the header nor the end is a record
		_, err = table.Read()
	}
	if !errors.Is(err, io.EOF) {
		return 0, err
	}
	return max(0, n), nil
}

// checkCSV returns the columns of a CSV file, and checks that rows can be added.
func checkCSV(file io.Reader) (head, error) {
	var header bytes.Buffer
	columns, err := readHeader(io.TeeReader(file, &header))
	if err == nil {
		err = checkQuotes(io.MultiReader(&header, file))
	}
	return head{columns: columns}, err
}

// readHeader returns the columns of a CSV file.
func readHeader(file io.Reader) ([]string, error) {
	var raw bytes.Buffer
	r := csv.NewReader(io.TeeReader(withoutMark(file), &raw)) // before a quote
	columns, err := r.Read()
	if line, _, _ := bytes.Cut(raw.Bytes(), newline); !utf8.Valid(line) || hasUnquoted(line, 0) {
		return nil, errors.New("the header is not UTF-8 text")
	}
	if errors.Is(err, io.EOF) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("the header: %w", err)
	}
	if i := strings.IndexAny(columns[0], ";\t|"); i >= 0 && len(columns) == 1 {
		return nil, fmt.Errorf("the columns of the header seem to be separated by %q instead of a comma", columns[0][i])
	}
	if strings.HasPrefix(columns[0], "sep=") {
		return nil, fmt.Errorf("the first line is %s, for a spreadsheet, and not the header", strings.Join(columns, ","))
	}
	if hasUnquoted(bytes.TrimRight(raw.Bytes()[:r.InputOffset()], "\r\n"), '\r') { // not the end of a line for any reader here
		return nil, errors.New("the lines end in CR instead of LF or CR LF")
	}
	for i, name := range columns {
		if slices.Contains(columns[:i], name) {
			return nil, fmt.Errorf("the header has two columns with the name %q", name)
		}
	}
	return columns, nil
}

// hasUnquoted reports whether a header has a byte outside of quoted names.
func hasUnquoted(header []byte, b byte) bool {
	for i, text := range bytes.Split(header, []byte{'"'}) {
		if i%2 == 0 && bytes.IndexByte(text, b) >= 0 {
			return true
		}
	}
	return false
}

const byteOrderMark = "\ufeff"

// checkQuotes returns an error if a CSV file ends within a quoted value, because added data would
// belong to that value.
func checkQuotes(file io.Reader) error {
	var q quotes
	piece := make([]byte, 64<<10)
	for {
		n, err := file.Read(piece)
		q.read(piece[:n])
		switch {
		case errors.Is(err, io.EOF) && q.quoted:
			return fmt.Errorf("the file ends within a quoted value, which begins on line %d", q.line)
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
}

// quotes tracks the quotes of a CSV file that is read in pieces.
type quotes struct {
	last   byte // last byte before the piece; 0 at the beginning
	quoted bool // whether the piece begins within a quoted value
	commas int  // number of commas outside of quoted values before the piece
	lines  int  // number of lines before the piece
	line   int  // line of the last quote that opened a value, from 1
}

func (q *quotes) read(piece []byte) {
	for len(piece) > 0 {
		text, rest, isQuote := bytes.Cut(piece, []byte{'"'})
		if !q.quoted {
			q.commas += bytes.Count(text, []byte{','})
		}
		q.lines += bytes.Count(text, newline)
		if len(text) > 0 {
			q.last = text[len(text)-1]
		}
		if isQuote {
			q.quote()
		}
		piece = rest
	}
}

// quote handles a quote. A quote opens a value at the beginning of a field, and reopens it after a
// quote that seemed to close it.
func (q *quotes) quote() {
	opens := !q.quoted && (q.last == 0 || q.last == ',' || q.last == '\n')
	if opens {
		q.line = q.lines + 1
	}
	q.quoted = opens || !q.quoted && q.last == '"'
	q.last = '"'
}

// rewriteCSV writes a header followed by the records of two files whose columns are a prefix of
// columns. before may be nil, and has no record with more fields than its header. older and newer
// select the records of each file; nil selects all.
func rewriteCSV(to io.Writer, columns []string, before, rows io.Reader, older, newer func(record []byte) (bool, error)) error {
	w := bufio.NewWriterSize(to, 64<<10)
	if _, err := w.Write(appendHeader(nil, columns)); err != nil {
		return err
	}
	if before != nil {
		if err := copyRecords(w, before, len(columns), 0, older); err != nil {
			return fmt.Errorf("the file that rows are added to: %w", err)
		}
	}
	if err := copyRecords(w, rows, len(columns), len(columns), newer); err != nil {
		return err
	}
	return w.Flush()
}

// copyRecords copies the records of a CSV file, except the first, and pads records with fewer than
// all columns with empty fields. A record with more fields than limit, or than the first record if
// limit is 0, is an error. Copied records keep their bytes, but lines end in LF.
func copyRecords(w *bufio.Writer, file io.Reader, columns, limit int, selects func(record []byte) (bool, error)) error {
	r := recordReader{file: bufio.NewReaderSize(file, 64<<10)}
	for number := 1; ; number++ {
		record, fields, err := r.read()
		switch {
		case err != nil && !errors.Is(err, io.EOF):
			return err
		case r.quotes.quoted:
			return fmt.Errorf("record %d has a quote that does not end", number)
		case err != nil && len(record) == 0:
			return nil
		case limit == 0:
			limit = fields
		}
		if fields > limit {
			return fmt.Errorf("record %d has %s, but the header has %s", number, wording.Counted(fields, "field"), wording.Counted(limit, "column"))
		}
		if len(record) > 0 { // an empty line is not a record
			record = append(record, bytes.Repeat([]byte{','}, columns-fields)...)
		}
		if number == 1 {
			continue
		}
		if selects != nil && len(record) > 0 {
			switch selected, err := selects(record); {
			case err != nil:
				return err
			case !selected:
				continue
			}
		}
		if _, err := w.Write(append(record, '\n')); err != nil {
			return err
		}
	}
}

// A recordReader reads the unmodified records of a CSV file.
type recordReader struct {
	file     *bufio.Reader
	quotes   quotes
	record   []byte
	unquoted bool // quotes have no meaning, so a record is a line
}

// read returns the next record without its line ending, and the number of its fields. The record
// is valid until the next call. At the end of the file the error is io.EOF, possibly with a last
// record that has no line ending.
func (r *recordReader) read() (record []byte, fields int, err error) {
	r.record, r.quotes.commas = r.record[:0], 0
	for more := true; more; more = errors.Is(err, bufio.ErrBufferFull) || err == nil && r.quotes.quoted {
		var piece []byte
		piece, err = r.file.ReadSlice('\n')
		if !r.unquoted {
			r.quotes.read(piece)
		}
		r.record = append(r.record, piece...)
	}
	return bytes.TrimSuffix(bytes.TrimSuffix(r.record, newline), []byte{'\r'}), r.quotes.commas + 1, err
}
