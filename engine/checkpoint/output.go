package checkpoint

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"os"
	"slices"
)

// PartialSuffix ends the name of a file whose rows are not complete yet.
const PartialSuffix = ".partial"

// maxOpen bounds the open files of a store. A run may have many more outputs.
const maxOpen = 64

// An Output is a file that belongs to the run. It is opened when something is
// written to it.
type Output struct {
	store *Store
	name  string // under which the content appears
	path  string // of the file that is written

	compression Compression
	frame       FrameWriter // nil: not needed since the file was opened
	framed      bool        // the frame has begun

	created   bool // the file holds the content of this run
	published bool
	file      file        // nil: closed
	written   extent      // everything; extent adds its sum
	digest    hash.Cloner // of the file; nil without a state
	marked    extent      // what belongs to the pending checkpoints
	atMark    hash.Cloner // digest of the marked content
	beyond    int64       // bytes found after the last commit
}

// extent is the committed part of an output. It catches every change of these
// bytes, at the cost of reading them once when a run resumes.
type extent struct {
	Bytes   int64  `json:"bytes"`
	Rows    int64  `json:"rows"`
	Head    int64  `json:"head,omitempty"`    // bytes of the header
	Note    string `json:"note,omitempty"`    // see [Output.SetNote]
	Sum     string `json:"sum"`               // hash of the file
	Partial bool   `json:"partial,omitempty"` // the rows are not published yet
}

// Output returns an output that is written under its own name from the start, like
// a trace. It refuses a file that was committed before and is now shorter or
// modified. It changes nothing: [Store.Begin] does.
func (s *Store) Output(path string) (*Output, error) { return s.output(path, path, nil) }

// Rows returns an output that is written to a file of the same name with the ending
// [PartialSuffix], compressed unless c is nil, and appears under its name by [Store.Publish].
// The file is created, and an earlier one replaced, when the first page is written.
// Otherwise Rows is like [Store.Output].
func (s *Store) Rows(path string, c Compression) (*Output, error) {
	return s.output(path, path+PartialSuffix, c)
}

func (s *Store) output(name, path string, c Compression) (*Output, error) {
	if o := s.outputs[name]; o != nil {
		return o, nil
	}
	o := &Output{store: s, name: name, path: path, compression: cmp.Or[Compression](c, uncompressed{})}
	if s.path != "" {
		o.digest = sha256.New().(hash.Cloner)
		o.mark()
	}
	if committed, known := s.state.Outputs[name]; known && committed != o.marked {
		if err := o.resume(committed); err != nil {
			return nil, err
		}
	}
	s.outputs[name] = o
	return o, nil
}

// partial reports whether the output does not appear under its name at once.
func (o *Output) partial() bool { return o.path != o.name }

// Name returns the name under which the output appears.
func (o *Output) Name() string { return o.name }

// Path returns the path of the file that is written.
func (o *Output) Path() string { return o.path }

// Lines returns the number of complete rows that were written, in earlier runs too.
func (o *Output) Lines() int64 { return o.written.Rows }

// Note returns what [Output.SetNote] has set, in earlier runs too.
func (o *Output) Note() string { return o.written.Note }

// SetNote notes what the writer of the output has to know to continue it, such as its
// columns. Like what is written, it is part of the next mark, and [Output.Rollback] goes
// back to the note of the last one.
func (o *Output) SetNote(note string) { o.written.Note = note }

// Created reports whether the output has received a page, in this run or in one that
// it resumes.
func (o *Output) Created() bool { return o.created }

// Published reports whether the output is under its name.
func (o *Output) Published() bool { return o.published }

// resume continues an output after its committed part. What was published is not
// looked at, since it belongs to others now.
func (o *Output) resume(committed extent) error {
	o.created, o.published = true, o.partial() && !committed.Partial
	o.written, o.marked = committed, committed
	if o.published {
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
	f, err := s.files.Open(o.path, 0)
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
	if _, err := sumOf(f, o.written.Bytes, o.digest); err != nil {
		return err
	}
	if o.extent() != o.marked {
		return s.refuse("its output %s was modified after the last commit", o.path)
	}
	return nil
}

// sumOf adds the beginning of a file to a hash, and returns its sum.
func sumOf(f file, size int64, h hash.Hash) (string, error) {
	_, err := io.Copy(h, io.NewSectionReader(f, 0, size))
	return hex.EncodeToString(h.Sum(nil)), ioError("read the output", err)
}

// extent describes everything that was written.
func (o *Output) extent() extent {
	e := o.written
	e.Sum, e.Partial = hex.EncodeToString(o.digest.Sum(nil)), o.partial() && !o.published
	return e
}

// mark says that everything that was written belongs to complete pages. The frame has
// ended.
func (o *Output) mark() {
	o.marked = o.extent()
	o.atMark, _ = o.digest.Clone() // cannot fail for SHA-256
}

// Torn reports whether the output holds more than was marked: part of a page, or a page
// on which the job failed. Without a state nothing is marked.
func (o *Output) Torn() bool {
	return o.digest != nil && (o.framed || o.written.Bytes > o.marked.Bytes)
}

// Rollback removes what was written after the last mark.
func (o *Output) Rollback() error {
	o.dropFrame()
	o.written = o.marked
	o.digest, _ = o.atMark.Clone() // cannot fail for SHA-256
	f, err := o.store.use(o)
	if err != nil {
		return err
	}
	return ioError("write the output", f.Truncate(o.written.Bytes))
}

// Write appends lines to the output. The next mark includes what was written.
func (o *Output) Write(p []byte) (int, error) {
	n, err := o.write(p)
	o.written.Rows += int64(bytes.Count(p[:n], []byte{'\n'}))
	return n, err
}

// WriteRows appends a text that has some number of rows, which are not its lines.
func (o *Output) WriteRows(p []byte, rows int) error {
	_, err := o.write(p)
	if err == nil {
		o.written.Rows += int64(rows)
	}
	return err
}

// WriteHeader writes the beginning of the output, before its rows. It is left out when
// the rows are appended to a file that has rows.
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

// use returns the open file of an output. If too many files are open, it closes those
// that were not used for the longest time.
func (s *Store) use(o *Output) (file, error) {
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

// openFile opens the file of an output, without what was written to it after the
// last commit of an earlier run.
func (s *Store) openFile(o *Output) (file, error) {
	if !o.created {
		return s.create(o)
	}
	f, err := s.files.Open(o.path, 0)
	if err != nil {
		return nil, err
	}
	if err := f.Truncate(o.written.Bytes); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// create makes the file of an output. One of an earlier run is replaced, and with it
// the state that it belongs to.
func (s *Store) create(o *Output) (file, error) {
	if s.stale {
		if err := errors.Join(s.files.Remove(s.path), s.files.SyncDir(s.path)); err != nil {
			return nil, err
		}
		s.stale = false
	}
	f, err := s.files.Open(o.path, s.mode)
	if err != nil {
		return nil, err
	}
	err = f.Truncate(0)
	if err == nil && s.path != "" {
		err = s.files.SyncDir(o.path) // a new file is durable once its directory is
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	o.created = true
	return f, nil
}

// sync makes what was written to an output durable.
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
