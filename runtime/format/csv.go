package format

import (
	"bufio"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/rules/wording"
	"github.com/stopwhen/stopwhen/runtime/document"
)

// convertCSV converts CSV (RFC 4180) to a list with an object for each row, whose members are in
// the order of the columns. All values are texts: CSV has no other type, and a number would lose
// its leading zeros. Without column names, a row becomes a list of texts.
func (c *Converter) convertCSV(from *bodySource, to *limitedWriter) error {
	defer c.end(from)
	c.original.Lines = true
	limited := &rowReader{from: from}
	buffered := bufio.NewReader(limited)
	r := csv.NewReader(buffered)
	r.Comma, r.FieldsPerRecord, r.ReuseRecord = c.delimiter(from.contentType), -1, true
	if comma := statedDelimiter(buffered); comma != 0 {
		r.Comma = comma
	}
	header, columns, err := c.columns(r)
	if errors.Is(err, io.EOF) {
		return to.write([]byte("[]"))
	}
	if err != nil {
		return csvError(err)
	}
	var members [][]byte
	for _, name := range columns {
		members = append(members, append(value.AppendText(nil, name), ':'))
	}
	out := c.scratch[:0]
	out = append(out, '[')
	for first := true; ; first = false {
		limited.row = r.InputOffset()
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if first && err == nil && header != nil && c.options.Response.Columns == nil {
			err = checkDelimiter(header, row)
		}
		if err == nil && columns != nil && len(row) != len(columns) {
			line, _ := r.FieldPos(0)
			err = fmt.Errorf("line %d has %s, want %d as there are columns", line, wording.Counted(len(row), "field"), len(columns))
		}
		if err != nil {
			return csvError(err)
		}
		if isHeader(row, header) {
			line, _ := r.FieldPos(0)
			row, c.original.Header = header, cmp.Or(c.original.Header, line)
		}
		if !first {
			out = append(out, ',')
		}
		if i := slices.IndexFunc(row, func(text string) bool { return !utf8.ValidString(text) }); i >= 0 {
			line, _ := r.FieldPos(i)
			return fmt.Errorf("line %d, field %d is not text in UTF-8", line, i+1)
		}
		out = appendRow(out, members, row)
		if err := to.write(out); err != nil {
			return err
		}
		out = out[:0]
	}
	c.scratch = out
	return to.write(append(out, ']'))
}

// isHeader reports whether a row equals the header, apart from a byte order mark, as files that were joined have it.
func isHeader(row, header []string) bool {
	return header != nil && len(row) == len(header) && slices.Equal(row[1:], header[1:]) &&
		strings.TrimPrefix(row[0], string(byteOrderMark)) == header[0]
}

// delimiter returns the character between fields.
func (c *Converter) delimiter(contentType string) rune {
	configured := c.options.Response.Delimiter
	if mediaType(contentType) == tabSeparated {
		return cmp.Or(configured, '\t')
	}
	return cmp.Or(configured, ',')
}

// statedDelimiter reads a first line such as "sep=;", in which a file states its delimiter for Excel. It returns 0 if
// there is no such line.
func statedDelimiter(r *bufio.Reader) rune {
	const begin = "sep="
	head, _ := r.Peek(len(begin) + len(";\r\n"))
	if len(head) <= len(begin) || !strings.EqualFold(string(head[:len(begin)]), begin) {
		return 0
	}
	comma, end := rune(head[len(begin)]), len(begin)+1
	if end < len(head) && head[end] == '\r' {
		end++
	}
	if end == len(head) || head[end] != '\n' || !strings.ContainsRune(delimiters+",", comma) {
		return 0
	}
	_, _ = r.Discard(end + 1) // it was peeked
	return comma
}

// delimiters are the characters that files use in place of a comma.
const delimiters = ";\t|"

// checkDelimiter returns an error if the only column and the first row have the same number of another delimiter.
func checkDelimiter(header, row []string) error {
	if len(header) != 1 || len(row) != 1 {
		return nil
	}
	for _, other := range delimiters {
		if n := strings.Count(header[0], string(other)); n > 0 && strings.Count(row[0], string(other)) == n {
			return fmt.Errorf("the header has one column, %s, and the fields seem to be separated by %q: set response.delimiter to %[2]q, "+
				"or response.columns if it is one column", value.Preview(header[0]), string(other))
		}
	}
	return nil
}

// columns returns the header, or nil if there is none, and the names of the columns, from the configuration or
// from the header. The names are nil if the columns have none. The error is io.EOF for an empty file.
func (c *Converter) columns(r *csv.Reader) (header, names []string, err error) {
	o := c.options.Response
	if !o.Header {
		return nil, o.Columns, nil
	}
	row, err := r.Read()
	if err != nil {
		return nil, nil, err
	}
	header = slices.Clone(row)
	c.original.Columns = header
	if o.Columns == nil {
		return header, header, c.checkHeader(header)
	}
	if len(row) != len(o.Columns) {
		return nil, nil, fmt.Errorf("the header has %s, and response.columns %d", wording.Counted(len(row), "column"), len(o.Columns))
	}
	return header, o.Columns, nil
}

// checkHeader checks the names in a header.
func (c *Converter) checkHeader(names []string) error {
	seen := make(map[string]bool, len(names))
	for i, name := range names {
		switch {
		case !utf8.ValidString(name):
			return fmt.Errorf("column %d of the header is not text in UTF-8", i+1)
		case strings.Contains(name, "\r"):
			return fmt.Errorf("column %d of the header has a CR without LF: lines must end in LF or CR LF", i+1)
		case name == "":
			return fmt.Errorf("column %d has no name in the header; name all columns with response.columns", i+1)
		case seen[name]:
			return fmt.Errorf("the header has the column %s twice; name all columns with response.columns", value.Preview(name))
		}
		seen[name] = true
	}
	return nil
}

// appendRow appends a row as an object, or as a list if members is nil.
func appendRow(out []byte, members [][]byte, row []string) []byte {
	before, after := byte('{'), byte('}')
	if members == nil {
		before, after = '[', ']'
	}
	out = append(out, before)
	for i, text := range row {
		if i > 0 {
			out = append(out, ',')
		}
		if members != nil {
			out = append(out, members[i]...)
		}
		out = value.AppendText(out, text)
	}
	return append(out, after)
}

// csvError returns an error with the line and the column.
func csvError(err error) error {
	parse, ok := errors.AsType[*csv.ParseError](err)
	if !ok {
		return err
	}
	if errors.Is(parse.Err, csv.ErrBareQuote) {
		return fmt.Errorf("line %d, column %d: a quote in a field that is not in quotes", parse.Line, parse.Column)
	}
	return fmt.Errorf("line %d: a field of this row has a quote that is neither doubled nor the last", parse.StartLine)
}

// maxRowBytes is the length of the longest row. The reader holds one row in memory, and an unclosed
// quote turns the rest of the file into one row.
const maxRowBytes = 64 << 20

// A rowReader fails in a row that is too long.
type rowReader struct {
	from *bodySource
	row  int64 // offset of the row
}

// Read implements [io.Reader].
func (r *rowReader) Read(p []byte) (int, error) {
	if int64(r.from.at)-r.row > maxRowBytes {
		return 0, &document.SizeError{
			Message: fmt.Sprintf("a row has more than %s", wording.Size(maxRowBytes)), Hint: "a quote may be missing in the file",
		}
	}
	return r.from.Read(p)
}
