package checkpoint

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/stopwhen/stopwhen/runtime/failure"
)

// CompleteSuffix is the file name ending of rewritten rows that are not published yet: see
// [Publication].
const CompleteSuffix = ".complete"

// A publicationRecord describes a publication that has begun, so that it can be completed after a crash,
// any number of times. Its fields describe the first file and the kept values; Also describes the other files.
type publicationRecord struct {
	Name     string                     `json:"name,omitempty"`     // "" if only values are kept
	Bytes    int64                      `json:"bytes"`              // size of the rows
	Complete bool                       `json:"complete,omitempty"` // whether the rows are in the file with [CompleteSuffix]
	Append   bool                       `json:"append,omitempty"`
	Base     int64                      `json:"base,omitempty"`   // size of the file before the rows are appended
	Prefix   []byte                     `json:"prefix,omitempty"` // bytes before the rows that complete the last line of the file
	Skip     int64                      `json:"skip,omitempty"`   // size of the header of the rows, which is not appended
	Kept     map[string]json.RawMessage `json:"kept,omitempty"`
	KeptFile string                     `json:"keptFile,omitempty"`
	KeptFor  map[string]string          `json:"keptFor,omitempty"`
	RowsIn   map[string][]string        `json:"rowsIn"`           // null in a record of an earlier build
	Sum      string                     `json:"sum,omitempty"`    // hash of the rows, with a state
	Before   *Snapshot                  `json:"before,omitempty"` // of the file that the rows are added to, if values are kept
	Also     []*publicationRecord       `json:"also,omitempty"`   // further files, without kept values
	Record   string                     `json:"record,omitempty"` // absolute path of the record of several files, without a state

	moved     bool // the file has its rows
	unchanged bool // moving the rows of a file has failed, and that file is as it was before
}

// parts returns the publications of the single files.
func (p *publicationRecord) parts() []*publicationRecord {
	if p.Name == "" {
		return nil
	}
	return append([]*publicationRecord{p}, p.Also...)
}

// order returns the rank of a file in the order of the moves: appended rows come first, because only they
// can be undone.
func (p *publicationRecord) order() int {
	if p.Append {
		return 0
	}
	return 1
}

// from returns the name of the file from which the rows are moved.
func (p *publicationRecord) from() string {
	if p.Complete {
		return p.Name + CompleteSuffix
	}
	return p.Name + PartialSuffix
}

// size returns the size of the file after the publication.
func (p *publicationRecord) size() int64 {
	return p.Base + int64(len(p.Prefix)) + p.Bytes - p.Skip
}

// carryOut moves the rows to their names and saves the kept values. It skips completed steps. Rows
// are appended before files are replaced, because only the former can be undone.
func (p *publicationRecord) carryOut(files fileSystem) error {
	parts := p.parts()
	slices.SortStableFunc(parts, func(a, b *publicationRecord) int { return cmp.Compare(a.order(), b.order()) })
	for _, part := range parts {
		if err := part.move(files); err != nil {
			p.unchanged = part.unchanged
			return err
		}
		part.moved = true
	}
	for _, part := range parts {
		if err := part.removePartial(files); err != nil {
			return err
		}
	}
	return p.keep(files)
}

// errNoRows means that the rows of a publication are neither in their partial file nor in the
// published one.
var errNoRows = errors.New("rows are missing")

// move moves the rows to the published file.
func (p *publicationRecord) move(files fileSystem) error {
	rows, err := files.Open(p.from(), 0)
	switch {
	case errors.Is(err, os.ErrNotExist):
		err = p.requireMoved(files)
	case err != nil:
		err = ioError("open the output", err)
	case p.Append:
		err = errors.Join(p.add(files, rows), rows.Close())
	default:
		if err = rows.Close(); err != nil {
			return ioError("open the output", err)
		}
		err = p.rename(files, p.from())
	}
	return err
}

func (p *publicationRecord) rename(files fileSystem, from string) error {
	files.CopyMode(p.Name, from)
	err := files.Rename(from, p.Name)
	p.unchanged = err != nil
	if err == nil {
		err = files.SyncDir(p.Name)
	}
	return ioError("rename the output", err)
}

// add appends the rows to the file. If that fails, the file is restored.
func (p *publicationRecord) add(files fileSystem, rows file) error {
	to, err := files.Open(p.Name, 0)
	if err != nil {
		return ioError("open the output", err)
	}
	defer to.Close()
	if err := p.requireOwn(to, rows); err != nil {
		return err
	}
	err = to.Truncate(p.Base)
	if err == nil {
		_, err = io.Copy(to, p.added(rows))
	}
	if err == nil {
		err = to.Sync()
	}
	if err != nil {
		failed := to.Truncate(p.Base)
		p.unchanged = failed == nil
		return ioError("append to "+p.Name, errors.Join(err, failed))
	}
	return nil
}

// added returns a reader of the bytes that the publication appends to the file.
func (p *publicationRecord) added(rows file) io.Reader {
	return io.MultiReader(bytes.NewReader(p.Prefix), io.NewSectionReader(rows, p.Skip, p.Bytes-p.Skip))
}

// removePartial removes the rows that the published file has now.
func (p *publicationRecord) removePartial(files fileSystem) error {
	if !p.Append && !p.Complete {
		return nil
	}
	partial := p.Name + PartialSuffix
	return ioError("remove "+partial, errors.Join(files.Remove(partial), files.SyncDir(partial)))
}

// verify checks that the rows are unchanged, because a run without the state may have replaced
// them.
func (p *publicationRecord) verify(files fileSystem) error {
	if p.Sum == "" {
		return nil
	}
	from := p.from()
	rows, err := files.Open(from, 0)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return ioError("open the output", err)
	}
	defer rows.Close()
	sum, err := sumOf(rows, p.Bytes, sha256.New())
	if err != nil {
		return err
	}
	if sum != p.Sum {
		return fmt.Errorf("%w: %s was modified after the last commit", errNoRows, from)
	}
	return nil
}

// requireMoved checks that rows missing in their partial file are in the published one.
func (p *publicationRecord) requireMoved(files fileSystem) error {
	f, err := files.Open(p.Name, 0)
	if err == nil {
		defer f.Close()
		var size int64
		if size, err = f.Size(); err == nil && size >= p.size() {
			return nil
		}
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return ioError("read the output", err)
	}
	return fmt.Errorf("%w: %s does not exist, and %s does not have them", errNoRows, p.from(), p.Name)
}

// requireOwn checks that the end of the file has not been changed by others since the publication
// began.
func (p *publicationRecord) requireOwn(to, rows file) error {
	size, err := to.Size()
	if err != nil {
		return ioError("read the output", err)
	}
	problem := fmt.Sprintf("%s has %d bytes, want from %d to %d: another program has changed it while rows were being added",
		p.Name, size, p.Base, p.size())
	if p.Base <= size && size <= p.size() {
		own, err := begins(p.added(rows), io.NewSectionReader(to, p.Base, size-p.Base))
		if own || err != nil {
			return ioError("read the output", err)
		}
		problem = fmt.Sprintf("another program has written to %s after byte %d while rows were being added", p.Name, p.Base)
	}
	return &failure.Error{Class: failure.State, Op: "repair", Message: problem, Hint: "the rows are in " + p.Name + PartialSuffix}
}

// begins reports whether the written part of a file is a prefix of a text. After a loss of power,
// unsynced bytes may be zero.
func begins(text, written io.Reader) (bool, error) {
	var want, got [32 << 10]byte
	for {
		n, err := io.ReadFull(written, got[:])
		if _, failed := io.ReadFull(text, want[:n]); failed != nil && n > 0 {
			return false, failed
		}
		for i, b := range got[:n] {
			if b != 0 && b != want[i] {
				return false, nil
			}
		}
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return true, nil
		case err != nil:
			return false, err
		}
	}
}

// undo removes the rows that a failed publication has appended. It reports whether all files are as
// they were before. A file that was replaced cannot be restored.
func (p *publicationRecord) undo(files fileSystem) bool {
	parts := slices.DeleteFunc(p.parts(), func(part *publicationRecord) bool { return !part.moved })
	if slices.ContainsFunc(parts, func(part *publicationRecord) bool { return !part.Append }) {
		return false
	}
	return !slices.ContainsFunc(parts, func(part *publicationRecord) bool { return part.truncate(files) != nil })
}

// truncate removes the appended rows.
func (p *publicationRecord) truncate(files fileSystem) error {
	f, err := files.Open(p.Name, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Truncate(p.Base), f.Sync(), f.Close())
}

// discard removes the rewritten rows of a publication that has changed nothing.
func (p *publicationRecord) discard(files fileSystem) {
	for _, part := range p.parts() {
		if part.Complete {
			_ = files.Remove(part.from()) // the next publication replaces it
		}
	}
}

// keep saves the kept values in their file.
func (p *publicationRecord) keep(files fileSystem) error {
	if p.KeptFile == "" {
		return nil
	}
	return ioError("save the kept values", p.mergeKept(files))
}
