package output

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// checkQuotes reports a file of CSV that ends within a quoted value: whatever is added to it
// would belong to that value. It reads quotes as [padder] does.
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

// quotes are those of a file of CSV that is read in pieces.
type quotes struct {
	last   byte // before the piece; 0: nothing
	quoted bool // the piece begins within a quoted value
	lines  int  // before the piece
	line   int  // of the last quote that opened a value, from 1
}

func (q *quotes) read(piece []byte) {
	for len(piece) > 0 {
		at := bytes.IndexByte(piece, '"')
		if at < 0 {
			at = len(piece) - 1
		} else {
			q.quote(piece[:at])
		}
		q.lines += bytes.Count(piece[:at+1], []byte{'\n'})
		q.last = piece[at]
		piece = piece[at+1:]
	}
}

// quote reads a quote after what stands before it in the piece. It opens a value at the
// beginning of a field, and after a quote that seemed to be the end of one.
func (q *quotes) quote(before []byte) {
	if len(before) > 0 {
		q.last = before[len(before)-1]
	}
	if q.quoted {
		q.quoted = false
		return
	}
	switch q.last {
	case 0, ',', '\n':
		q.line = q.lines + bytes.Count(before, []byte{'\n'}) + 1
		q.quoted = true
	case '"':
		q.quoted = true
	}
}
