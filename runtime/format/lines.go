package format

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/stopwhen/stopwhen/runtime/document"
)

// lines converts NDJSON (also named JSON Lines) and JSON text sequences (RFC 7464) to a
// list. Each line is one value, which keeps its bytes; blank lines are ignored.
func (c *Converter) lines(from *source, to *writer) error {
	if err := to.write([]byte("[")); err != nil {
		return err
	}
	separator := []byte(nil)
	for number := 1; from.at < len(from.data); number++ {
		end := bytes.IndexByte(from.data[from.at:], '\n')
		last := end < 0
		if last {
			end = len(from.data) - from.at
		}
		line := trimLine(from.data[from.at : from.at+end])
		if len(line) > 0 {
			if err := c.check.Check(line, c.options.MaxDepth); err != nil {
				return lineError(number, last, err)
			}
			if err := errors.Join(to.write(separator), to.write(line)); err != nil {
				return err
			}
			separator = []byte(",")
		}
		from.advance(min(from.at+end+1, len(from.data)))
	}
	return to.write([]byte("]"))
}

// trimLine removes white space around a line, and the record separator before a text of
// a sequence.
func trimLine(line []byte) []byte {
	const recordSeparator = "\x1e"
	return bytes.Trim(bytes.TrimPrefix(line, []byte(recordSeparator)), " \t\r")
}

// lineError returns the error for a line that is not one JSON value.
func lineError(number int, last bool, err error) error {
	switch {
	case errors.As(err, new(*document.DepthError)):
		return fmt.Errorf("line %d: %w", number, err)
	case last:
		return fmt.Errorf("line %d, the last one, is not a JSON value, and may have been cut off: %w", number, err)
	}
	return fmt.Errorf("line %d is not a JSON value: %w", number, err)
}
