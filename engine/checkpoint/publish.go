package checkpoint

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"

	"github.com/stopwhen/stopwhen/runtime/failure"
)

// RedoSuffix is the file name ending of the record of a publication without a state: see [Repair].
const RedoSuffix = ".redo"

// CompleteSuffix is the file name ending of rewritten rows that are not published yet: see
// [Commitment].
const CompleteSuffix = ".complete"

// A Commitment describes the changes that [Store.Publish] makes together with publishing an
// output.
type Commitment struct {
	// Append adds the rows to the existing file instead of replacing it.
	Append bool

	// Kept holds the values for the next run, by job, as JSON objects. They become part of the
	// state and, unless KeptFile is "", of that file, in which the values of other jobs remain.
	Kept     map[string]json.RawMessage
	KeptFile string

	// Rewrite writes the content to be published; if it is nil, the rows are published unchanged.
	// before reads the existing file, and is nil unless Append is set and the file exists; rows
	// reads the data written to the output.
	Rewrite func(to io.Writer, before, rows io.Reader) error
}

// publication is the record of a publication that has begun. It suffices to complete the
// publication after a crash, any number of times.
type publication struct {
	Name     string                     `json:"name,omitempty"`     // "" if only values are kept
	Bytes    int64                      `json:"bytes"`              // size of the rows
	Complete bool                       `json:"complete,omitempty"` // whether the rows are in the file with [CompleteSuffix]
	Append   bool                       `json:"append,omitempty"`
	Base     int64                      `json:"base,omitempty"`   // size of the file before the rows are appended
	Prefix   []byte                     `json:"prefix,omitempty"` // bytes before the rows that complete the last line of the file
	Skip     int64                      `json:"skip,omitempty"`   // size of the header of the rows, which is not appended
	Kept     map[string]json.RawMessage `json:"kept,omitempty"`
	KeptFile string                     `json:"keptFile,omitempty"`
	Sum      string                     `json:"sum,omitempty"` // hash of the rows, with a state

	undone bool // the publication failed, and the file is as it was before
}

// Publish publishes the rows of an output under its name, together with the values that are kept
// for the next run and, with a state, all marked data. If the process ends in the middle, the next
// run that opens the state or the output completes the publication. The output may be nil if the
// rows are not in a file. If the rows cannot be moved, the published file is as it was before, and
// the publication counts as not begun.
func (s *Store) Publish(o *Output, c Commitment) error {
	if err := s.repair(); err != nil { // a publication that failed in this run
		return err
	}
	p, err := s.plan(o, c)
	if err != nil {
		return err
	}
	if err := s.begin(p); err != nil {
		return err
	}
	err = p.carryOut(s.files)
	switch {
	case err == nil:
		return s.end(p)
	case p.undone:
		return errors.Join(err, s.cancel(p))
	}
	if o != nil {
		o.published = true
	}
	return err
}

// cancel discards a publication that has changed nothing.
func (s *Store) cancel(p *publication) error {
	if p.Complete {
		_ = s.files.Remove(p.from()) // the next publication replaces it
	}
	return s.forget(p)
}

// plan prepares an output for its publication, and decides how to publish it.
func (s *Store) plan(o *Output, c Commitment) (*publication, error) {
	p := &publication{Kept: c.Kept, KeptFile: c.KeptFile}
	if err := s.settle(); err != nil || o == nil {
		return p, err
	}
	var before file
	var base int64 // size of the published file
	if c.Append {
		var err error
		if before, base, err = o.earlier(); before != nil {
			defer before.Close()
		}
		if err != nil {
			return nil, ioError("open the output", err)
		}
	}
	// Create a file even for an output without rows.
	if _, err := s.use(o); err != nil {
		return nil, err
	}
	if err := o.complete(base > 0); err != nil {
		return nil, ioError("write the output", err)
	}
	if err := s.sync(o); err != nil {
		return nil, err
	}
	if err := o.close(); err != nil {
		return nil, ioError("save the output", err)
	}
	p.Name, p.Bytes = o.name, o.written.Bytes
	if o.digest != nil {
		p.Sum = hex.EncodeToString(o.digest.Sum(nil))
	}
	switch {
	case c.Rewrite != nil:
		return p, s.rewrite(p, o, c)
	case before != nil:
		return p, p.appendTo(before, base, o)
	}
	return p, nil
}

// appendTo prepares a publication that adds rows to a file of size base.
func (p *publication) appendTo(before file, base int64, o *Output) error {
	p.Append, p.Base = true, base
	if base == 0 {
		return nil
	}
	p.Skip = o.written.Head
	open, err := endsWithOpenLine(before, base, o.compression)
	if err != nil {
		return ioError("read "+o.name, err)
	}
	if open {
		p.Prefix, err = compressed(o.compression, []byte{'\n'})
	}
	return err
}

// begin records a publication.
func (s *Store) begin(p *publication) error {
	if s.path == "" {
		return p.record(s.files)
	}
	s.state.Publish = p
	return s.save()
}

// end replaces the record of a completed publication with its results.
func (s *Store) end(p *publication) error {
	if s.state.Kept == nil {
		s.state.Kept = map[string]json.RawMessage{}
	}
	maps.Copy(s.state.Kept, p.Kept)
	if p.Name != "" {
		e := s.state.Outputs[p.Name]
		e.Partial = false
		s.state.Outputs[p.Name] = e
		if o := s.outputs[p.Name]; o != nil {
			o.published, o.marked = true, e
		}
	}
	return s.forget(p)
}

// forget removes the record of a publication.
func (s *Store) forget(p *publication) error {
	if s.path == "" {
		return p.forget(s.files)
	}
	s.state.Publish = nil
	return s.save()
}

// Release declares that the rows of an output will not be published. The file stays until the next
// run replaces it, and no longer belongs to the state.
func (s *Store) Release(o *Output) error {
	if s.path == "" {
		return nil
	}
	if err := s.settle(); err != nil {
		return err
	}
	e := s.state.Outputs[o.name]
	e.Partial = false
	s.state.Outputs[o.name], o.marked = e, e
	return s.save()
}

// repair completes the publication in the state if the previous run ended in the middle of it.
func (s *Store) repair() error {
	p := s.state.Publish
	if p == nil {
		return nil
	}
	err := p.verify(s.files)
	if err == nil {
		err = p.carryOut(s.files)
	}
	switch {
	case errors.Is(err, errNoRows):
		return s.refuse("%v", err)
	case err != nil:
		return err
	}
	return s.end(p)
}

// Repair completes the publication of the file at path if a run without a state ended in the
// middle of it. It reports whether there was such a publication.
func Repair(path string) (bool, error) { return repair(system{}, path) }

func repair(files fileSystem, path string) (bool, error) {
	text, err := readFile(files, path+RedoSuffix)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, ioError("read "+path+RedoSuffix, err)
	}
	var p publication
	if err := json.Unmarshal(text, &p); err != nil || p.Name == "" {
		return false, &failure.Error{
			Class: failure.State, Op: "repair", Message: path + RedoSuffix + " is damaged or was not written by stopwhen",
			Hint: "compare " + path + " with " + path + PartialSuffix + ", then remove it",
		}
	}
	p.Name = path
	if err := p.carryOut(files); err != nil {
		if errors.Is(err, errNoRows) {
			err = &failure.Error{
				Class: failure.State, Op: "repair", Message: err.Error(), Err: err,
				Hint: "restore the file, or remove " + path + RedoSuffix + " to go on without these rows",
			}
		}
		return false, err
	}
	return true, p.forget(files)
}

// recorded reports whether a publication without a state has a record next to its file. A
// publication by a single rename needs no record.
func (p *publication) recorded() bool {
	return p.Name != "" && (p.Append || p.Complete || p.KeptFile != "")
}

// from returns the name of the file from which the rows are moved.
func (p *publication) from() string {
	if p.Complete {
		return p.Name + CompleteSuffix
	}
	return p.Name + PartialSuffix
}

// record saves a publication next to its file.
func (p *publication) record(files fileSystem) error {
	if !p.recorded() {
		return nil
	}
	text, err := json.Marshal(p)
	if err == nil {
		err = replaceFile(files, p.Name+RedoSuffix, append(text, '\n'))
	}
	return ioError("save "+p.Name+RedoSuffix, err)
}

// forget removes the record of a publication next to its file.
func (p *publication) forget(files fileSystem) error {
	if !p.recorded() {
		return nil
	}
	return ioError("remove "+p.Name+RedoSuffix, errors.Join(files.Remove(p.Name+RedoSuffix), files.SyncDir(p.Name)))
}

// carryOut moves the rows to their name and saves the kept values. It skips completed steps.
func (p *publication) carryOut(files fileSystem) error {
	if p.Name != "" {
		if err := p.move(files); err != nil {
			return err
		}
	}
	return p.keep(files)
}

// keep saves the kept values in their file.
func (p *publication) keep(files fileSystem) error {
	if p.KeptFile == "" || len(p.Kept) == 0 {
		return nil
	}
	return ioError("save the kept values", mergeKept(files, p.KeptFile, p.Kept))
}

// errNoRows means that the rows of a publication are neither in their partial file nor in the
// published one.
var errNoRows = errors.New("rows are missing")

// move moves the rows to the published file.
func (p *publication) move(files fileSystem) error {
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
	if err != nil || !p.Append && !p.Complete {
		return err
	}
	partial := p.Name + PartialSuffix // the published file has its rows now
	return ioError("remove "+partial, errors.Join(files.Remove(partial), files.SyncDir(partial)))
}

// verify checks that the rows are unchanged, because a run without the state may have replaced
// them.
func (p *publication) verify(files fileSystem) error {
	if p.Name == "" || p.Sum == "" {
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

func (p *publication) rename(files fileSystem, from string) error {
	files.CopyMode(p.Name, from)
	err := files.Rename(from, p.Name)
	p.undone = err != nil
	if err == nil {
		err = files.SyncDir(p.Name)
	}
	return ioError("rename the output", err)
}

// size returns the size of the file after the publication.
func (p *publication) size() int64 {
	return p.Base + int64(len(p.Prefix)) + p.Bytes - p.Skip
}

// requireMoved checks that rows missing in their partial file are in the published one.
func (p *publication) requireMoved(files fileSystem) error {
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

// add appends the rows to the file. If that fails, the file is restored.
func (p *publication) add(files fileSystem, rows file) error {
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
		p.undone = failed == nil
		return ioError("append to "+p.Name, errors.Join(err, failed))
	}
	return nil
}

// added returns a reader of the bytes that the publication appends to the file.
func (p *publication) added(rows file) io.Reader {
	return io.MultiReader(bytes.NewReader(p.Prefix), io.NewSectionReader(rows, p.Skip, p.Bytes-p.Skip))
}

// requireOwn checks that the end of the file has not been changed by others since the publication
// began.
func (p *publication) requireOwn(to, rows file) error {
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

// mergeKept replaces the values of some jobs in a file of kept values. Only the owner can read the
// file, because a cursor may give access to data.
func mergeKept(files fileSystem, path string, kept map[string]json.RawMessage) error {
	all := map[string]json.RawMessage{}
	text, err := readFile(files, path)
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	maps.Copy(all, kept)
	if text, err = json.MarshalIndent(all, "", "  "); err != nil {
		return err
	}
	return replaceFile(files, path, append(text, '\n'))
}
