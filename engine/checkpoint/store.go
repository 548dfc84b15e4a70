package checkpoint

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/engine/files"
	"github.com/stopwhen/stopwhen/rules/remedy"
	"github.com/stopwhen/stopwhen/runtime/failure"
	"github.com/stopwhen/stopwhen/runtime/saved"
)

// A Store holds the outputs of a run, and its state if it has one. It must not be used by several
// goroutines or several processes at once: the caller locks the state file.
type Store struct {
	disk      files.System
	path      string      // path of the state; "" without a state
	mode      os.FileMode // mode of new outputs
	state     stateFile
	saved     savedFile // the file at path, if commits can be appended to it
	earlier   earlierRun
	outputs   map[string]*Output
	open      []*Output                     // outputs with an open file, most recently used last
	pending   map[string]json.RawMessage    // checkpoints of the next commit, by job
	noted     map[string]string             // notes of the next commit
	idle      map[Compression][]FrameWriter // compressors of closed frames, for reuse
	discarded int64                         // number of bytes discarded from the outputs
}

// A relation says what a run does with the run that wrote the state file.
type relation int

// The relations.
const (
	fresh      relation = iota // there is no earlier run, or nothing is left of it
	resumes                    // the run continues it
	increments                 // it has ended, and the run is the next increment
	restarts                   // the run ignores it, and replaces its files
)

// An earlierRun describes the run that wrote the state file.
type earlierRun struct {
	relation relation

	outputs []string // its outputs, if it has ended
	changed string   // parts of the configuration that changed since then; "" if nothing changed
}

// Open reads the state file at path. If the file does not exist, the run starts from the
// beginning. So does the increment after a run that has ended (see [Store.End]); the values of
// [Store.Kept] remain. program names the writer in the file. The fingerprint, from
// engine.Engine.Fingerprint, must equal the fingerprint of the run that wrote the state; after a
// run that has ended, only the parts that begin with [saved.KeepPart] must be equal. The error is of
// class state, with the problem and its fix, or of class io.
func Open(path, program string, fingerprint map[string]string) (*Store, error) {
	files.RemoveLeftovers(path)
	return open(files.OS(), path, program, fingerprint)
}

// Restart returns a store that ignores the content of the state file at path. The file and the
// outputs that belong to it are replaced when the run receives its first page.
func Restart(path, program string, fingerprint map[string]string) (*Store, error) {
	files.RemoveLeftovers(path)
	return restart(files.OS(), path, program, fingerprint)
}

// Stateless returns a store without a state file. Its outputs cannot be resumed.
func Stateless() *Store {
	return stateless(files.OS())
}

// The functions below do the same for any file system, so that tests can lose unsynced data.

func stateless(disk files.System) *Store {
	s := newStore(disk, "", "", nil)
	s.mode = 0o666
	return s
}

func newStore(disk files.System, path, program string, fingerprint map[string]string) *Store {
	return &Store{
		disk: disk, path: path, mode: files.Private,
		outputs: map[string]*Output{}, pending: map[string]json.RawMessage{}, idle: map[Compression][]FrameWriter{},
		state: stateFile{
			Version: version, Program: program, Fingerprint: fingerprint,
			Outputs: map[string]extent{}, Jobs: map[string]json.RawMessage{},
		},
	}
}

// open reads the state, completes a publication that it records, and compares the fingerprints. They decide
// whether the run resumes, begins the next increment, or is refused.
func open(disk files.System, path, program string, fingerprint map[string]string) (*Store, error) {
	s := newStore(disk, path, program, fingerprint)
	text, err := readFile(disk, path)
	if errors.Is(err, os.ErrNotExist) {
		return s, nil
	}
	if errors.Is(err, errTooLarge) {
		return nil, s.refuse("it is not a state file: %v", err)
	}
	if err != nil {
		return nil, ioError("read the state", err)
	}
	var found stateFile
	if err := parse(text, &found); err != nil {
		return nil, s.refuse("%v", err)
	}
	found.Program = program
	s.state, s.earlier.relation = found, resumes
	changed := changes(found.Fingerprint, fingerprint)
	switch { // a run that is refused changes nothing
	case found.Fingerprint[RunPart] != fingerprint[RunPart]: // the next run has pages of its own
		return nil, s.refuseOther(found.Fingerprint[RunPart], fingerprint[RunPart])
	case !found.Ended && changed != nil:
		return nil, s.refuse("it belongs to %s: %s changed", ownerOf(changed), strings.Join(changed, " and "))
	}
	if err := s.completePublication(); err != nil {
		return nil, err
	}
	if found.Ended {
		return s, s.next(fingerprint, changed)
	}
	return s, nil
}

// restart completes a publication that the state records, since published files must be complete even if
// this run replaces them only later. It ignores everything else in the state.
func restart(disk files.System, path, program string, fingerprint map[string]string) (*Store, error) {
	s := newStore(disk, path, program, fingerprint)
	text, err := readFile(disk, path)
	if err != nil && !errors.Is(err, os.ErrNotExist) && !errors.Is(err, errTooLarge) {
		return nil, ioError("read the state", err)
	}
	if err == nil || errors.Is(err, errTooLarge) {
		s.earlier.relation = restarts
	}
	var found stateFile
	if parse(text, &found) == nil {
		before := newStore(disk, path, program, nil)
		before.state = found
		if err := before.completePublication(); errors.Is(err, failure.ErrIO) {
			return nil, err
		}
	}
	return s, nil
}

// ioError returns an error of class io for an action that failed, or nil if err is nil.
func ioError(action string, err error) error {
	if known, ok := errors.AsType[*failure.Error](err); err == nil || ok && known.Class != failure.IO { // such as rows without a key
		return err
	}
	return &failure.Error{Class: failure.IO, Op: "state", Message: fmt.Sprintf("cannot %s: %v", action, err), Err: err}
}

// Resumed reports whether the state is from an earlier run that this run continues.
func (s *Store) Resumed() bool { return s.earlier.relation == resumes }

// Restarts reports whether this run ignores the run that the state file holds, and replaces its files: see [Restart].
func (s *Store) Restarts() bool { return s.earlier.relation == restarts }

// Jobs returns the last committed checkpoint of each job, for engine.WithResume.
func (s *Store) Jobs() map[string]json.RawMessage { return maps.Clone(s.state.Jobs) }

// Note returns a text that SetNote has set, possibly in a run that this run continues.
func (s *Store) Note(name string) string { return s.state.Notes[name] }

// SetNote adds a text to the next commit, for the run that continues this run.
func (s *Store) SetNote(name, text string) {
	if s.state.Notes == nil {
		s.state.Notes = map[string]string{}
	}
	s.state.Notes[name] = text
	if s.noted == nil {
		s.noted = map[string]string{}
	}
	s.noted[name] = text
}

// Path returns the path of the state file, or "" without a state.
func (s *Store) Path() string { return s.path }

// DiscardedBytes returns the number of bytes that the run discards from the outputs because they were
// written after the last commit. It is known after [Store.Begin].
func (s *Store) DiscardedBytes() int64 { return s.discarded }

// Committed returns the number of committed bytes of all outputs.
func (s *Store) Committed() int64 {
	var n int64
	for _, e := range s.state.Outputs {
		n += e.Bytes
	}
	return n
}

// Changed returns the names of the parts of the configuration that this increment changes, such as
// "rules". It is "" if nothing changed, and in a run that resumes.
func (s *Store) Changed() string { return s.earlier.changed }

// End records that the run is over, so that the next run that opens the state begins the next
// increment. It must be called when nothing else can fail. A run that fails or is killed before
// End has not reported its success, so the next run resumes it, with nothing left to extract. End
// does nothing without a state, or if the rows of an output are not published.
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

// Follows reports whether the state is from a run that has ended, and returns the outputs of that
// run.
func (s *Store) Follows() (outputs []string, ended bool) {
	return s.earlier.outputs, s.earlier.relation == increments
}

// Repeats reports whether the state is from a run that has ended and that had the same fingerprint
// and the given outputs.
func (s *Store) Repeats(outputs []string) bool {
	e := s.earlier
	return e.relation == increments && e.changed == "" && slices.Equal(e.outputs, slices.Sorted(slices.Values(outputs)))
}

// next begins the next increment after a run that has ended: its jobs start from the beginning, and its
// outputs may differ. Only the kept values remain, so next refuses values that were kept for another list.
func (s *Store) next(fingerprint map[string]string, changed []string) error {
	fingerprint = maps.Clone(fingerprint)
	for _, job := range slices.Sorted(maps.Keys(s.state.Kept)) {
		before := s.state.Fingerprint[saved.KeepPart+job]
		now, keeps := fingerprint[saved.KeepPart+job]
		if details, changed := saved.Changed(before, now); changed && keeps && before != "" {
			return s.refuse("it holds values that job %s kept for %s", job, otherList(before, now, details)).
				WithRemedy("name another file for the state and another directory"+orStartOver, remedy.StartOver)
		}
		if before != "" && !keeps { // this run does not have the job
			fingerprint[saved.KeepPart+job] = before
		}
	}
	s.earlier = earlierRun{
		relation: increments, outputs: slices.Sorted(maps.Keys(s.state.Outputs)), changed: strings.Join(changed, " and "),
	}
	s.state.Ended, s.state.Fingerprint = false, fingerprint
	s.state.Jobs, s.state.Outputs, s.state.Notes = map[string]json.RawMessage{}, map[string]extent{}, nil
	return nil
}

// Begin must be called once all outputs are known, before anything is written. It refuses to resume
// with different outputs, because then no output would be complete.
func (s *Store) Begin() error {
	if err := s.matchOutputs(); err != nil {
		return err
	}
	for _, o := range s.outputs {
		s.discarded += o.beyond
	}
	return nil
}

// matchOutputs checks that a resumed run has the same outputs as the earlier run.
func (s *Store) matchOutputs() error {
	if !s.Resumed() {
		return nil
	}
	for path := range s.state.Outputs {
		if s.outputs[path] == nil {
			return s.refuseOutputs("%s, which this run does not write", path)
		}
	}
	for path := range s.outputs {
		if _, known := s.state.Outputs[path]; !known {
			return s.refuseOutputs("other files than this run, which would write %s", path)
		}
	}
	return nil
}

// Mark records that everything written to the given outputs so far belongs to the pages up to the
// checkpoint of a job. The next commit saves both. Data written after the last mark, such as a
// page on which the run fails, is not committed. An error means that nothing was marked.
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

// Flush commits the marked data. It does nothing if nothing was marked or there is no state.
func (s *Store) Flush() error {
	if len(s.pending) == 0 {
		return nil
	}
	file, c := s.saved, commitLine{Jobs: map[string]change{}, Outputs: map[string]extent{}, Notes: s.noted}
	for job, now := range s.pending {
		c.Jobs[job] = changeOf(file.jobs[job], now)
	}
	for name, o := range s.outputs {
		if s.state.Outputs[name] != o.marked {
			c.Outputs[name] = o.marked
		}
	}
	if err := s.addMarked(); err != nil {
		return err
	}
	s.saved = file // the line has all that was marked
	return s.appendCommit(c)
}

// addMarked makes the marked part of the outputs durable and adds it, with the pending checkpoints,
// to the state. The caller saves the state.
func (s *Store) addMarked() error {
	s.saved = savedFile{} // a line appended later would not have what addMarked adds to the state
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
	s.noted = nil
	return nil
}

// save replaces the state file.
func (s *Store) save() error {
	s.saved = savedFile{}
	for job, text := range s.state.Jobs { // as they stand in the file
		var err error
		if s.state.Jobs[job], err = json.Marshal(text); err != nil {
			return ioError("save the state", err)
		}
	}
	text, err := s.state.encode()
	if len(text) > maxStateBytes {
		err = fmt.Errorf("%w; declare fewer variables, or keep smaller values in them", errTooLarge)
	}
	if err == nil {
		err = replaceFile(s.disk, s.path, text)
	}
	if err != nil {
		return ioError("save the state", err)
	}
	if s.Restarts() {
		s.earlier.relation = fresh
	}
	s.saved = savedFile{jobs: maps.Clone(s.state.Jobs), sum: sumOfLine(text), size: len(text)}
	return nil
}

// Close closes the outputs. Data written after the last commit remains in the files until the run
// resumes.
func (s *Store) Close() error {
	var err error
	for len(s.open) > 0 {
		err = errors.Join(err, s.open[0].close())
	}
	s.outputs = map[string]*Output{}
	return err
}
