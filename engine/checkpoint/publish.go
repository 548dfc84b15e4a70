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

// RedoSuffix ends the name of the record of a publication without a state: see [Repair].
const RedoSuffix = ".redo"

// CompleteSuffix ends the name of a file that is written when the rows of an output have
// to be rewritten before they appear: see [Commitment].
const CompleteSuffix = ".complete"

// A Commitment is what [Store.Publish] changes together with the name of an output.
type Commitment struct {
	// Append adds the rows to those that are under the name, instead of replacing
	// them.
	Append bool

	// Kept holds the values for the next run, by job: JSON objects. They become part of
	// the state and, unless KeptFile is "", of the file of that name, whose other jobs
	// remain.
	Kept     map[string]json.RawMessage
	KeptFile string

	// Rewrite, unless it is nil, writes the content that appears under the name: before
	// has that of the file under the name, and is nil unless Append is set and there is
	// such a file; rows has what was written to the output.
	Rewrite func(to io.Writer, before, rows io.Reader) error
}

// publication is the record of a publication that has begun. It has all that is
// needed to complete it after a crash, any number of times.
type publication struct {
	Name     string                     `json:"name,omitempty"`     // "" if only values are kept
	Bytes    int64                      `json:"bytes"`              // of the rows
	Complete bool                       `json:"complete,omitempty"` // the rows are in the file of [CompleteSuffix]
	Append   bool                       `json:"append,omitempty"`
	Base     int64                      `json:"base,omitempty"`   // size of the file before it is appended to
	Prefix   []byte                     `json:"prefix,omitempty"` // comes first: the end of the last line of the file
	Skip     int64                      `json:"skip,omitempty"`   // bytes of the rows that are not added: their header
	Kept     map[string]json.RawMessage `json:"kept,omitempty"`
	KeptFile string                     `json:"keptFile,omitempty"`
	Sum      string                     `json:"sum,omitempty"` // hash of the rows, with a state

	undone bool // it failed, and the file under the name is as it was before
}

// Publish makes the rows of an output appear under its name, together with the values
// that are kept for the next run and, with a state, everything that was marked. If
// the process ends in the middle, the next run that opens the state, or the output,
// completes the publication. The output may be nil if the rows are not in a file.
// If the rows cannot be moved under the name, the file is as it was before, and the
// publication has not begun.
func (s *Store) Publish(o *Output, c Commitment) error {
	if err := s.repair(); err != nil { // one that failed in this run
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

// cancel forgets a publication that has changed nothing.
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
	var base int64 // its size
	if c.Append {
		var err error
		if before, base, err = o.earlier(); before != nil {
			defer before.Close()
		}
		if err != nil {
			return nil, ioError("open the output", err)
		}
	}
	if _, err := s.use(o); err != nil { // an output without rows is an empty file
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

// appendTo prepares a publication that adds rows to a file of some size.
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

// end replaces the record of a publication, which is complete, by its results.
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

// Release says that the rows of an output will not be published. They stay where they
// are until the next run replaces them, and the state has no claim to them.
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

// repair completes the publication in the state, if the run before this one ended in
// the middle of it.
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

// Repair completes the publication of the file at path, if a run without a state ended
// in the middle of it. It reports whether there was one.
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
// single rename needs none.
func (p *publication) recorded() bool {
	return p.Name != "" && (p.Append || p.Complete || p.KeptFile != "")
}

// from returns the name of the file that the rows are moved from.
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
		err = replaceFile(files, p.Name+RedoSuffix+".new", p.Name+RedoSuffix, append(text, '\n'))
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

// carryOut moves the rows under their name and saves the kept values. What has
// been done already is not done again.
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

// errNoRows says that the rows of a publication are neither where they were written
// nor under their name.
var errNoRows = errors.New("rows are missing")

// move moves the rows to the file under their name.
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
	partial := p.Name + PartialSuffix // its rows are under the name now
	return ioError("remove "+partial, errors.Join(files.Remove(partial), files.SyncDir(partial)))
}

// verify checks that the rows are those that were written: a run without the state may
// have replaced them.
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

// requireMoved checks that rows that are no longer where they were written are
// under their name.
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

// add appends the rows to the file. If that fails, the file is as it was before.
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

// added returns what the publication adds to the file.
func (p *publication) added(rows file) io.Reader {
	return io.MultiReader(bytes.NewReader(p.Prefix), io.NewSectionReader(rows, p.Skip, p.Bytes-p.Skip))
}

// requireOwn checks that nobody else has changed the end of the file since the
// publication began.
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

// begins reports whether the part of a file that was written is the beginning of a text.
// After a loss of power, bytes that were not synced may be zero.
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

// mergeKept replaces the values of some jobs in a file of kept values. Only its
// owner can read it, since a cursor may give access to data.
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
	return replaceFile(files, path+".new", path, append(text, '\n'))
}
