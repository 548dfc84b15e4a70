// Package checkpoint writes the files of a run so that nothing is lost. Rows appear
// under the name of their file only when they are complete: until then they are in
// a file of the same name with the ending [PartialSuffix].
//
// With a state file a run is resumable, too. The state holds the checkpoint of every
// job together with the length of every output file, so that a run can be killed at
// any moment and resumes after the last committed page, with every item in its
// output exactly once.
//
// A commit makes the outputs durable and then replaces the state file. Bytes
// that an output holds beyond its committed length are discarded when the run
// resumes. A publication is recorded before it begins, and a crash in the middle is
// repaired by the next run: see [Store.Publish].
//
// The record of a publication is part of the state. Without a state it is a file next to the
// output, and there is none if a single rename publishes the rows. What a caller asks for, a
// [Commitment], is not the record itself: whether rows are appended, rewritten or renamed
// depends on the files. A fingerprint is a flat map, as state files and the records of runs
// on many machines hold it; a struct would need the same prefixes to read and write them.
//
// # Decisions
//
// Where more than one rename is needed (appended rows, kept values, a state), a record of the
// publication is durable before it begins, and the next run carries it out again after a
// crash. A state ends, and the next increment begins, only when a run has told its success.
//
// An output is committed up to its last mark, which the page before has set, so a page that is
// half written, or on which a job failed, is never committed. The state says how many bytes of
// each output belong to it, with their digest, and is written after they were synced.
package checkpoint

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/runtime/failure"
)

// A Store is the outputs of a run, and its state if it has one. It must not be used
// by several goroutines at once, nor by several processes: the caller locks the
// state file.
type Store struct {
	files     fileSystem
	path      string      // of the state; "" if there is none
	mode      os.FileMode // of new outputs
	state     state
	resumed   bool
	follows   bool     // the state is that of a run that has ended
	earlier   []string // outputs of that run
	changed   string   // what an increment changes in the configuration of the one before; "" if nothing
	stale     bool     // the file at path is that of an earlier run, which this run replaces
	outputs   map[string]*Output
	open      []*Output                  // those with an open file, the latest last
	pending   map[string]json.RawMessage // by job, the checkpoints of the next commit
	idle      map[Compression][]FrameWriter
	discarded int64 // bytes of the outputs
}

// state is the content of a state file.
type state struct {
	Version     int                        `json:"version"`
	Program     string                     `json:"program"`
	Fingerprint map[string]string          `json:"fingerprint"` // of the configuration, by part
	Outputs     map[string]extent          `json:"outputs"`
	Jobs        map[string]json.RawMessage `json:"jobs"`              // the checkpoint of each job
	Kept        map[string]json.RawMessage `json:"kept,omitempty"`    // values for the next run, by job
	Publish     *publication               `json:"publish,omitempty"` // one that has begun
	Ended       bool                       `json:"ended,omitempty"`   // the run is over, and its caller knows it: see Store.End
	Sum         string                     `json:"sum"`               // checksum of all fields above
}

const version = 2

// Open reads the state file at path. If there is none, the run starts from the
// beginning. So does the increment after a run that has ended (see [Store.End]); the
// values of [Store.Kept] remain. The program names the writer of the file in the file
// itself. The fingerprint, that of engine.Engine.Fingerprint, must equal that of the run
// that wrote the state; after a run that has ended, only the parts of it that begin with
// [KeepPart] must. An error is of class state, with the problem and its fix, or of
// class io.
func Open(path, program string, fingerprint map[string]string) (*Store, error) {
	return open(system{}, path, program, fingerprint)
}

// Restart returns a store that ignores the state file at path, whatever it holds. The
// file and the outputs that belong to it are replaced when the run has its first page.
func Restart(path, program string, fingerprint map[string]string) (*Store, error) {
	return restart(system{}, path, program, fingerprint)
}

// Stateless returns a store without a state file. Its outputs cannot be resumed.
func Stateless() *Store {
	return stateless(system{})
}

func stateless(files fileSystem) *Store {
	s := newStore(files, "", "", nil)
	s.mode = 0o666
	return s
}

func newStore(files fileSystem, path, program string, fingerprint map[string]string) *Store {
	return &Store{
		files: files, path: path, mode: private,
		outputs: map[string]*Output{}, pending: map[string]json.RawMessage{}, idle: map[Compression][]FrameWriter{},
		state: state{
			Version: version, Program: program, Fingerprint: fingerprint,
			Outputs: map[string]extent{}, Jobs: map[string]json.RawMessage{},
		},
	}
}

func open(files fileSystem, path, program string, fingerprint map[string]string) (*Store, error) {
	s := newStore(files, path, program, fingerprint)
	text, err := readFile(files, path)
	if errors.Is(err, os.ErrNotExist) {
		return s, nil
	}
	if errors.Is(err, errTooLarge) {
		return nil, s.refuse("it is not a state file: %v", err)
	}
	if err != nil {
		return nil, ioError("read the state", err)
	}
	var found state
	if err := parse(text, &found); err != nil {
		return nil, s.refuse("%v", err)
	}
	found.Program = program
	s.state, s.resumed = found, true
	if err := s.repair(); err != nil {
		return nil, err
	}
	changed := changes(found.Fingerprint, fingerprint)
	switch {
	case found.Fingerprint[RunPart] != fingerprint[RunPart]: // the next run has pages of its own
		return nil, s.refuseOther(found.Fingerprint[RunPart], fingerprint[RunPart])
	case found.Ended:
		return s, s.next(fingerprint, changed)
	case changed != nil:
		return nil, s.refuse("it belongs to %s: %s changed", ownerOf(changed), strings.Join(changed, " and "))
	}
	return s, nil
}

func restart(files fileSystem, path, program string, fingerprint map[string]string) (*Store, error) {
	s := newStore(files, path, program, fingerprint)
	text, err := readFile(files, path)
	if err != nil && !errors.Is(err, os.ErrNotExist) && !errors.Is(err, errTooLarge) {
		return nil, ioError("read the state", err)
	}
	s.stale = err == nil || errors.Is(err, errTooLarge)
	earlier := newStore(files, path, program, fingerprint)
	if parse(text, &earlier.state) == nil {
		if err := earlier.repair(); errors.Is(err, failure.ErrIO) {
			return nil, err
		}
	}
	return s, nil
}

// parse reads the text of a state file. It accepts exactly the bytes that encode
// writes.
func parse(text []byte, into *state) error {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return fmt.Errorf("it is damaged or not a state file: %w", err)
	}
	if into.Version != version {
		return fmt.Errorf("it has version %d; this program writes version %d", into.Version, version)
	}
	want, err := into.encode()
	if err != nil {
		return err
	}
	if !bytes.Equal(want, text) {
		return errors.New("it is damaged: its checksum does not match its content")
	}
	return nil
}

// encode returns the text of a state file, with its checksum.
func (s state) encode() ([]byte, error) {
	s.Sum = ""
	text, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(text)
	s.Sum = hex.EncodeToString(sum[:])
	text, err = json.Marshal(s)
	return append(text, '\n'), err
}

// changes returns the parts of a configuration whose fingerprints differ.
func changes(before, now map[string]string) []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if before[name] != now[name] {
			names = append(names, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(before)) { // a part of kept values may be that of a job which this run does not have
		switch _, known := now[name]; {
		case known || strings.HasPrefix(name, KeepPart):
		case strings.HasPrefix(name, InputPart):
			names = append(names, name)
		default:
			return []string{"something"}
		}
	}
	return names
}

// refusals says what a state belongs to whose fingerprint differs in parts with a prefix. If
// several apply, the last one counts.
var refusals = []struct{ prefix, owner string }{
	{OrderPart, "a collection with other options"},
	{FormatPart, "a collection with other options"},
	{InputPart, "a run with other inputs"},
	{"", "another configuration"},
}

// ownerOf says what a state belongs to whose fingerprint differs in some parts.
func ownerOf(changed []string) string {
	last := 0
	for _, name := range changed {
		for i, r := range refusals {
			if strings.HasPrefix(name, r.prefix) {
				last = max(last, i)
				break
			}
		}
	}
	return refusals[last].owner
}

func (s *Store) refuse(format string, args ...any) *failure.Error {
	return &failure.Error{
		Class: failure.State, Op: "resume",
		Message: fmt.Sprintf("state %s cannot be used: ", s.path) + fmt.Sprintf(format, args...),
		Hint:    "--restart starts over and replaces the output",
	}
}

// refuseOther refuses the state of another run than this one.
func (s *Store) refuseOther(run, this string) error {
	name, _, _ := strings.Cut(run, " ")
	owner := "run " + name
	switch this, _, _ := strings.Cut(this, " "); {
	case run == "":
		owner = "a run on one machine"
	case name == this:
		owner = "an earlier run of the same name, " + name
	}
	err := s.refuse("it belongs to %s", owner)
	err.Hint = "name another file for the state, or use --restart to start over and replace the output"
	return err
}

// ioError says what an error kept from being done. It returns nil if there is no error.
func ioError(action string, err error) error {
	if err == nil {
		return nil
	}
	return &failure.Error{Class: failure.IO, Op: "state", Message: fmt.Sprintf("cannot %s: %v", action, err), Err: err}
}

// Resumed reports whether the state is that of an earlier run, which this run
// continues.
func (s *Store) Resumed() bool { return s.resumed }

// Jobs returns the last committed checkpoint of each job, for engine.WithResume.
func (s *Store) Jobs() map[string]json.RawMessage { return maps.Clone(s.state.Jobs) }

// Kept returns the values that the last publications saved, by job and name.
func (s *Store) Kept() (map[string]map[string]any, error) {
	all := map[string]map[string]any{}
	for job, text := range s.state.Kept {
		var values map[string]any
		dec := json.NewDecoder(bytes.NewReader(text))
		dec.UseNumber()
		if err := dec.Decode(&values); err != nil {
			return nil, s.refuse("the values that job %s kept: %v", job, err)
		}
		all[job] = values
	}
	return all, nil
}

// Path returns the path of the state file; "" if there is none.
func (s *Store) Path() string { return s.path }

// Discarded returns how many bytes [Store.Begin] discarded from the outputs,
// because they were written after the last commit.
func (s *Store) Discarded() int64 { return s.discarded }

// Committed returns how many bytes of all outputs are committed.
func (s *Store) Committed() int64 {
	var n int64
	for _, e := range s.state.Outputs {
		n += e.Bytes
	}
	return n
}

// Changed names the parts of the configuration that this increment changes, such as
// "rules". It is "" if nothing changed, and in a run that resumes.
func (s *Store) Changed() string { return s.changed }

// End saves that the run is over: the next one that opens the state begins the next
// increment. It must be called when nothing else can fail. A run that fails or is
// killed before End has not told anybody that it is complete, so the run after it
// resumes it, with nothing left to extract. End does nothing if there is no state, or if
// the rows of an output are not published.
func (s *Store) End() error {
	if s.path == "" || s.state.Publish != nil {
		return nil
	}
	for _, e := range s.state.Outputs {
		if e.Partial {
			return nil
		}
	}
	s.state.Ended = true
	return s.save()
}

// KeepPart begins the names of the parts of a fingerprint that say what the kept values
// of a job mean. The id of the job follows.
const KeepPart = "keep of "

// InputPart begins the names of the parts of a fingerprint that are values of inputs. The
// name of the input follows.
const InputPart = "input "

// The names of the parts that only the fingerprint of a collection has: see the package
// engine/cluster. RunPart is the name of its run and, after a space, which of the runs of
// that name it is. A state of one run is refused by all
// others, also when it has ended.
const (
	RunPart    = "run"
	OrderPart  = "order"
	FormatPart = "format"
)

// Follows reports whether the state is that of a run that has ended, and the outputs which
// that run had.
func (s *Store) Follows() (outputs []string, follows bool) { return s.earlier, s.follows }

// Repeats reports whether the state is that of a run that has ended, nothing of what its
// fingerprint says has changed since, and its outputs were these.
func (s *Store) Repeats(outputs []string) bool {
	return s.follows && s.changed == "" && slices.Equal(s.earlier, slices.Sorted(slices.Values(outputs)))
}

// next begins the next increment: its jobs start at the beginning, and its outputs may
// be others.
func (s *Store) next(fingerprint map[string]string, changed []string) error {
	fingerprint = maps.Clone(fingerprint)
	for _, job := range slices.Sorted(maps.Keys(s.state.Kept)) {
		before := s.state.Fingerprint[KeepPart+job]
		if now, keeps := fingerprint[KeepPart+job]; keeps && now != before {
			return s.refuse("it holds values that job %s kept for a list that was requested in another way", job)
		}
		fingerprint[KeepPart+job] = before // also of a job that this run does not have
	}
	s.changed, s.resumed, s.follows, s.earlier = strings.Join(changed, " and "), false, true, slices.Sorted(maps.Keys(s.state.Outputs))
	s.state.Ended, s.state.Fingerprint = false, fingerprint
	s.state.Jobs, s.state.Outputs = map[string]json.RawMessage{}, map[string]extent{}
	return nil
}

// Begin starts writing, once all outputs are known. It refuses to resume with
// different outputs, since none of them would be complete.
func (s *Store) Begin() error {
	if err := s.matchOutputs(); err != nil {
		return err
	}
	for _, o := range s.outputs {
		s.discarded += o.beyond
		if o.partial() {
			continue
		}
		if _, err := s.use(o); err != nil {
			return err
		}
	}
	return nil
}

// matchOutputs checks that a resumed run has the same outputs as before.
func (s *Store) matchOutputs() error {
	if !s.resumed {
		return nil
	}
	for path := range s.state.Outputs {
		if s.outputs[path] == nil {
			return s.refuse("its output %s is not an output of this run", path)
		}
	}
	for path := range s.outputs {
		if _, known := s.state.Outputs[path]; !known {
			return s.refuse("this run writes to output %s, which the state does not include", path)
		}
	}
	return nil
}

// Mark says that everything that was written to some outputs so far belongs to
// the pages up to the checkpoint of a job. The next commit saves both. What is
// written to an output after its last mark, a page on which the run fails, for
// example, is not part of a commit. An error means that nothing was marked.
func (s *Store) Mark(job string, checkpoint json.RawMessage, outputs ...*Output) error {
	if s.path == "" {
		return nil
	}
	for _, o := range outputs {
		if err := o.endFrame(); err != nil {
			return ioError("write the output", err)
		}
	}
	for _, o := range outputs {
		o.mark()
	}
	s.pending[job] = slices.Clone(checkpoint)
	return nil
}

// Flush commits what was marked. It does nothing if nothing was, or if there is no
// state.
func (s *Store) Flush() error {
	if len(s.pending) == 0 {
		return nil
	}
	if err := s.settle(); err != nil {
		return err
	}
	return s.save()
}

// settle makes the marked part of the outputs durable and adds it and the pending
// checkpoints to the state, which is then to be saved.
func (s *Store) settle() error {
	for name, o := range s.outputs {
		if s.state.Outputs[name] == o.marked {
			continue
		}
		if err := s.sync(o); err != nil {
			return err
		}
		s.state.Outputs[name] = o.marked
	}
	maps.Copy(s.state.Jobs, s.pending)
	clear(s.pending)
	return nil
}

// save replaces the state file.
func (s *Store) save() error {
	text, err := s.state.encode()
	if len(text) > maxStateBytes {
		err = fmt.Errorf("%w; let fewer or smaller variables be part of the state", errTooLarge)
	}
	if err == nil {
		err = replaceFile(s.files, s.path+".new", s.path, text)
	}
	if err != nil {
		return ioError("save the state", err)
	}
	s.stale = false
	return nil
}

// Close closes the outputs. What was written after the last commit remains in
// the files until the run resumes.
func (s *Store) Close() error {
	var err error
	for len(s.open) > 0 {
		err = errors.Join(err, s.open[0].close())
	}
	s.outputs = map[string]*Output{}
	return err
}
