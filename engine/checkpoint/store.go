// Package checkpoint makes runs resumable. It saves the checkpoint of every job
// together with the length of every output file, so that a run can be killed at
// any moment and resumes after the last committed page, with every item in its
// output exactly once.
//
// A commit makes the outputs durable and then replaces the state file. Bytes
// that an output holds beyond its committed length are discarded when the run
// resumes.
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

// A Store is the state of a run and the outputs that belong to it. It must not
// be used by several goroutines at once, nor by several processes: the caller
// locks the state file.
type Store struct {
	files     fileSystem
	path      string
	state     state
	resumed   bool
	outputs   map[string]*Output
	discarded int64 // bytes of the outputs
}

// state is the content of a state file.
type state struct {
	Version     int                        `json:"version"`
	Program     string                     `json:"program"`
	Fingerprint map[string]string          `json:"fingerprint"` // of the configuration, by part
	Outputs     map[string]extent          `json:"outputs"`
	Jobs        map[string]json.RawMessage `json:"jobs"` // the checkpoint of each job
	Sum         string                     `json:"sum"`  // checksum of all fields above
}

// extent is the committed part of an output.
type extent struct {
	Bytes int64  `json:"bytes"`
	Tail  string `json:"tail"` // hash of its last 64 KiB
}

const (
	version  = 1
	tailSize = 64 << 10
)

// Open reads the state file at path. If there is none, the run starts from the
// beginning. The program names the writer of the file in the file itself. The
// fingerprint, that of engine.Engine.Fingerprint, must equal that of the run
// that wrote the state. An error is of class state, with the problem and its
// fix, or of class io.
func Open(path, program string, fingerprint map[string]string) (*Store, error) {
	return open(system{}, path, program, fingerprint)
}

func open(files fileSystem, path, program string, fingerprint map[string]string) (*Store, error) {
	s := &Store{files: files, path: path, outputs: map[string]*Output{}, state: state{
		Version: version, Program: program, Fingerprint: fingerprint,
		Outputs: map[string]extent{}, Jobs: map[string]json.RawMessage{},
	}}
	text, err := s.read()
	if errors.Is(err, os.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return nil, ioError("read the state", err)
	}
	var found state
	if err := parse(text, &found); err != nil {
		return nil, s.refuse("%v", err)
	}
	if changed := changes(found.Fingerprint, fingerprint); changed != "" {
		return nil, s.refuse("it belongs to another configuration: %s changed", changed)
	}
	found.Program = program
	s.state, s.resumed = found, true
	return s, nil
}

func (s *Store) read() ([]byte, error) {
	f, err := s.files.Open(s.path, false)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	text := make([]byte, size)
	_, err = f.ReadAt(text, 0)
	return text, err
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

// changes names the parts of a configuration whose fingerprints differ.
func changes(before, now map[string]string) string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if before[name] != now[name] {
			names = append(names, name)
		}
	}
	if len(before) != len(now) && names == nil {
		names = []string{"something"}
	}
	return strings.Join(names, " and ")
}

func (s *Store) refuse(format string, args ...any) error {
	return &failure.Error{
		Class: failure.State, Op: "resume",
		Message: fmt.Sprintf("state %s cannot be used: ", s.path) + fmt.Sprintf(format, args...),
		Hint:    "--restart starts over and replaces the output",
	}
}

func ioError(action string, err error) error {
	return &failure.Error{Class: failure.IO, Op: "state", Message: fmt.Sprintf("cannot %s: %v", action, err), Err: err}
}

// Resumed reports whether the state file existed, so that the run resumes.
func (s *Store) Resumed() bool { return s.resumed }

// Jobs returns the last committed checkpoint of each job, for engine.WithResume.
func (s *Store) Jobs() map[string]json.RawMessage { return maps.Clone(s.state.Jobs) }

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

// An Output is a file that belongs to the run.
type Output struct {
	file   file
	size   int64
	beyond int64 // bytes found after the last commit
	dirty  bool
}

// Output opens an output file of the run. It refuses a file that was committed
// before and is now shorter or modified. It changes nothing: [Store.Begin] does.
func (s *Store) Output(path string) (*Output, error) {
	if o := s.outputs[path]; o != nil {
		return o, nil
	}
	committed, known := s.state.Outputs[path]
	f, err := s.files.Open(path, !known)
	if errors.Is(err, os.ErrNotExist) && known {
		return nil, s.refuse("its output %s is missing", path)
	}
	if err != nil {
		return nil, ioError("open the output", err)
	}
	o := &Output{file: f, size: committed.Bytes, dirty: !known}
	if err := s.verify(o, path); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	s.outputs[path] = o
	return o, nil
}

// verify compares an output with its committed part.
func (s *Store) verify(o *Output, path string) error {
	size, err := o.file.Size()
	if err != nil {
		return ioError("read the output", err)
	}
	if size < o.size {
		return s.refuse("its output %s has %d bytes, fewer than the %d that were committed", path, size, o.size)
	}
	o.beyond = size - o.size
	committed, known := s.state.Outputs[path]
	if !known {
		return nil
	}
	tail, err := o.tail()
	if err != nil {
		return ioError("read the output", err)
	}
	if tail != committed.Tail {
		return s.refuse("its output %s was modified after the last commit", path)
	}
	return nil
}

// Begin starts writing, once all outputs are open: it discards what was written
// to them after the last commit, or all of their content if the run does not
// resume. It refuses to resume with different outputs, since none of
// them would be complete.
func (s *Store) Begin() error {
	if err := s.matchOutputs(); err != nil {
		return err
	}
	for path, o := range s.outputs {
		if err := o.file.Truncate(o.size); err != nil {
			return ioError("truncate the output", err)
		}
		if s.resumed {
			s.discarded += o.beyond
			continue
		}
		if err := s.files.SyncDir(path); err != nil { // a new file is durable once its directory is
			return ioError("create the output", err)
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

// Write appends to the output. The next commit includes what was written.
func (o *Output) Write(p []byte) (int, error) {
	n, err := o.file.Write(p)
	o.size += int64(n)
	o.dirty = o.dirty || n > 0
	return n, err
}

// tail hashes the last bytes of the output.
func (o *Output) tail() (string, error) {
	from := max(0, o.size-tailSize)
	end := make([]byte, o.size-from)
	if len(end) > 0 {
		if _, err := o.file.ReadAt(end, from); err != nil {
			return "", err
		}
	}
	sum := sha256.Sum256(end)
	return hex.EncodeToString(sum[:]), nil
}

// Commit saves the checkpoints of jobs together with everything that was written
// to the outputs, all of which must belong to pages up to these checkpoints.
// When Commit returns, both survive the end of the process and a power failure.
func (s *Store) Commit(checkpoints map[string]json.RawMessage) error {
	for path, o := range s.outputs {
		if !o.dirty {
			continue
		}
		if err := o.file.Sync(); err != nil {
			return ioError("save the output", err)
		}
		tail, err := o.tail()
		if err != nil {
			return ioError("read the output", err)
		}
		s.state.Outputs[path] = extent{o.size, tail}
		o.dirty = false
	}
	for job, checkpoint := range checkpoints {
		s.state.Jobs[job] = slices.Clone(checkpoint)
	}
	text, err := s.state.encode()
	if err == nil {
		err = replaceFile(s.files, s.path+".new", s.path, text)
	}
	if err != nil {
		return ioError("save the state", err)
	}
	return nil
}

// Close closes the outputs. What was written after the last commit remains in
// the files until the run resumes.
func (s *Store) Close() error {
	var err error
	for _, o := range s.outputs {
		err = errors.Join(err, o.file.Close())
	}
	s.outputs = map[string]*Output{}
	return err
}
