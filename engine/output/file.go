package output

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/checkpoint"
	"github.com/stopwhen/stopwhen/rules/keypath"
	"github.com/stopwhen/stopwhen/runtime/failure"
)

// A file holds the items of one data type. It receives them as NDJSON, and they appear under its
// name, in its format, when they are published.
type file struct {
	store      *checkpoint.Store
	rows       *checkpoint.Output
	encoding   encoding
	dataType   string // data type of the items
	appends    bool
	key        []string    // paths of the key by which rows are merged into the existing file; nil if they are not
	shared     *sharedKeys // the keys of the rows; nil unless several jobs write rows that are merged
	head       head        // columns of the file that rows are added to
	encoder    encoder
	settled    bool
	rowsBefore *int64 // see replaces; nil if the rows have not been counted
}

// openFile returns a file of a store for the items of a data type.
func (e encoding) openFile(store *checkpoint.Store, path, dataType string) (*file, error) {
	compression := e.Format.compression()
	if compression != nil {
		compression = background{compression}
	}
	rows, err := store.Rows(path, compression)
	if err != nil {
		return nil, err
	}
	return &file{store: store, rows: rows, encoding: e, dataType: dataType}, nil
}

// append declares, before anything is written, that the items are added to the existing file. It
// reports whether the last line of that file has no newline, which is then added. An error means
// that nothing can be added, because the file is damaged or has no valid header.
func (f *file) append() (openLine bool, err error) {
	f.appends = true
	format := f.encoding.Format.row()
	if !format.whole {
		openLine, err = f.rows.EndsWithOpenLine()
	}
	switch {
	case errors.Is(err, os.ErrNotExist):
		return false, nil
	case err == nil && format.check != nil:
		err = f.checkColumns(format.check)
	}
	if err != nil {
		return false, &engine.Error{
			Class: failure.IO, Op: "append", Message: fmt.Sprintf("cannot add to %s: %v", f.rows.Name(), err), Err: err,
			Hint: "repair the file, or move it away",
		}
	}
	return openLine, nil
}

// mergeInto declares, before anything is written, that the rows replace rows of the existing file with
// the same key.
func (f *file) mergeInto(key []string) error {
	f.key = key
	if len(f.head.columns) == 0 {
		return nil
	}
	for _, path := range key {
		name := strings.Join(keypath.Split(path), f.encoding.nested())
		if !slices.Contains(f.head.columns, name) {
			return &engine.Error{
				Class: failure.IO, Op: "merge", Message: fmt.Sprintf("%s has no column %s, which is the key of its rows", f.rows.Name(), name),
				Hint: "move the file away, or name another key",
			}
		}
	}
	return nil
}

// checkColumns reads the columns of the existing file, and checks that rows can be added.
func (f *file) checkColumns(check func(file io.Reader) (head, error)) error {
	before, err := f.before()
	if err != nil || before == nil {
		return err
	}
	f.head, err = check(before)
	return errors.Join(err, before.Close())
}

// checkFirstLine checks that a file has an item on its first line, and is not a list of items in JSON.
func checkFirstLine(file io.Reader) (_ head, err error) {
	lines := bufio.NewReader(io.LimitReader(file, maxFirstLine+1))
	var line []byte
	for err == nil && len(line) == 0 {
		line, err = lines.ReadBytes('\n')
		line = bytes.TrimSpace(line)
	}
	if err == nil || errors.Is(err, io.EOF) {
		err = nil
		isList := bytes.HasPrefix(bytes.TrimSpace(bytes.TrimPrefix(line, []byte("["))), []byte("{")) && line[0] == '['
		if len(line) > 0 && len(line) <= maxFirstLine && (isList || !json.Valid(line)) {
			err = errors.New("it does not have an item on each line, as NDJSON has; it may be a list in JSON")
		}
	}
	return head{}, err
}

// maxFirstLine is the length of the longest first line that is checked.
const maxFirstLine = 1 << 20

// Write receives items as NDJSON. A page without items creates the partial file, too, in every format, so
// that a list that is refused leaves a partial file even if it is empty.
func (f *file) Write(p []byte) (int, error) {
	if len(p) == 0 && !f.rows.Created() {
		return 0, f.rows.WriteRows(nil, 0)
	}
	return f.items().Write(p)
}

func (f *file) items() encoder {
	if f.encoder == nil {
		f.encoder = f.encoding.Format.row().new(f.encoding, f.rows, f.dataType, f.head)
	}
	return f.encoder
}

// part completes the items, with the values that their jobs keep for the next run, and returns them
// as a part of a publication.
func (f *file) part(kept map[string]json.RawMessage) (checkpoint.Part, error) {
	if err := f.items().state(kept); err != nil {
		return checkpoint.Part{}, err
	}
	rewrite, err := f.rewrite()
	return checkpoint.Part{Output: f.rows, Append: f.appends, Rewrite: rewrite}, err
}

// lateColumns returns the number of CSV columns that are missing in the header because they
// appeared late. They are added when the file is published or settled.
func (f *file) lateColumns() int {
	w, ok := f.encoder.(interface{ lateColumns() int })
	if !ok || f.rows.Finished() || f.settled {
		return 0
	}
	return w.lateColumns()
}

// waitsAsNDJSON reports whether the rows are still NDJSON, and are converted when the file is published.
func (f *file) waitsAsNDJSON() bool { return f.encoding.Format.row().whole && !f.rows.Finished() }

// settle completes rows that will not be published, after a failed run: it adds late CSV columns
// to the header. With a state it does nothing, because the run can resume.
func (f *file) settle() error {
	if f.encoder == nil || !f.rows.Created() || f.rows.Finished() || f.waitsAsNDJSON() {
		return nil
	}
	rewrite, err := f.encoder.rewrite(nil)
	if err != nil || rewrite == nil {
		return err
	}
	f.settled, err = f.store.RewriteRows(f.rows, rewrite)
	return err
}

// rewrite returns a function that rewrites the rows, or nil if they need no rewriting.
func (f *file) rewrite() (rewriteFunc, error) {
	before, err := f.before()
	if err != nil {
		return nil, err
	}
	var rewrite rewriteFunc
	if before == nil {
		rewrite, err = f.items().rewrite(nil)
	} else {
		rewrite, err = f.items().rewrite(before)
		err = errors.Join(err, before.Close())
	}
	if f.key == nil || err != nil || f.rows.RowCount() == 0 {
		return rewrite, err
	}
	return f.merge, nil
}

// merge writes the rows of the existing file and of this run. Of several rows with one key, it writes
// only the last.
func (f *file) merge(to io.Writer, before, rows io.Reader) error {
	return f.encoder.(rowMerger).merge(newMerger(f.rows.Name(), f.key, f.rows.Reread), to, before, rows)
}

// replaces returns the number of rows in the existing file, which the rows of this run replace, or
// 0 if they are added to it or if it cannot be read. The file is read to its end, but only once.
func (f *file) replaces() int64 {
	if f.rowsBefore == nil {
		n := int64(0)
		if !f.appends {
			n, _ = f.countBefore()
		}
		f.rowsBefore = &n
	}
	return *f.rowsBefore
}

// countBefore returns the number of rows in the existing file, and 0 if it does not exist.
func (f *file) countBefore() (int64, error) {
	before, err := f.rows.Existing()
	if before == nil || err != nil {
		return 0, err
	}
	defer before.Close()
	return f.encoding.Format.row().count(before)
}

// isEmpty reports whether the existing file has no rows, or does not exist.
func (f *file) isEmpty() bool {
	n, err := f.countBefore()
	return err == nil && n == 0
}

// hasRows reports whether the existing file, of which now is a snapshot, has rows. A large file has.
func (f *file) hasRows(now checkpoint.Snapshot) bool {
	return now.Bytes > maxCounted || now.Bytes > 0 && !f.isEmpty()
}

// maxCounted is the size in bytes of the largest existing file whose rows are always counted.
const maxCounted = 64 << 20

// mayShrink reports whether the run may have less than half as many rows as the existing file. Counting
// the rows of a large file takes long, so a large file may shrink only if it has clearly more bytes than
// this run has written.
func (f *file) mayShrink() bool {
	before, err := os.Stat(f.rows.Name())
	if f.appends || err != nil || !before.Mode().IsRegular() || before.Size() == 0 {
		return false
	}
	written, err := os.Stat(f.rows.Path())
	quick := f.encoding.Format.row().whole || before.Size() <= maxCounted
	return quick || err != nil || written.Size() < before.Size()/4*3
}

// before returns the content of the existing file if rows are added to it and it is not empty, and
// nil otherwise.
func (f *file) before() (io.ReadCloser, error) {
	if !f.appends {
		return nil, nil
	}
	return f.rows.Existing()
}
