package checkpoint

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"slices"

	"github.com/stopwhen/stopwhen/engine/files"
)

// PartialSuffix ends the name of a file whose rows are not complete yet.
const PartialSuffix = ".partial"

// maxOpen limits the open files of a store. A run may have many more outputs.
const maxOpen = 64

// An Output is a file that belongs to the run. It is opened on the first write.
type Output struct {
	store *Store
	name  string // name of the published file
	path  string // path of the file being written

	private     bool // see [Output.Private]
	compression Compression
	frame       FrameWriter // nil until it is needed, after the file was opened
	framed      bool        // whether a frame has begun

	created  bool        // whether the file holds the content of this run
	finished bool        // see [Output.Finished]
	file     files.File  // nil while the file is closed
	identity any         // of the file; nil if it has not been opened, or is not known
	written  extent      // extent of everything written; method extent adds its sum
	digest   hash.Cloner // digest of the file; nil without a state
	marked   extent      // extent that belongs to the pending checkpoints
	atMark   hash.Cloner // digest of the marked content
	beyond   int64       // number of bytes found after the last commit
}

// extent describes the committed part of an output. It detects every change of these bytes, at the
// cost of reading them once when a run resumes.
type extent struct {
	Bytes   int64  `json:"bytes"`
	Rows    int64  `json:"rows"`
	Head    int64  `json:"head,omitempty"`    // size of the header in bytes
	Note    string `json:"note,omitempty"`    // see [Output.SetNote]
	Sum     string `json:"sum"`               // hash of the file
	Partial bool   `json:"partial,omitempty"` // whether the rows are not published yet

	Released bool `json:"released,omitempty"` // whether the rows will not be published: see [Store.Release]
}

// Rows returns an output that is written to a file with the additional ending [PartialSuffix],
// compressed unless c is nil. [Store.Publish] gives the file its own name. The file is created,
// and an earlier one replaced, when the first page is written. Rows refuses a file that was
// committed before and is now shorter or modified.
func (s *Store) Rows(name string, c Compression) (*Output, error) {
	if o := s.outputs[name]; o != nil {
		return o, nil
	}
	o := &Output{store: s, name: name, path: name + PartialSuffix, compression: cmp.Or[Compression](c, uncompressed{})}
	committed, known := s.state.Outputs[name]
	if s.path != "" {
		o.digest = digestOf(committed.Sum)
		o.mark()
	}
	if known && committed != o.marked {
		if err := o.resume(committed); err != nil {
			return nil, err
		}
	}
	s.outputs[name] = o
	return o, nil
}

// Name returns the name under which the output is published.
func (o *Output) Name() string { return o.name }

// Path returns the path of the file being written.
func (o *Output) Path() string { return o.path }

// Private declares, before anything is written, that only the owner can read the file.
func (o *Output) Private() { o.private = true }

// RowCount returns the number of complete rows written, including the rows of earlier runs.
func (o *Output) RowCount() int64 { return o.written.Rows }

// Note returns the value set by [Output.SetNote], possibly in an earlier run.
func (o *Output) Note() string { return o.written.Note }

// SetNote saves information that the writer of the output needs to continue it, such as its
// columns. Like written data, the note is part of the next mark, and [Output.Rollback] restores
// the note of the last mark.
func (o *Output) SetNote(note string) { o.written.Note = note }

// Created reports whether the output has received a page, in this run or in an earlier run that it
// resumes.
func (o *Output) Created() bool { return o.created }

// Finished reports whether this run writes nothing more to the output: it has been published, its publication
// is due, or the run that this run continues has released it.
func (o *Output) Finished() bool { return o.finished }

// Published reports whether the rows have been published under the name of the output.
func (o *Output) Published() bool { return o.finished && !o.Released() && !o.PublicationDue() }

// PublicationDue reports whether the publication of the rows has begun and failed, so that the next run completes
// it.
func (o *Output) PublicationDue() bool {
	p := o.store.state.Publish
	return p != nil && slices.ContainsFunc(p.moves(), func(move *fileMove) bool { return move.Name == o.name })
}

// Released reports whether the rows will not be published: see [Store.Release].
func (o *Output) Released() bool { return o.marked.Released }

// resume continues an output after its committed part. A published file is not checked, because it
// belongs to others now.
func (o *Output) resume(committed extent) error {
	o.created, o.finished = true, !committed.Partial
	o.written, o.marked = committed, committed
	if o.finished {
		return nil
	}
	if err := o.verify(); err != nil {
		return err
	}
	o.mark()
	return nil
}

// verify compares the output with its committed part.
func (o *Output) verify() error {
	s := o.store
	f, err := s.disk.Open(o.path)
	if errors.Is(err, os.ErrNotExist) {
		return s.refuse("its output %s is missing", o.path)
	}
	if err != nil {
		return ioError("open the output", err)
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return ioError("read the output", err)
	}
	if size < o.written.Bytes {
		return s.refuse("its output %s has %d bytes, fewer than the %d that were committed", o.path, size, o.written.Bytes)
	}
	o.beyond = size - o.written.Bytes
	if err := read(f, o.written.Bytes, o.digest); err != nil {
		return err
	}
	if o.extent() != o.marked {
		return s.refuse("its output %s was modified after the last commit", o.path)
	}
	return nil
}

// read adds the first size bytes of a file to a digest.
func read(f files.File, size int64, d hash.Hash) error {
	_, err := io.Copy(d, io.NewSectionReader(f, 0, size))
	return ioError("read the output", err)
}

// extent describes everything that was written.
func (o *Output) extent() extent {
	e := o.written
	e.Sum, e.Partial = sumOf(o.digest), !o.finished
	return e
}

// mark records that everything written so far belongs to complete pages. The frame must have
// ended.
func (o *Output) mark() {
	o.marked = o.extent()
	o.atMark, _ = o.digest.Clone() // cannot fail
}

// Torn reports whether the output holds unmarked data: part of a page, or a page on which the job
// failed. Without a state there are no marks.
func (o *Output) Torn() bool {
	return o.digest != nil && (o.framed || o.written.Bytes > o.marked.Bytes)
}

// Rollback removes everything written after the last mark.
func (o *Output) Rollback() error {
	o.dropFrame()
	o.written = o.marked
	o.digest, _ = o.atMark.Clone() // cannot fail
	f, err := o.store.use(o)
	if err != nil {
		return err
	}
	return ioError("write the output", f.Truncate(o.written.Bytes))
}

// Write appends lines to the output. They become part of the next mark.
func (o *Output) Write(p []byte) (int, error) {
	n, err := o.write(p)
	o.written.Rows += int64(bytes.Count(p[:n], []byte{'\n'}))
	return n, err
}

// WriteRows appends a text with the given number of rows, which may differ from its number of
// lines.
func (o *Output) WriteRows(p []byte, rows int) error {
	_, err := o.write(p)
	if err == nil {
		o.written.Rows += int64(rows)
	}
	return err
}

// WriteHeader writes the beginning of the output, before its rows. The header is omitted when the
// rows are appended to a file that already has rows.
func (o *Output) WriteHeader(p []byte) error {
	_, err := o.write(p)
	if err == nil {
		err = o.endFrame()
	}
	o.written.Head = o.written.Bytes
	return err
}

func (o *Output) write(p []byte) (int, error) {
	if _, err := o.store.use(o); err != nil {
		return 0, err
	}
	return o.openFrame().Write(p)
}

// appender appends bytes to the open file of an output.
type appender struct{ *Output }

func (o appender) Write(p []byte) (int, error) {
	n, err := o.file.Write(p)
	o.written.Bytes += int64(n)
	if o.digest != nil {
		o.digest.Write(p[:n])
	}
	return n, err
}

// use returns the open file of an output. If too many files are open, it closes the least recently
// used ones.
func (s *Store) use(o *Output) (files.File, error) {
	if i := slices.Index(s.open, o); i >= 0 {
		s.open = append(slices.Delete(s.open, i, i+1), o)
		return o.file, nil
	}
	limit := maxOpen
	if o.compression != (uncompressed{}) {
		limit = maxFrames
	}
	for len(s.open) >= limit {
		if err := s.open[0].close(); err != nil {
			return nil, ioError("write the output", err)
		}
	}
	f, err := s.openFile(o)
	if err != nil {
		return nil, ioError("open the output", err)
	}
	o.file, s.open = f, append(s.open, o)
	return f, nil
}

// openFile opens the file of an output without the data written after the last commit of an
// earlier run.
func (s *Store) openFile(o *Output) (files.File, error) {
	if !o.created {
		return s.create(o)
	}
	f, err := s.reopen(o)
	if err != nil {
		return nil, err
	}
	if err := f.Truncate(o.written.Bytes); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// reopen opens the file of an output again. It refuses a file that another program has put in its place,
// such as a run that does not see the lock of this one.
func (s *Store) reopen(o *Output) (files.File, error) {
	f, err := s.disk.Open(o.path)
	if err != nil {
		return nil, err
	}
	if o.identity == nil { // the file is from an earlier run
		o.identity = f.Identity()
		return f, nil
	}
	size, err := f.Size()
	if err == nil && (!f.Is(o.identity) || size != o.written.Bytes) { // a new file may have the number of a removed one
		err = fmt.Errorf("another program has replaced %s while rows were being written to it", o.path)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// create creates the file of an output. A file of an earlier run is replaced together with the
// state that it belongs to.
func (s *Store) create(o *Output) (files.File, error) {
	if s.Restarts() {
		if err := errors.Join(s.disk.Remove(s.path), s.disk.SyncDir(s.path)); err != nil {
			return nil, err
		}
		s.earlier.relation = fresh
	}
	mode := s.mode
	if o.private {
		mode = files.Private
	}
	if err := s.disk.Remove(o.name + CompleteSuffix); err != nil { // rows of a run that was killed while it rewrote them
		return nil, err
	}
	f, err := replaced(s.disk, o.path, mode)
	if err != nil {
		return nil, err
	}
	if s.path != "" {
		err = s.disk.SyncDir(o.path) // a new file is durable once its directory is synced
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	o.created, o.identity = true, f.Identity()
	return f, nil
}

// sync makes the data written to an output durable.
func (s *Store) sync(o *Output) error {
	if !o.created {
		return nil
	}
	f, err := s.use(o)
	if err != nil {
		return err
	}
	return ioError("save the output", f.Sync())
}

// close closes the file of an output until it is used again.
func (o *Output) close() error {
	i := slices.Index(o.store.open, o)
	if i < 0 {
		return nil
	}
	err := o.endFrame()
	o.dropFrame()
	o.store.open = slices.Delete(o.store.open, i, i+1)
	f := o.file
	o.file = nil
	return errors.Join(err, f.Close())
}

// replaced removes the file at path, if there is one, and creates it.
func replaced(disk files.System, path string, mode os.FileMode) (files.File, error) {
	if err := disk.Remove(path); err != nil {
		return nil, err
	}
	return disk.Create(path, mode)
}
