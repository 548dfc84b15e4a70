package checkpoint

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/runtime/failure"
)

// RedoSuffix is the file name ending of the record of a publication without a state, and of the
// files that name such a record: see [Repair].
const RedoSuffix = ".redo"

// CompleteSuffix is the file name ending of rewritten rows that are not published yet: see
// [Commitment].
const CompleteSuffix = ".complete"

// A Commitment describes the changes that [Store.Publish] makes at once.
type Commitment struct {
	// Parts are the outputs to be published.
	Parts []Part

	// Kept holds the values for the next run, by job, as JSON objects. They become part of the
	// state and, unless KeptFile is "", of that file, in which the values of other jobs remain.
	// There, KeptFor is added to them as [KeptForMember]: the [saved.KeepPart] of the fingerprint, by job.
	Kept     map[string]json.RawMessage
	KeptFile string
	KeptFor  map[string]string
}

// KeptForMember is the name, in a file of kept values, of the part of the fingerprint that says what
// the values of a job are about. It is not the name of a value.
const KeptForMember = "$for"

// A Part of a commitment is an output whose rows are published.
type Part struct {
	Output *Output

	// Append adds the rows to the existing file instead of replacing it.
	Append bool

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
	KeptFor  map[string]string          `json:"keptFor,omitempty"`
	Sum      string                     `json:"sum,omitempty"`    // hash of the rows, with a state
	Also     []*publication             `json:"also,omitempty"`   // further files, without kept values
	Record   string                     `json:"record,omitempty"` // absolute path of the record of several files, without a state

	moved  bool // the file has its rows
	undone bool // moving the rows of a file has failed, and that file is as it was before
}

// parts returns the publications of the single files.
func (p *publication) parts() []*publication {
	if p.Name == "" {
		return nil
	}
	return append([]*publication{p}, p.Also...)
}

// Publish publishes the rows of outputs under their names, together with the values that are kept
// for the next run and, with a state, all marked data. If the process ends in the middle, the next
// run that opens the state, the file of kept values or one of the outputs completes the
// publication. If rows cannot be moved before a file was replaced, the published files are as they
// were before, and the publication counts as not begun.
func (s *Store) Publish(c Commitment) error {
	if err := s.repair(); err != nil { // a publication that failed in this run
		return err
	}
	p, err := s.plan(c)
	if err != nil {
		p.discard(s.files)
		return err
	}
	if err := s.begin(p); err != nil {
		return err
	}
	err = p.carryOut(s.files)
	switch {
	case err == nil:
		return s.end(p)
	case p.undone && p.undo(s.files):
		p.discard(s.files)
		return errors.Join(err, s.forget(p))
	}
	for _, part := range c.Parts {
		part.Output.published = true
	}
	return err
}

// discard removes the rewritten rows of a publication that has changed nothing.
func (p *publication) discard(files fileSystem) {
	for _, part := range p.parts() {
		if part.Complete {
			_ = files.Remove(part.from()) // the next publication replaces it
		}
	}
}

// undo removes the rows that a failed publication has appended. It reports whether all files are as
// they were before. A file that was replaced cannot be restored.
func (p *publication) undo(files fileSystem) bool {
	parts := slices.DeleteFunc(p.parts(), func(part *publication) bool { return !part.moved })
	if slices.ContainsFunc(parts, func(part *publication) bool { return !part.Append }) {
		return false
	}
	return !slices.ContainsFunc(parts, func(part *publication) bool { return part.truncate(files) != nil })
}

// truncate removes the appended rows.
func (p *publication) truncate(files fileSystem) error {
	f, err := files.Open(p.Name, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Truncate(p.Base), f.Sync(), f.Close())
}

// plan prepares outputs for their publication. The result is not nil, even with an error.
func (s *Store) plan(c Commitment) (*publication, error) {
	p := &publication{}
	if err := s.settle(); err != nil {
		return p, err
	}
	for i, part := range c.Parts {
		one := p
		if i > 0 {
			one = &publication{}
			p.Also = append(p.Also, one)
		}
		if err := s.planPart(one, part); err != nil {
			return p, err
		}
	}
	p.Kept, p.KeptFile, p.KeptFor = c.Kept, c.KeptFile, c.KeptFor
	return p, nil
}

// planPart prepares an output for its publication, and decides how to publish it.
func (s *Store) planPart(p *publication, part Part) error {
	o := part.Output
	var before file
	var base int64 // size of the published file
	if part.Append {
		var err error
		if before, base, err = o.earlier(); before != nil {
			defer before.Close()
		}
		if err != nil {
			return ioError("open the output", err)
		}
	}
	// Create a file even for an output without rows.
	if _, err := s.use(o); err != nil {
		return err
	}
	if err := o.complete(base > 0); err != nil {
		return ioError("write the output", err)
	}
	if err := s.sync(o); err != nil {
		return err
	}
	if err := o.close(); err != nil {
		return ioError("save the output", err)
	}
	p.Name, p.Bytes = o.name, o.written.Bytes
	if o.digest != nil {
		p.Sum = hex.EncodeToString(o.digest.Sum(nil))
	}
	switch {
	case part.Rewrite != nil:
		return s.rewrite(p, part)
	case before != nil:
		return p.appendTo(before, base, o)
	}
	return nil
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
	s.state.Publish = p
	if s.path == "" {
		err := p.record(s.files)
		if err != nil {
			s.state.Publish = nil
		}
		return err
	}
	return s.save()
}

// end replaces the record of a completed publication with its results.
func (s *Store) end(p *publication) error {
	if s.state.Kept == nil {
		s.state.Kept = map[string]json.RawMessage{}
	}
	maps.Copy(s.state.Kept, p.Kept)
	for _, part := range p.parts() {
		e := s.state.Outputs[part.Name]
		e.Partial = false
		s.state.Outputs[part.Name] = e
		if o := s.outputs[part.Name]; o != nil {
			o.published, o.marked = true, e
		}
	}
	return s.forget(p)
}

// forget removes the record of a publication.
func (s *Store) forget(p *publication) error {
	s.state.Publish = nil
	if s.path == "" {
		return p.forget(s.files)
	}
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

// Discard forgets the positions of jobs, and the rows of outputs that are not published: the next
// run requests the lists of the jobs again from their start. The files stay until it replaces them.
// If no position is left, the run is over as after [Store.End]: the next one may have another
// configuration. Discard does nothing without a state.
func (s *Store) Discard(jobs []string, outputs ...*Output) error {
	if s.path == "" {
		return nil
	}
	if err := s.settle(); err != nil {
		return err
	}
	for _, job := range jobs {
		delete(s.state.Jobs, job)
	}
	for _, o := range outputs {
		if !o.published {
			o.marked = extent{Sum: hex.EncodeToString(sha256.New().Sum(nil)), Partial: o.partial()}
			s.state.Outputs[o.name] = o.marked
		}
	}
	s.state.Ended = len(s.state.Jobs) == 0
	return s.save()
}

// repair completes the publication in the state if the previous run ended in the middle of it.
func (s *Store) repair() error {
	p := s.state.Publish
	if p == nil {
		return nil
	}
	var err error
	for _, part := range p.parts() {
		err = cmp.Or(err, part.verify(s.files))
	}
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

// Repair completes the publication of the file at path, or of the kept values in it, if a run
// without a state ended in the middle of it. It reports whether there was such a publication.
func Repair(path string) (bool, error) { return repair(system{}, path) }

func repair(files fileSystem, path string) (bool, error) {
	p, err := readRecord(files, path)
	if p != nil && p.Name == "" {
		owner := strings.TrimSuffix(p.Record, RedoSuffix)
		if p, err = readRecord(files, owner); p == nil && err == nil { // it has not begun, or was completed
			return false, ioError("remove "+path+RedoSuffix, files.Remove(path+RedoSuffix))
		}
	}
	if p == nil || err != nil {
		return false, err
	}
	if p.Record == "" {
		p.Name = path
	}
	if err := p.carryOut(files); err != nil {
		if errors.Is(err, errNoRows) {
			err = &failure.Error{
				Class: failure.State, Op: "repair", Message: err.Error(), Err: err,
				Hint: "restore the file, or remove " + p.redo() + " to go on without these rows",
			}
		}
		return false, err
	}
	return true, p.forget(files)
}

// readRecord reads the record next to a file. It returns nil if there is none.
func readRecord(files fileSystem, path string) (*publication, error) {
	text, err := readFile(files, path+RedoSuffix)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, ioError("read "+path+RedoSuffix, err)
	}
	p := &publication{}
	if err := json.Unmarshal(text, p); err != nil || p.Name == "" && p.Record == "" {
		return nil, &failure.Error{
			Class: failure.State, Op: "repair", Message: path + RedoSuffix + " is damaged or was not written by stopwhen",
			Hint: "compare " + path + " with " + path + PartialSuffix + ", then remove it",
		}
	}
	return p, nil
}

// recorded reports whether a publication without a state has a record. A publication by a single
// rename needs no record.
func (p *publication) recorded() bool {
	return slices.ContainsFunc(p.parts(), func(part *publication) bool { return part.Append || part.Complete || p.KeptFile != "" })
}

// redo returns the name of the record.
func (p *publication) redo() string { return cmp.Or(p.Record, p.Name+RedoSuffix) }

// from returns the name of the file from which the rows are moved.
func (p *publication) from() string {
	if p.Complete {
		return p.Name + CompleteSuffix
	}
	return p.Name + PartialSuffix
}

// record saves a publication next to the file of kept values or, without that file, next to the
// first file of rows. The record of several files has a name next to each of them, so that
// every run that opens one of them finds it. A name without a record has no meaning.
func (p *publication) record(files fileSystem) error {
	if !p.recorded() {
		return nil
	}
	saved := *p
	if p.KeptFile != "" || len(p.Also) > 0 {
		var err error
		if saved, err = p.absolute(files); err != nil {
			return ioError("save the record of the rows", err)
		}
		p.Record = saved.Record
		for _, part := range p.parts() {
			if err := writeRecord(files, part.Name+RedoSuffix, publication{Record: saved.Record}); err != nil {
				return err
			}
		}
	}
	return writeRecord(files, p.redo(), saved)
}

func writeRecord(files fileSystem, path string, p publication) error {
	text, err := json.Marshal(p)
	if err == nil {
		err = replaceFile(files, path, append(text, '\n'))
	}
	return ioError("save "+path, err)
}

// absolute returns a publication with absolute paths, whose record can stand in any directory.
func (p *publication) absolute(files fileSystem) (publication, error) {
	all, also := *p, p.Also
	all.Also = nil
	for _, part := range also {
		one := *part
		all.Also = append(all.Also, &one)
	}
	all.Record = cmp.Or(p.KeptFile, p.Name) + RedoSuffix
	paths := []*string{&all.Name, &all.Record}
	if p.KeptFile != "" {
		paths = append(paths, &all.KeptFile)
	}
	for _, part := range all.Also {
		paths = append(paths, &part.Name)
	}
	for _, path := range paths {
		var err error
		if *path, err = files.Abs(*path); err != nil {
			return all, err
		}
	}
	return all, nil
}

// forget removes the record of a publication, and then its names.
func (p *publication) forget(files fileSystem) error {
	if !p.recorded() {
		return nil
	}
	err := errors.Join(files.Remove(p.redo()), files.SyncDir(p.redo()))
	for _, part := range p.parts() {
		err = errors.Join(err, files.Remove(part.Name+RedoSuffix))
	}
	return ioError("remove "+p.redo(), err)
}

// carryOut moves the rows to their names and saves the kept values. It skips completed steps. Rows
// are appended before files are replaced, because only the former can be undone.
func (p *publication) carryOut(files fileSystem) error {
	parts := p.parts()
	slices.SortStableFunc(parts, func(a, b *publication) int { return cmp.Compare(a.order(), b.order()) })
	for _, part := range parts {
		if err := part.move(files); err != nil {
			p.undone = part.undone
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

// order returns the place of a file among those of a publication.
func (p *publication) order() int {
	if p.Append {
		return 0
	}
	return 1
}

// keep saves the kept values in their file.
func (p *publication) keep(files fileSystem) error {
	if p.KeptFile == "" || len(p.Kept) == 0 {
		return nil
	}
	return ioError("save the kept values", mergeKept(files, p.KeptFile, p.Kept, p.KeptFor))
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
	return err
}

// removePartial removes the rows that the published file has now.
func (p *publication) removePartial(files fileSystem) error {
	if !p.Append && !p.Complete {
		return nil
	}
	partial := p.Name + PartialSuffix
	return ioError("remove "+partial, errors.Join(files.Remove(partial), files.SyncDir(partial)))
}

// verify checks that the rows are unchanged, because a run without the state may have replaced
// them.
func (p *publication) verify(files fileSystem) error {
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
func mergeKept(files fileSystem, path string, kept map[string]json.RawMessage, keptFor map[string]string) error {
	all := map[string]json.RawMessage{}
	text, err := readFile(files, path)
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	for job, values := range kept {
		if all[job], err = withMember(values, KeptForMember, keptFor[job]); err != nil {
			return err
		}
	}
	if text, err = json.MarshalIndent(all, "", "  "); err != nil {
		return err
	}
	return replaceFile(files, path, append(text, '\n'))
}

// withMember returns an object with one more member, unless its text is empty.
func withMember(object json.RawMessage, name, text string) (json.RawMessage, error) {
	if text == "" {
		return object, nil
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(object, &members); err != nil {
		return nil, err
	}
	encoded, err := json.Marshal(text)
	if err != nil {
		return nil, err
	}
	members[name] = encoded
	return json.Marshal(members)
}
