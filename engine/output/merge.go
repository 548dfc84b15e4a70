package output

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/rules/keypath"
	"github.com/stopwhen/stopwhen/rules/lists"
	"github.com/stopwhen/stopwhen/rules/remedy"
	"github.com/stopwhen/stopwhen/runtime/document"
	"github.com/stopwhen/stopwhen/runtime/failure"
)

// A rowMerger is an encoder whose rows can be merged: every encoder except those whose format carries state.
type rowMerger interface {
	// merge writes the rows that stay, of the existing file, which may be nil, and of this run.
	merge(m *merger, to io.Writer, before, rows io.Reader) error
}

// A merger writes the rows of a file whose keys this run does not have, and then the last row of each key
// of this run. For each of these keys, it holds 16 bytes of a digest and the number of the last row.
type merger struct {
	name  string   // of the file
	paths []string // of the key
	keys  [][]string
	// reopen returns the rows of this run once more.
	reopen func() (io.ReadCloser, error)
	last   map[[16]byte]uint32 // number of the last row of each key, modulo 2^32
}

func newMerger(name string, paths []string, reopen func() (io.ReadCloser, error)) *merger {
	return &merger{name: name, paths: paths, reopen: reopen, keys: lists.Map(paths, keypath.Split), last: map[[16]byte]uint32{}}
}

// keyFunc returns the key of a row as bytes, and whether the row has a key.
type keyFunc func(row []byte) (key []byte, found bool, err error)

// learn notes the last row of each key of this run.
func (m *merger) learn(rows iterRows, key keyFunc) error {
	n := uint32(0)
	return rows(func(row []byte) error {
		n++
		text, found, err := key(row)
		if err != nil {
			return err
		}
		if !found {
			return (&engine.Error{
				Class: failure.Response, Op: "merge", Message: fmt.Sprintf("row %d for %s has no %s, which is the key of its rows", n, m.name,
					strings.Join(m.paths, ", ")),
			}).WithRemedy("name another key, leave such items out with a filter, or run without %s", remedy.Merge)
		}
		m.last[digestOf(text)] = n
		return nil
	})
}

// older returns a function that reports whether a row of the existing file stays.
func (m *merger) older(key keyFunc) func(row []byte) (bool, error) {
	return func(row []byte) (bool, error) {
		text, found, err := key(row)
		if !found || err != nil {
			return err == nil, err
		}
		_, replaced := m.last[digestOf(text)]
		return !replaced, nil
	}
}

// newer returns a function that reports whether a row of this run is the last of its key.
func (m *merger) newer(key keyFunc) func(row []byte) (bool, error) {
	n := uint32(0)
	return func(row []byte) (bool, error) {
		n++
		text, _, err := key(row)
		return err == nil && m.last[digestOf(text)] == n, err
	}
}

// digestOf returns the beginning of a cryptographic digest, which is long enough to tell all keys apart.
func digestOf(key []byte) [16]byte {
	sum := sha256.Sum256(key)
	return [16]byte(sum[:])
}

// sharedKeys has the keys of the rows that several jobs write to one file in this run, and counts the rows that replace one
// of another job with other contents when they are merged. The rows before a resume are unknown.
type sharedKeys struct {
	paths [][]string
	last  map[[16]byte]keyedRow
	found map[string]*replacedRows // by the later job
}

// A keyedRow is the last row of a key.
type keyedRow struct {
	job     string
	content uint64
}

// replacedRows are the rows of other jobs that the rows of a job replace.
type replacedRows struct {
	count int
	job   string // the job that has written the first of them
}

// newSharedKeys returns the keys of a file whose rows are merged by the values at the paths of a key.
func newSharedKeys(paths []string) *sharedKeys {
	return &sharedKeys{lists.Map(paths, keypath.Split), map[[16]byte]keyedRow{}, map[string]*replacedRows{}}
}

// notice notes the items that a job writes. The receiver may be nil.
func (k *sharedKeys) notice(job string, items engine.Items) {
	if k == nil {
		return
	}
	var key []byte
	for item := range items.All() {
		var found bool
		if key, found = document.AppendKey(key[:0], item, k.paths); !found {
			continue
		}
		digest := digestOf(key)
		row := keyedRow{job, document.DigestOf(item, document.Digest{}).Half()}
		if before, known := k.last[digest]; known && before.job != job && before.content != row.content {
			if k.found[job] == nil {
				k.found[job] = &replacedRows{job: before.job}
			}
			k.found[job].count++
		}
		k.last[digest] = row
	}
}

// of returns the rows of other jobs that the rows of a job replace. The receiver may be nil.
func (k *sharedKeys) of(job string) replacedRows {
	if k == nil || k.found[job] == nil {
		return replacedRows{}
	}
	return *k.found[job]
}

// iterRows calls a function with each row of a file.
type iterRows func(func(row []byte) error) error

// merge merges lines of JSON.
func (*ndjson) merge(m *merger, to io.Writer, before, rows io.Reader) error {
	keyOf := func(hasKey func(row []byte) bool) func(row []byte) ([]byte, bool, error) {
		return func(row []byte) ([]byte, bool, error) {
			if !hasKey(row) {
				return nil, false, nil
			}
			text, found := document.AppendKey(nil, bytes.TrimLeft(row, " \t"), m.keys)
			return text, found, nil
		}
	}
	key := keyOf(func(row []byte) bool { return len(bytes.TrimSpace(row)) > 0 })
	keyOfOld := keyOf(json.Valid) // a row that another program has written or cut off stays
	first, err := m.reopen()
	if err != nil {
		return err
	}
	if err := errors.Join(m.learn(linesOf(first), key), first.Close()); err != nil {
		return err
	}
	w := bufio.NewWriterSize(to, 64<<10)
	copyLines := func(from io.Reader, stays func([]byte) (bool, error)) error {
		return linesOf(from)(func(row []byte) error {
			stay, err := stays(row)
			if err == nil && stay {
				_, err = w.Write(append(row, '\n'))
			}
			return err
		})
	}
	if before != nil {
		if err := copyLines(withoutMark(before), m.older(keyOfOld)); err != nil {
			return err
		}
	}
	if err := copyLines(rows, m.newer(key)); err != nil {
		return err
	}
	return w.Flush()
}

// withoutMark returns a text without the byte order mark with which another program may have begun it: the first row
// has its key after it.
func withoutMark(text io.Reader) io.Reader {
	r := bufio.NewReader(text)
	if head, _ := r.Peek(len(byteOrderMark)); string(head) == byteOrderMark {
		_, _ = r.Discard(len(byteOrderMark))
	}
	return r
}

// linesOf returns the lines of a text, without their ends.
func linesOf(text io.Reader) iterRows {
	return func(yield func(row []byte) error) error {
		r := recordReader{file: bufio.NewReaderSize(text, 64<<10), unquoted: true}
		for {
			row, _, err := r.read()
			if len(row) > 0 {
				if failed := yield(row); failed != nil {
					return failed
				}
			}
			switch {
			case errors.Is(err, io.EOF):
				return nil
			case err != nil:
				return err
			}
		}
	}
}

// appendKeyText appends a value of a key of a table, as text. Null is another value than an empty text.
func appendKeyText(key []byte, text string, isNull bool) []byte {
	if !isNull {
		key = strconv.AppendQuote(key, text)
	}
	return append(key, ',')
}

// isQuoted reports whether a field of the record that a reader has read from row begins with a quote.
func isQuoted(r *csv.Reader, row []byte, field int) bool {
	line, column := r.FieldPos(field)
	for range line - 1 {
		_, row, _ = bytes.Cut(row, newline)
	}
	return len(row) >= column && row[column-1] == '"'
}

// merge merges records of CSV below a header with all columns.
func (w *csvWriter) merge(m *merger, to io.Writer, before, rows io.Reader) error {
	places := make([]int, len(m.keys))
	for i, keys := range m.keys {
		places[i] = slices.Index(w.columns, strings.Join(keys, w.separator))
	}
	key := func(row []byte) (key []byte, found bool, err error) {
		if bytes.Contains(row, []byte("\r\n")) { // the reader makes LF of it, which is another key, and CR LF of the replacement
			row = bytes.ReplaceAll(row, []byte("\r\n"), []byte("\r\r\n"))
		}
		r := csv.NewReader(bytes.NewReader(row))
		r.LazyQuotes = true // as other programs may write them
		fields, err := r.Read()
		if err != nil {
			return nil, false, err
		}
		for _, place := range places {
			text, isNull := "", true
			if place >= 0 && place < len(fields) {
				text, isNull = fields[place], fields[place] == "" && !isQuoted(r, row, place)
			}
			key, found = appendKeyText(key, text, isNull), found || text != ""
		}
		return key, found, nil
	}
	first, err := m.reopen()
	if err != nil {
		return err
	}
	learn := func(yield func([]byte) error) error {
		drop := func(row []byte) (bool, error) { return false, yield(row) }
		return copyRecords(bufio.NewWriter(io.Discard), first, len(w.columns), len(w.columns), drop)
	}
	if err := errors.Join(m.learn(learn, key), first.Close()); err != nil {
		return err
	}
	return rewriteCSV(to, w.columns, before, rows, m.older(key), m.newer(key))
}
