package output

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/rules/value"
)

// readHeader returns the columns of a file of CSV.
func readHeader(file io.Reader) ([]string, error) {
	r := csv.NewReader(file)
	columns, err := r.Read()
	if errors.Is(err, io.EOF) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("the header: %w", err)
	}
	columns[0] = strings.TrimPrefix(columns[0], byteOrderMark)
	if i := strings.IndexAny(columns[0], ";\t|"); i >= 0 && len(columns) == 1 {
		return nil, fmt.Errorf("the columns of the header seem to be separated by %q instead of a comma", columns[0][i])
	}
	for i, name := range columns {
		if slices.Contains(columns[:i], name) {
			return nil, fmt.Errorf("the header has two columns with the name %q", name)
		}
	}
	return columns, nil
}

const byteOrderMark = "\ufeff"

// rewriteCSV writes a header, and below it the records of two files whose columns it
// begins with. The file before may be nil, and has no record with more fields than its
// header.
func rewriteCSV(to io.Writer, columns []string, before, rows io.Reader) error {
	w := bufio.NewWriterSize(to, 64<<10)
	if _, err := w.Write(appendHeader(nil, columns)); err != nil {
		return err
	}
	if before != nil {
		p := &padder{w: w, columns: len(columns), fields: 1}
		if err := p.copy(before); err != nil {
			return fmt.Errorf("the file that rows are added to: %w", err)
		}
	}
	p := &padder{w: w, columns: len(columns), fields: 1, limit: len(columns)}
	if err := p.copy(rows); err != nil {
		return err
	}
	return w.Flush()
}

// padder copies the records of a file of CSV, except the first, and adds empty fields to
// those that have fewer than all columns. What it copies keeps its bytes.
type padder struct {
	w       *bufio.Writer
	columns int
	limit   int // fields of a record; 0: those of the first one

	records int  // that are complete
	fields  int  // of the record
	bytes   int  // of the record
	quoted  bool // inside of a quoted field
	cr      bool // a CR waits for LF
	last    byte // of the field; 0 at its beginning
}

func (p *padder) copy(file io.Reader) error {
	r := bufio.NewReaderSize(file, 64<<10)
	for {
		c, err := r.ReadByte()
		if errors.Is(err, io.EOF) {
			return p.end()
		}
		if err != nil {
			return err
		}
		if err := p.byte(c); err != nil {
			return err
		}
	}
}

// end ends the last record, if it has no newline.
func (p *padder) end() error {
	if p.quoted {
		return fmt.Errorf("record %d has a quote that does not end", p.records+1)
	}
	if p.bytes == 0 {
		return nil
	}
	return p.byte('\n')
}

func (p *padder) byte(c byte) error {
	if p.cr && c != '\n' {
		if err := p.put('\r'); err != nil {
			return err
		}
	}
	p.cr = false
	switch {
	case c == '"':
		// At the beginning of a field, and after the quote that seemed to be its end.
		p.quoted = !p.quoted && (p.last == 0 || p.last == '"')
	case p.quoted:
	case c == ',':
		p.fields++
		p.bytes++
		p.last = 0
		return p.put(c)
	case c == '\r':
		p.cr = true // lines end in LF
		return nil
	case c == '\n':
		return p.endRecord()
	}
	p.last = c
	p.bytes++
	return p.put(c)
}

// endRecord adds the missing fields. An empty line is not a record.
func (p *padder) endRecord() error {
	if p.limit == 0 {
		p.limit = p.fields
	}
	if p.fields > p.limit {
		return fmt.Errorf("record %d has %s, but the header has %s", p.records+1,
			value.Counted(p.fields, "field"), value.Counted(p.limit, "column"))
	}
	if p.bytes > 0 {
		for range p.columns - p.fields {
			if err := p.put(','); err != nil {
				return err
			}
		}
	}
	if err := p.put('\n'); err != nil {
		return err
	}
	p.records++
	p.fields, p.bytes, p.last = 1, 0, 0
	return nil
}

// put writes a byte, unless it belongs to the header.
func (p *padder) put(c byte) error {
	if p.records == 0 {
		return nil
	}
	return p.w.WriteByte(c)
}
