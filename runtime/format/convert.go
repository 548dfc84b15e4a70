package format

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"unicode/utf8"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/requests"
	"github.com/stopwhen/stopwhen/rules/wording"
	"github.com/stopwhen/stopwhen/runtime/document"
	"github.com/stopwhen/stopwhen/runtime/document/scan"
	"github.com/stopwhen/stopwhen/runtime/spool"
)

// Options determine how the bodies of a job are converted.
type Options struct {
	Response rules.ResponseFormat // format of the responses
	Lists    [][]string           // paths of XML elements that become a list even if there is at most one
	MaxBytes int64                // size of the JSON; 0 means no limit
	MaxDepth int                  // nesting of XML elements, and of values in a line; 0 means 10,000
}

// A Body is a decompressed response body.
type Body struct {
	Status      int    // HTTP status; from 400 on, only XML is converted
	ContentType string // HTTP content type; empty if unknown
	Data        []byte
	Mapping     *spool.Mapping // mapping of a body in a file; nil for a body in memory
	Unframed    bool           // whether only the end of the connection marked the end of the body
}

// A Converter converts the bodies of one job to JSON. It reuses memory from body to body.
type Converter struct {
	options  Options
	lists    *scan.Node
	line     *scan.Scanner // for NDJSON
	scratch  []byte
	open     []*element        // for XML; elements beyond the current depth are reused
	held     int               // size of the XML document in memory
	original document.Original // of the last body
}

// Original describes the last body. A nil Converter returns the zero Original.
func (c *Converter) Original() document.Original {
	if c == nil {
		return document.Original{}
	}
	return c.original
}

// NewConverter returns a converter, or nil for a job whose format is JSON.
func NewConverter(o Options) *Converter {
	if o.Response.Format == rules.FormatJSON {
		return nil
	}
	o.MaxBytes, o.MaxDepth = cmp.Or(o.MaxBytes, math.MaxInt64), cmp.Or(o.MaxDepth, 10_000)
	return &Converter{options: o, lists: newListTree(o.Lists), held: heldBytes, line: scan.New(scan.Targets{MaxDepth: o.MaxDepth})}
}

// Convert converts a body to JSON in the buffer, which it resets. It reports false, and writes
// nothing, if the body is JSON, or an error response that is not XML. Its error names the line.
// Beyond a limit it is a [*document.DepthError] or a [*document.SizeError].
func (c *Converter) Convert(b Body, buffer *spool.Buffer) (converted bool, err error) {
	c.original = document.Original{}
	if b.Status == http.StatusNoContent {
		return false, nil
	}
	read, err := c.conversionFor(b)
	if read == nil || err != nil {
		return false, err
	}
	buffer.Reset(-1)
	w := &limitedWriter{to: buffer, limit: c.options.MaxBytes}
	err = read(c, newSource(b), w)
	if b.Status >= http.StatusBadRequest && err != nil && !errors.As(err, new(*document.SizeError)) {
		return false, nil
	}
	return err == nil, err
}

// A conversion reads a body and writes it as JSON.
type conversion = func(*Converter, *bodySource, *limitedWriter) error

var conversions = map[rules.Format]conversion{
	rules.FormatNDJSON: (*Converter).convertLines, rules.FormatCSV: (*Converter).convertCSV, rules.FormatXML: (*Converter).convertXML,
}

// conversionFor returns the conversion for a body, or nil if the body is read unchanged.
func (c *Converter) conversionFor(b Body) (conversion, error) {
	if b.Status >= http.StatusBadRequest {
		if head := beginning(b.Data); typeOf(b.ContentType) == rules.FormatXML || looksLikeXML(head) {
			return (*Converter).convertXML, nil
		}
		return nil, nil
	}
	format, err := c.formatOf(b)
	if err != nil {
		return nil, err
	}
	if o := c.options; o.Response.Format == rules.FormatAuto { // dataField may not be a path in the detected format
		if format == rules.FormatJSON && len(o.Lists) == 0 && typeOf(b.ContentType) == "" && isOneLine(b.Data) {
			return nil, errors.New("the response is one object in one line, which may be a document or a line of NDJSON; " +
				"set response.format to json or ndjson")
		}
		o.Response.Format = format
		if problem := o.Response.PathProblem(o.Lists); problem != "" {
			return nil, errors.New(problem)
		}
	}
	return conversions[format], nil
}

// Accept returns the value of the header Accept for a format.
func Accept(format rules.Format) string { return cmp.Or(accepted[format], requests.AcceptJSON) }

var accepted = map[rules.Format]string{
	rules.FormatNDJSON: "application/x-ndjson, application/jsonl, */*;q=0.5",
	rules.FormatCSV:    "text/csv, */*;q=0.5",
	rules.FormatXML:    "application/xml, text/xml;q=0.9, */*;q=0.5",
}

// MayBeEmpty reports whether an empty body with a content type is a page without items.
func (c *Converter) MayBeEmpty(contentType string) bool {
	if c == nil {
		return false
	}
	format := c.options.Response.Format
	if format == rules.FormatAuto {
		format = typeOf(contentType)
	}
	return format.IsLines()
}

// A limitedWriter writes JSON up to a limit.
type limitedWriter struct {
	to    *spool.Buffer
	limit int64
}

// write writes a piece of the document.
func (w *limitedWriter) write(piece []byte) error {
	if w.to.Len()+int64(len(piece)) > w.limit {
		return &document.SizeError{
			Message: fmt.Sprintf("the response has more than %s when it is written as JSON", wording.Size(int(w.limit))),
			Hint:    "raise api.http.maxBodyBytes, or request smaller pages",
		}
	}
	_, err := w.to.Write(piece)
	return err
}

// Write implements [io.Writer].
func (w *limitedWriter) Write(p []byte) (int, error) { return len(p), w.write(p) }

// A bodySource reads a body. It holds one part of a body in a file in memory.
type bodySource struct {
	data    []byte // without the byte order mark
	skip    int    // length of the byte order mark
	at      int    // offset of the next byte
	mapping *spool.Mapping

	contentType string
	unframed    bool
	wide        bool // whether a character that was read has several bytes
}

func newSource(b Body) *bodySource {
	data := bytes.TrimPrefix(b.Data, byteOrderMark)
	b.Mapping.Rewind()
	return &bodySource{data: data, skip: len(b.Data) - len(data), mapping: b.Mapping, contentType: b.ContentType, unframed: b.Unframed}
}

// end notes how the body ends.
func (c *Converter) end(from *bodySource) {
	if n := len(from.data); n > 0 { // a CR may be half of the end of a line
		last := from.data[n-1]
		c.original.Ended, c.original.Open = last == '\n', last != '\n' && last != '\r'
	}
	c.original.Unframed, c.original.Wide = from.unframed, from.wide
}

// advance sets the offset of the next byte.
func (s *bodySource) advance(to int) {
	s.wide = s.wide || hasWide(s.data[s.at:to])
	s.at = to
	s.mapping.Pass(s.skip+to, s.skip+to)
}

// hasWide reports whether a piece of UTF-8 has a byte of a character of several bytes.
func hasWide(piece []byte) bool {
	const eight = 8
	for ; len(piece) >= eight; piece = piece[eight:] {
		if binary.NativeEndian.Uint64(piece)&0x8080808080808080 != 0 {
			return true
		}
	}
	return slices.ContainsFunc(piece, func(b byte) bool { return b >= utf8.RuneSelf })
}

// Read implements [io.Reader].
func (s *bodySource) Read(p []byte) (int, error) {
	n := copy(p, s.data[s.at:])
	if n == 0 && len(p) > 0 {
		return 0, io.EOF
	}
	s.advance(s.at + n)
	return n, nil
}

// convertLines converts NDJSON (also named JSON Lines) and JSON text sequences (RFC 7464) to a
// list. Each line is one value, which keeps its bytes. Blank lines are ignored.
func (c *Converter) convertLines(from *bodySource, to *limitedWriter) error {
	c.original.Lines = true
	defer c.end(from)
	if err := to.write([]byte("[")); err != nil {
		return err
	}
	separator, number := []byte(nil), 0
	for whole := range bytes.Lines(from.data) {
		number++
		line := trimLine(whole)
		if len(line) > 0 {
			if err := c.line.Scan(line); err != nil {
				return lineError(number, !bytes.HasSuffix(whole, []byte("\n")), err)
			}
			if from.unframed && !bytes.HasSuffix(whole, []byte("\n")) && (line[0] == '-' || line[0] >= '0' && line[0] <= '9') {
				return fmt.Errorf("line %d, the last one, may be cut off: it is a number without the end of a line, "+
					"and the response ends with its connection", number)
			}
			if err := errors.Join(to.write(separator), to.write(line)); err != nil {
				return err
			}
			separator = []byte(",")
		}
		from.advance(from.at + len(whole))
	}
	return to.write([]byte("]"))
}

// trimLine removes the white space around a line, and the record separator before a text of a
// sequence.
func trimLine(line []byte) []byte {
	const recordSeparator = "\x1e"
	return bytes.Trim(bytes.TrimPrefix(line, []byte(recordSeparator)), " \t\r\n")
}

// lineError returns the error for a line that is not exactly one JSON value.
func lineError(number int, last bool, err error) error {
	switch syntax, _ := errors.AsType[*scan.SyntaxError](err); {
	case errors.As(err, new(*document.DepthError)):
		return fmt.Errorf("line %d: %w", number, err)
	case last && syntax != nil && syntax.Cut:
		return fmt.Errorf("line %d, the last one, is cut off: %w", number, err)
	case last:
		return fmt.Errorf("line %d, the last one, is not a JSON value, and may have been cut off: %w", number, err)
	}
	return fmt.Errorf("line %d is not a JSON value: %w", number, err)
}
