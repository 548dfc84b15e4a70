package checkpoint

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/engine/files"
	"github.com/stopwhen/stopwhen/rules/remedy"
	"github.com/stopwhen/stopwhen/runtime/failure"
	"github.com/stopwhen/stopwhen/runtime/saved"
)

// A stateFile is the content of a state file: of its first line, and with the changes in the lines
// that follow it.
type stateFile struct {
	Version     int                        `json:"version"`
	Program     string                     `json:"program"`
	Fingerprint map[string]string          `json:"fingerprint"` // fingerprint of the configuration, by part
	Outputs     map[string]extent          `json:"outputs"`
	Jobs        map[string]json.RawMessage `json:"jobs"`              // checkpoint of each job
	Kept        map[string]json.RawMessage `json:"kept,omitempty"`    // values for the next run, by job
	Notes       map[string]string          `json:"notes,omitempty"`   // see Store.SetNote
	Publish     *publicationRecord         `json:"publish,omitempty"` // publication in progress
	Ended       bool                       `json:"ended,omitempty"`   // the run is over, and its caller has been told so: see Store.End
	Sum         string                     `json:"sum"`               // checksum of all fields above
}

const version = 2

// parse parses a state file. It accepts only text written by encode, also in another release, and by commits after it.
func parse(text []byte, file *stateFile) error {
	if len(text) == 0 {
		return errors.New("it is empty")
	}
	first, lines := text, []byte(nil)
	if end := bytes.IndexByte(text, '\n'); end >= 0 {
		first, lines = text[:end+1], text[end+1:]
	}
	dec := json.NewDecoder(bytes.NewReader(first))
	dec.DisallowUnknownFields()
	if err := dec.Decode(file); err != nil {
		return fmt.Errorf("it is damaged or not a state file: %w", err)
	}
	if file.Version != version {
		return fmt.Errorf("it has version %d; this program writes version %d", file.Version, version)
	}
	if !isSealed(first) {
		return errDamaged
	}
	return file.addCommits(first, lines)
}

// encode returns the first line of a state file, including its checksum.
func (s stateFile) encode() ([]byte, error) {
	s.Sum = ""
	return seal(s)
}

// changes returns the names of the parts whose fingerprints differ.
func changes(before, now map[string]string) []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(now)) {
		was, known := before[name]
		changed := was != now[name]
		if strings.HasPrefix(name, saved.KeepPart) {
			_, changed = saved.Changed(was, now[name])
			changed = changed && known
		}
		if changed {
			names = append(names, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(before)) { // kept values may belong to a job that this run does not have
		switch _, known := now[name]; {
		case known || strings.HasPrefix(name, saved.KeepPart):
		case strings.HasPrefix(name, saved.InputPart):
			names = append(names, name)
		default:
			return []string{"something"}
		}
	}
	return names
}

// The parts that only the fingerprint of a collection has: see package engine/cluster. [RunPart] consists of
// the name of the run and, after a space, the token that distinguishes runs with the same name. The state of a
// run is refused by all other runs, even after it has ended.
const (
	RunPart    = "run"
	OrderPart  = "order"
	FormatPart = "format"
)

// refusals describes the owner of a state whose fingerprint differs in parts with a prefix. If
// several entries apply, the last one is used.
var refusals = []struct{ prefix, owner string }{
	{OrderPart, "a collection with other options"},
	{FormatPart, "a collection with other options"},
	{saved.InputPart, "a run with other inputs"},
	{"", "another configuration"},
}

// ownerOf describes the owner of a state whose fingerprint differs in the given parts.
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

// orStartOver ends the format of a remedy.
const orStartOver = ", or start over: %s"

func (s *Store) refuse(format string, args ...any) *failure.Error {
	return (&failure.Error{
		Class: failure.State, Op: "resume", Message: fmt.Sprintf("state %s cannot be used: ", s.path) + fmt.Sprintf(format, args...),
	}).WithRemedy("%s", remedy.StartOver)
}

// refuseOther refuses the state of another run.
func (s *Store) refuseOther(run, current string) error {
	name, _, _ := strings.Cut(run, " ")
	owner := "run " + name
	switch command, _, _ := strings.Cut(current, " "); {
	case run == "":
		owner = "a run on one machine"
	case name == command:
		owner = "an earlier run of the same name, " + name
	}
	return s.refuse("it belongs to %s", owner).WithRemedy("name another file for the state"+orStartOver, remedy.StartOver)
}

// refuseOutputs refuses to resume a run with other outputs.
func (s *Store) refuseOutputs(format, path string) error {
	return s.refuse("its run has not ended, and writes "+format, path).WithRemedy("name the same files, in the same format, "+
		"to complete what it has obtained; %s", remedy.StartOver)
}

// maxStateBytes is the maximum size of a state file.
const maxStateBytes = 256 << 20

// errTooLarge is the error for a file that is too large for a state.
var errTooLarge = fmt.Errorf("it has more than %d bytes", maxStateBytes)

// readFile returns the content of a state file.
func readFile(disk files.System, path string) ([]byte, error) {
	f, err := disk.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	if size > maxStateBytes {
		return nil, errTooLarge
	}
	return io.ReadAll(io.NewSectionReader(f, 0, size))
}

// replaceFile replaces the private file at path with data.
func replaceFile(disk files.System, path string, data []byte) error {
	r, err := files.ReplaceOn(disk, path, files.Private)
	if err != nil {
		return err
	}
	return r.Commit(data)
}
