package checkpoint

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/stopwhen/stopwhen/engine/files"
	"github.com/stopwhen/stopwhen/runtime/failure"
)

// CompleteSuffix is the file name ending of rewritten rows that are not published yet: see
// [Publication].
const CompleteSuffix = ".complete"

// A publicationRecord describes a publication that has begun, so that it can be completed after a crash,
// any number of times.
type publicationRecord struct {
	fileMove                            // of the first file; it has no name if only values are kept
	Kept     map[string]json.RawMessage `json:"kept,omitempty"`
	KeptFile string                     `json:"keptFile,omitempty"`
	KeptFor  map[string]string          `json:"keptFor,omitempty"`
	RowsIn   map[string][]string        `json:"rowsIn"` // null if it is not known which files have the rows
	Also     []*fileMove                `json:"also,omitempty"`
	Record   string                     `json:"record,omitempty"` // name of the record of several files, without a state
}

// A fileMove describes how the rows of a file get to their name.
type fileMove struct {
	Name     string    `json:"name,omitempty"`
	Bytes    int64     `json:"bytes"`              // size of the rows
	Complete bool      `json:"complete,omitempty"` // whether the rows are in the file with [CompleteSuffix]
	Append   bool      `json:"append,omitempty"`
	Base     int64     `json:"base,omitempty"`   // size of the file before the rows are appended
	Prefix   []byte    `json:"prefix,omitempty"` // bytes before the rows that complete the last line of the file
	Skip     int64     `json:"skip,omitempty"`   // size of the header of the rows, which is not appended
	Sum      string    `json:"sum,omitempty"`    // hash of the rows, with a state
	Before   *Snapshot `json:"before,omitempty"` // of the file that the rows are added to or merged into
}

// moves returns the moves of all files.
func (p *publicationRecord) moves() []*fileMove {
	if p.Name == "" {
		return nil
	}
	return append([]*fileMove{&p.fileMove}, p.Also...)
}

// order returns the rank of a file in the order of the moves: appended rows come first, because only they
// can be undone.
func (m *fileMove) order() int {
	if m.Append {
		return 0
	}
	return 1
}

// from returns the name of the file from which the rows are moved.
func (m *fileMove) from() string {
	if m.Complete {
		return m.Name + CompleteSuffix
	}
	return m.Name + PartialSuffix
}

// size returns the size of the file after the publication.
func (m *fileMove) size() int64 {
	return m.Base + int64(len(m.Prefix)) + m.Bytes - m.Skip
}

// carryOut moves the rows to their names and saves the kept values. It skips completed steps. Rows
// are appended before files are replaced, because only the former can be undone.
func (p *publicationRecord) carryOut(disk files.System) (progress, error) {
	moves, done := p.moves(), progress{}
	slices.SortStableFunc(moves, func(a, b *fileMove) int { return cmp.Compare(a.order(), b.order()) })
	firstReplaced := slices.IndexFunc(moves, func(move *fileMove) bool { return !move.Append })
	for i, move := range moves {
		if i == firstReplaced {
			if unchanged, err := requireSame(disk, moves[i:]); err != nil {
				done.failedCleanly = unchanged
				return done, err
			}
		}
		unchanged, err := move.move(disk)
		if err != nil {
			done.failedCleanly = unchanged
			return done, err
		}
		done.moved = append(done.moved, move)
	}
	for _, move := range moves {
		if err := move.removePartial(disk); err != nil {
			return done, err
		}
	}
	return done, p.keep(disk)
}

// A progress says how far a publication that has failed was carried out.
type progress struct {
	moved         []*fileMove // files that have their rows
	failedCleanly bool        // the step that failed has changed no file
}

// undo removes the rows that the publication has appended. It reports whether all files are as they were
// before. A file that was replaced cannot be restored.
func (p progress) undo(disk files.System) bool {
	if !p.failedCleanly || slices.ContainsFunc(p.moved, func(move *fileMove) bool { return !move.Append }) {
		return false
	}
	return !slices.ContainsFunc(p.moved, func(move *fileMove) bool { return move.truncate(disk) != nil })
}

// errNoRows means that the rows of a publication are neither in their partial file nor in the
// published one.
var errNoRows = errors.New("rows are missing")

// errChanged means that another program has changed a file that the publication would replace.
var errChanged = errors.New("another program has changed it since then")

// requireSame checks, before files are replaced, that each of them is as it was when the rows for it were completed.
// A file that is replaced whatever it has is not compared. If it fails, unchanged says whether the publication has
// replaced none of the files.
func requireSame(disk files.System, moves []*fileMove) (unchanged bool, err error) {
	unchanged = true
	for _, move := range moves {
		rows, failed := disk.Open(move.from())
		switch {
		case errors.Is(failed, os.ErrNotExist): // the file was replaced before a crash
			unchanged = false
			continue
		case failed == nil:
			failed = rows.Close()
		}
		if failed != nil {
			return false, ioError("open the output", failed)
		}
		if move.Before == nil {
			continue
		}
		now, failed := snapshotOf(disk, move.Name)
		if failed != nil {
			return false, failed
		}
		if now != *move.Before && err == nil {
			err = &failure.Error{
				Class: failure.State, Op: "repair", Err: errChanged,
				Message: fmt.Sprintf("%s is not as it was when the rows for it were completed: %v", move.Name, errChanged),
				Hint: fmt.Sprintf("%s has these rows: add what only %s has, and rename it to %[2]s; the next run then goes on",
					move.from(), move.Name),
			}
		}
	}
	return unchanged, err
}

// move moves the rows to the published file. If it fails, unchanged says whether that file is certainly as it
// was before.
func (m *fileMove) move(disk files.System) (unchanged bool, err error) {
	rows, err := disk.Open(m.from())
	switch {
	case errors.Is(err, os.ErrNotExist):
		return false, m.requireMoved(disk)
	case err != nil:
		return false, ioError("open the output", err)
	case m.Append:
		unchanged, err = m.add(disk, rows)
		return unchanged, errors.Join(err, rows.Close())
	}
	if err = rows.Close(); err != nil {
		return false, ioError("open the output", err)
	}
	return m.rename(disk, m.from())
}

func (m *fileMove) rename(disk files.System, from string) (unchanged bool, err error) {
	disk.CopyMode(m.Name, from)
	if err = disk.Rename(from, m.Name); err != nil {
		return true, ioError("rename the output", err)
	}
	return false, ioError("rename the output", disk.SyncDir(m.Name))
}

// add appends the rows to the file. If that fails, the file is restored.
func (m *fileMove) add(disk files.System, rows files.File) (unchanged bool, err error) {
	to, err := disk.Open(m.Name)
	if errors.Is(err, os.ErrNotExist) {
		return false, m.gone("does not exist")
	}
	if err != nil {
		return false, ioError("open the output", err)
	}
	defer to.Close()
	if err := m.requireOwn(to, rows); err != nil {
		return false, err
	}
	err = to.Truncate(m.Base)
	if err == nil {
		_, err = io.Copy(to, m.added(rows))
	}
	if err == nil {
		err = to.Sync()
	}
	if err != nil {
		failed := to.Truncate(m.Base)
		return failed == nil, ioError("append to "+m.Name, errors.Join(err, failed))
	}
	return false, nil
}

// added returns a reader of the bytes that the publication appends to the file.
func (m *fileMove) added(rows files.File) io.Reader {
	return io.MultiReader(bytes.NewReader(m.Prefix), io.NewSectionReader(rows, m.Skip, m.Bytes-m.Skip))
}

// removePartial removes the rows that the published file has now.
func (m *fileMove) removePartial(disk files.System) error {
	if !m.Append && !m.Complete {
		return nil
	}
	partial := m.Name + PartialSuffix
	return ioError("remove "+partial, errors.Join(disk.Remove(partial), disk.SyncDir(partial)))
}

// verify checks that the rows are unchanged, because a run without the state may have replaced
// them.
func (m *fileMove) verify(disk files.System) error {
	if m.Sum == "" {
		return nil
	}
	from := m.from()
	rows, err := disk.Open(from)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return ioError("open the output", err)
	}
	defer rows.Close()
	now := digestOf(m.Sum)
	if err := read(rows, m.Bytes, now); err != nil {
		return err
	}
	if sumOf(now) != m.Sum {
		return fmt.Errorf("%w: %s was modified after the last commit", errNoRows, from)
	}
	return nil
}

// requireMoved checks that rows missing in their partial file are in the published one, possibly because the user
// has renamed the partial file.
func (m *fileMove) requireMoved(disk files.System) error {
	f, err := disk.Open(m.Name)
	if err == nil {
		defer f.Close()
		var size int64
		if size, err = f.Size(); err == nil && (size >= m.size() || m.Append && size == m.Bytes) {
			return nil
		}
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return ioError("read the output", err)
	}
	return fmt.Errorf("%w: %s does not exist, and %s does not have them", errNoRows, m.from(), m.Name)
}

// requireOwn checks that the end of the file has not been changed by others since the publication
// began.
func (m *fileMove) requireOwn(to, rows files.File) error {
	size, err := to.Size()
	if err != nil {
		return ioError("read the output", err)
	}
	if size < m.Base {
		return m.gone(fmt.Sprintf("has %d bytes, fewer than the %d that it had", size, m.Base))
	}
	problem := fmt.Sprintf("%s has %d bytes, want from %d to %d: another program has changed it while rows were being added",
		m.Name, size, m.Base, m.size())
	if size <= m.size() {
		own, err := begins(m.added(rows), io.NewSectionReader(to, m.Base, size-m.Base))
		if own || err != nil {
			return ioError("read the output", err)
		}
		problem = fmt.Sprintf("another program has written to %s after byte %d while rows were being added", m.Name, m.Base)
	}
	return &failure.Error{Class: failure.State, Op: "repair", Message: problem, Hint: fmt.Sprintf("restore the file, or add the rows of %s "+
		"to it, unless it has them, and remove %[1]s; the next run then goes on", m.from())}
}

// gone refuses to add rows to a file that was moved away or emptied: it may have had them.
func (m *fileMove) gone(how string) error {
	return &failure.Error{
		Class: failure.State, Op: "repair",
		Message: fmt.Sprintf("%s %s: it was moved away or changed after a run had begun to add the rows of %s to it, so the file that "+
			"was moved away may or may not have them", m.Name, how, m.from()),
		Hint: fmt.Sprintf("restore the file, repeat the command, and move the file away again; if it cannot be restored, rename %s to %s, "+
			"to begin a new file with these rows", m.from(), m.Name),
	}
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

// truncate removes the appended rows, which are in the partial file, too.
func (m *fileMove) truncate(disk files.System) error {
	rows, err := disk.Open(m.from())
	if err == nil {
		err = rows.Close()
	}
	if err != nil {
		return err
	}
	f, err := disk.Open(m.Name)
	if err != nil {
		return err
	}
	return errors.Join(f.Truncate(m.Base), f.Sync(), f.Close())
}

// discard removes the rewritten rows of a publication that has changed nothing.
func (p *publicationRecord) discard(disk files.System) {
	for _, move := range p.moves() {
		if move.Complete {
			_ = disk.Remove(move.from()) // the next publication replaces it
		}
	}
}

// keep saves the kept values in their file.
func (p *publicationRecord) keep(disk files.System) error {
	if p.KeptFile == "" {
		return nil
	}
	return ioError("save the kept values", p.mergeKept(disk))
}
