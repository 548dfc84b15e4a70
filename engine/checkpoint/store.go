// Package checkpoint keeps where a run is, together with what it has written, so
// that the run can be killed at any moment and goes on behind the last page that
// was committed: every item stands exactly once in the files.
//
// A commit makes the outputs last, and then puts the state in the place of the
// one before: how many bytes of each output belong to it, and the position of
// every job. What an output holds beyond that is cut off when the run goes on.
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

// Store is the state of a run and the outputs that belong to it. It is used by
// one goroutine at a time.
type Store struct {
	files   Files
	path    string
	state   state
	resumed bool
	outputs map[string]*Output
	cut     int64 // bytes that were cut off the outputs
}

// state is what the file holds.
type state struct {
	Version     int                        `json:"version"`
	Program     string                     `json:"program"`
	Fingerprint map[string]string          `json:"fingerprint"` // of the configuration, by part
	Outputs     map[string]extent          `json:"outputs"`
	Jobs        map[string]json.RawMessage `json:"jobs"` // the position of each
	Sum         string                     `json:"sum"`  // of all above
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

// Open reads the state at a path, if there is one. The fingerprint must be that
// of the run that wrote it. The errors are of class state: they say what is wrong
// and what to do.
func Open(files Files, path, program string, fingerprint map[string]string) (*Store, error) {
	s := &Store{files: files, path: path, outputs: map[string]*Output{}, state: state{
		Version: version, Program: program, Fingerprint: fingerprint, Outputs: map[string]extent{}, Jobs: map[string]json.RawMessage{},
	}}
	text, err := s.read()
	if errors.Is(err, os.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return nil, ioFault(err)
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

// parse reads a state file, of which every bit counts.
func parse(text []byte, into *state) error {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return fmt.Errorf("it is damaged, or no state: %w", err)
	}
	if into.Version != version {
		return fmt.Errorf("it has version %d; this program writes version %d", into.Version, version)
	}
	want, err := into.encode()
	if err != nil {
		return err
	}
	if !bytes.Equal(want, text) {
		return errors.New("it is damaged: its checksum is not that of its content")
	}
	return nil
}

// encode writes a state with its checksum.
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

// changes names the parts of a configuration that differ.
func changes(was, is map[string]string) string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(is)) {
		if was[name] != is[name] {
			names = append(names, name)
		}
	}
	if len(was) != len(is) && names == nil {
		names = []string{"something"}
	}
	return strings.Join(names, " and ")
}

func (s *Store) refuse(format string, args ...any) error {
	return &failure.Error{Class: failure.State, Op: "resume", Message: fmt.Sprintf("state %s cannot be used: ", s.path) + fmt.Sprintf(format, args...),
		Hint: "--restart begins anew and replaces what was written"}
}

func ioFault(err error) error {
	return &failure.Error{Class: failure.IO, Op: "state", Message: "the state cannot be kept: " + err.Error(), Err: err}
}

// Resumed tells whether there was a state: the run goes on.
func (s *Store) Resumed() bool { return s.resumed }

// Jobs are the positions of the jobs that had begun.
func (s *Store) Jobs() map[string]json.RawMessage { return maps.Clone(s.state.Jobs) }

// Cut is how many bytes of the outputs were cut off, since they were written after
// the last commit.
func (s *Store) Cut() int64 { return s.cut }

// Committed is how many bytes of all outputs belong to the state.
func (s *Store) Committed() int64 {
	var n int64
	for _, e := range s.state.Outputs {
		n += e.Bytes
	}
	return n
}

// Output is a file that belongs to the run.
type Output struct {
	file   File
	size   int64
	beyond int64 // what it held beyond the last commit
	dirty  bool
}

// Output opens a file of the run. One that was committed to before and holds less,
// or something else, is refused. Nothing is changed before [Store.Begin].
func (s *Store) Output(path string) (*Output, error) {
	if o := s.outputs[path]; o != nil {
		return o, nil
	}
	committed, known := s.state.Outputs[path]
	file, err := s.files.Open(path, !known)
	if errors.Is(err, os.ErrNotExist) && known {
		return nil, s.refuse("%s, to which it belongs, is gone", path)
	}
	if err != nil {
		return nil, ioFault(err)
	}
	o := &Output{file: file, size: committed.Bytes}
	size, err := file.Size()
	if err != nil {
		return nil, ioFault(errors.Join(err, file.Close()))
	}
	if size < committed.Bytes {
		return nil, errors.Join(s.refuse("%s has %d bytes, fewer than the %d that were committed", path, size, committed.Bytes), file.Close())
	}
	if known {
		tail, err := o.tail()
		if err != nil {
			return nil, ioFault(errors.Join(err, file.Close()))
		}
		if tail != committed.Tail {
			return nil, errors.Join(s.refuse("%s is not what was committed: it was changed since", path), file.Close())
		}
	}
	o.beyond, o.dirty = size-committed.Bytes, !known
	s.outputs[path] = o
	return o, nil
}

// Begin cuts off, once all outputs are open, what was written to them after the
// last commit; those of a run that begins are emptied. It refuses a run that goes
// on with other outputs than it began with: what is committed would stand in
// neither of them whole.
func (s *Store) Begin() error {
	if err := s.match(); err != nil {
		return err
	}
	for path, o := range s.outputs {
		if err := o.file.Truncate(o.size); err != nil {
			return ioFault(err)
		}
		if s.resumed {
			s.cut += o.beyond
			continue
		}
		if err := s.files.SyncFolder(path); err != nil { // a file that was made lasts with its folder
			return ioFault(err)
		}
	}
	return nil
}

func (s *Store) match() error {
	if !s.resumed {
		return nil
	}
	for path := range s.state.Outputs {
		if s.outputs[path] == nil {
			return s.refuse("%s belongs to it, and this run does not write there", path)
		}
	}
	for path := range s.outputs {
		if _, known := s.state.Outputs[path]; !known {
			return s.refuse("%s does not belong to it: the run began without", path)
		}
	}
	return nil
}

// Write adds to the output. It belongs to the run with the next commit.
func (o *Output) Write(p []byte) (int, error) {
	n, err := o.file.Write(p)
	o.size += int64(n)
	o.dirty = o.dirty || n > 0
	return n, err
}

// tail is the hash of the last bytes.
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

// Commit notes the positions of jobs, together with everything that was written:
// all of it must belong to pages up to these positions. When it returns, both
// outlast the process, and the power.
func (s *Store) Commit(positions map[string]json.RawMessage) error {
	for path, o := range s.outputs {
		if !o.dirty {
			continue
		}
		if err := o.file.Sync(); err != nil {
			return ioFault(err)
		}
		tail, err := o.tail()
		if err != nil {
			return ioFault(err)
		}
		s.state.Outputs[path] = extent{o.size, tail}
		o.dirty = false
	}
	for job, position := range positions {
		s.state.Jobs[job] = slices.Clone(position)
	}
	if err := s.write(); err != nil {
		return ioFault(err)
	}
	return nil
}

// write puts the state in the place of the one before.
func (s *Store) write() error {
	text, err := s.state.encode()
	if err != nil {
		return err
	}
	beside := s.path + ".new"
	f, err := s.files.Open(beside, true)
	if err != nil {
		return err
	}
	err = f.Truncate(0)
	if err == nil {
		_, err = f.Write(text)
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := s.files.Rename(beside, s.path); err != nil {
		return err
	}
	return s.files.SyncFolder(s.path)
}

// Close closes the outputs. What was written since the last commit stays in them,
// and is cut off when the run goes on.
func (s *Store) Close() error {
	var err error
	for _, o := range s.outputs {
		err = errors.Join(err, o.file.Close())
	}
	s.outputs = map[string]*Output{}
	return err
}
