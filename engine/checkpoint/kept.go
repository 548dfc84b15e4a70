package checkpoint

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/engine/files"
	"github.com/stopwhen/stopwhen/rules/remedy"
	"github.com/stopwhen/stopwhen/runtime/failure"
	"github.com/stopwhen/stopwhen/runtime/saved"
)

// Kept holds the values that jobs keep for the next run. They are in a state and, if a run has one, in a file of kept
// values: this file of the package has its format. [Store.Publish] writes it, and [CompletePublication] completes one
// that has begun. Who writes the file, or repairs it, must have locked it, as every file of a run.
type Kept struct {
	Values map[string]map[string]any      // by job and name
	Lists  map[string]string              // fingerprints of the lists that the values of a file are about, by job
	Files  map[string]map[string]Snapshot // files with the rows up to the values, by job and by the name of the file
}

// KeptFilesMember is the member beside the values of a job that has the snapshots of the files with the rows up to
// them. It is not the name of a value.
const KeptFilesMember = "$files"

// keptForMember is the member beside the values of a job, in a file of kept values, that has the fingerprint of the
// list that they are about.
const keptForMember = "$for"

// maxKept is the maximum size of a file of kept values, in bytes.
const maxKept = 16 << 20

// ReadKept reads a file of kept values. It returns no values if the file does not exist, as in the first run. The
// fingerprint is that of the configuration: values that a job kept for another list, such as the list of another
// tenant, are refused. If it is nil, or if the file does not say for which list its values were kept, they are
// accepted.
func ReadKept(path string, fingerprint map[string]string) (Kept, error) {
	text, err := files.ReadAtMost(path, maxKept)
	if errors.Is(err, fs.ErrNotExist) {
		return Kept{Values: map[string]map[string]any{}}, nil
	}
	failed := &failure.Error{Class: failure.Config, Op: "kept", Err: err}
	if err != nil {
		failed.Message = fmt.Sprintf("the file of kept values: %v", err)
		return Kept{}, failed
	}
	kept, err := ParseKept(text)
	if err != nil {
		failed.Err = err
		failed.Message = fmt.Sprintf("%s is not a file of kept values: %v; remove it to start over", path, err)
		return Kept{}, failed
	}
	for _, job := range slices.Sorted(maps.Keys(kept.Lists)) {
		now := fingerprint[saved.KeepPart+job]
		if details, changed := saved.Changed(kept.Lists[job], now); changed && now != "" {
			return Kept{}, (&failure.Error{
				Class: failure.State, Op: "kept",
				Message: fmt.Sprintf("%s holds values that job %s kept for %s", path, job, otherList(kept.Lists[job], now, details)),
			}).WithRemedy("name another file with %s, or remove %s to start over", remedy.KeptFile, path)
		}
	}
	return kept, nil
}

// ParseKept parses a file of kept values.
func ParseKept(text []byte) (Kept, error) {
	members, err := parseKeptMembers(text)
	if err != nil {
		return Kept{}, err
	}
	kept := Kept{Values: map[string]map[string]any{}, Lists: map[string]string{}}
	if kept.Files, err = keptFiles(members); err != nil {
		return Kept{}, err
	}
	if err := decodeValues(text, &kept.Values); err != nil {
		return Kept{}, err
	}
	for job, all := range kept.Values {
		if list, ok := all[keptForMember].(string); ok {
			kept.Lists[job] = list
			delete(all, keptForMember)
		}
		delete(all, KeptFilesMember)
	}
	return kept, nil
}

// Kept returns the values saved by the last publications.
func (s *Store) Kept() (Kept, error) {
	members, err := s.keptMembers()
	if err != nil {
		return Kept{}, err
	}
	kept := Kept{Values: map[string]map[string]any{}}
	if kept.Files, err = keptFiles(members); err != nil {
		return Kept{}, err
	}
	for job, text := range s.state.Kept {
		var values map[string]any
		if err := decodeValues(text, &values); err != nil {
			return Kept{}, s.refuse("the values that job %s kept: %v", job, err)
		}
		delete(values, KeptFilesMember)
		kept.Values[job] = values
	}
	return kept, nil
}

// decodeValues decodes values from JSON. A number stays as it is written.
func decodeValues(text []byte, target any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return d.Decode(target)
}

// keptMembers returns the kept values as JSON, by job and name.
func (s *Store) keptMembers() (map[string]map[string]json.RawMessage, error) {
	kept := map[string]map[string]json.RawMessage{}
	for job, text := range s.state.Kept {
		values := map[string]json.RawMessage{}
		if err := json.Unmarshal(text, &values); err != nil {
			return nil, s.refuse("the values that job %s kept: %v", job, err)
		}
		kept[job] = values
	}
	return kept, nil
}

// otherList completes a message about kept values that belong to another list than the one that the run
// requests: "job x kept for …". The details are those that changed.
func otherList(before, now string, details []string) string {
	const another = "a list that was requested in another way: "
	changed := strings.Join(details, " and ") + " changed"
	switch {
	case saved.SameList(before, now):
		return "other rows of its list: " + changed
	case details != nil:
		return another + changed + ", in the configuration or by values of the environment"
	}
	return another + "at another address, or with other parameters, inputs, values of the environment or settings of keep"
}

// keptFiles returns the snapshots that stand beside kept values, by job and by the name of the file. A job
// of which nothing is known has no entry.
func keptFiles(kept map[string]map[string]json.RawMessage) (map[string]map[string]Snapshot, error) {
	all := map[string]map[string]Snapshot{}
	for job, values := range kept {
		text, known := values[KeptFilesMember]
		if !known {
			continue
		}
		snapshots := map[string]Snapshot{}
		if err := json.Unmarshal(text, &snapshots); err != nil {
			return nil, fmt.Errorf("%s.%s: %w", job, KeptFilesMember, err)
		}
		all[job] = snapshots
	}
	return all, nil
}

// mergeKept replaces the values of some jobs in the file of kept values. Only the owner can read the
// file, because a cursor may give access to data.
func (p *publicationRecord) mergeKept(disk files.System) error {
	merged, err := readKeptMembers(disk, p.KeptFile)
	if err != nil {
		return err
	}
	changed, err := p.update(disk, merged)
	if !changed || err != nil {
		return err
	}
	for job := range p.Kept {
		if p.KeptFor[job] != "" {
			if merged[job][keptForMember], err = json.Marshal(p.KeptFor[job]); err != nil {
				return err
			}
		}
	}
	text, err := json.MarshalIndent(merged, "", "  ")
	if err != nil {
		return err
	}
	return replaceFile(disk, p.KeptFile, append(text, '\n'))
}

// readKeptMembers reads a file of kept values. It returns no values if the file does not exist.
func readKeptMembers(disk files.System, path string) (map[string]map[string]json.RawMessage, error) {
	text, err := readFile(disk, path)
	if errors.Is(err, os.ErrNotExist) {
		return map[string]map[string]json.RawMessage{}, nil
	}
	if err != nil {
		return nil, err
	}
	keptByJob, err := parseKeptMembers(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return keptByJob, nil
}

// parseKeptMembers parses a file of kept values as JSON: an object that has, by job, objects with the values
// by name and with keptForMember and KeptFilesMember.
func parseKeptMembers(text []byte) (kept map[string]map[string]json.RawMessage, err error) {
	if len(text) == 0 {
		return nil, errors.New("it is empty")
	}
	if err = json.Unmarshal(text, &kept); err != nil {
		return nil, err
	}
	if kept == nil {
		return nil, errors.New("want an object, got null")
	}
	for job, values := range kept {
		if values == nil {
			return nil, fmt.Errorf("%s: want an object, got null", job)
		}
	}
	if _, err := keptFiles(kept); err != nil {
		return nil, err
	}
	return kept, nil
}
