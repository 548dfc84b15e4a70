package output

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/checkpoint"
	"github.com/stopwhen/stopwhen/rules/remedy"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime/failure"
	"github.com/stopwhen/stopwhen/runtime/saved"
)

// maxKept is the maximum size of a file of kept values, in bytes.
const maxKept = 16 << 20

// ReadKept reads a file of kept values, by job and name. It returns no values if the file does not
// exist, as in the first run. The fingerprint is from [engine.Engine.Fingerprint]: values that a
// job kept for another list, such as the list of another tenant, are refused. If it is nil, or
// if the file does not say for which list its values were kept, they are accepted.
func ReadKept(path string, fingerprint map[string]string) (map[string]map[string]any, error) {
	kept, err := readKept(path, fingerprint)
	return kept.values, err
}

// A keptFile is the content of a file of kept values.
type keptFile struct {
	values map[string]map[string]any                 // by job and name
	lists  map[string]string                         // fingerprints of the lists that the values are about, by job
	files  map[string]map[string]checkpoint.Snapshot // files with the rows up to the values, by job and name
}

func readKept(path string, fingerprint map[string]string) (keptFile, error) {
	text, err := ReadAtMost(path, maxKept)
	if errors.Is(err, fs.ErrNotExist) {
		return keptFile{values: map[string]map[string]any{}}, nil
	}
	failed := &engine.Error{Class: failure.Config, Op: "kept", Err: err}
	if err != nil {
		failed.Message = fmt.Sprintf("the file of kept values: %v", err)
		return keptFile{}, failed
	}
	kept, err := parseKept(text)
	if err != nil {
		failed.Err = err
		failed.Message = fmt.Sprintf(
			"%s is not a file of kept values: %v; remove it to start over", path, err)
		return keptFile{}, failed
	}
	for _, job := range slices.Sorted(maps.Keys(kept.lists)) {
		if now := fingerprint[saved.KeepPart+job]; now != "" && now != kept.lists[job] {
			return keptFile{}, (&engine.Error{
				Class: failure.State, Op: "kept",
				Message: fmt.Sprintf("%s holds values that job %s kept for %s", path, job, checkpoint.AnotherList),
			}).WithRemedy("name another file with %s, or remove %s to start over", remedy.KeptFile, path)
		}
	}
	return kept, nil
}

// ParseKept parses a file of kept values.
func ParseKept(text []byte) (map[string]map[string]any, error) {
	kept, err := parseKept(text)
	return kept.values, err
}

func parseKept(text []byte) (kept keptFile, err error) {
	members, err := checkpoint.ParseKeptMembers(text)
	if err == nil {
		kept.files, err = checkpoint.KeptFiles(members)
	}
	if err == nil {
		err = value.Unmarshal(text, &kept.values)
	}
	if err != nil {
		return keptFile{}, err
	}
	kept.lists = map[string]string{}
	for job, all := range kept.values {
		if list, ok := all[checkpoint.KeptForMember].(string); ok {
			kept.lists[job] = list
			delete(all, checkpoint.KeptForMember)
		}
		delete(all, checkpoint.KeptFilesMember)
	}
	return kept, nil
}

// keptValues holds the values that jobs keep for the next run, by job.
type keptValues struct {
	values       map[string]json.RawMessage                // values of the previous run or, once a group is published, of this run
	saved        map[string]bool                           // jobs whose values of this run are saved
	files        map[string]map[string]checkpoint.Snapshot // files with the rows up to the values of the previous run
	fingerprints map[string]string                         // fingerprints of the lists that the values are about
}

// newKeptValues returns no values. The fingerprints are the [saved.KeepPart] of the fingerprint.
func newKeptValues(fingerprint map[string]string) keptValues {
	k := keptValues{values: map[string]json.RawMessage{}, saved: map[string]bool{}, fingerprints: map[string]string{}}
	for part, list := range fingerprint {
		if job, keeps := strings.CutPrefix(part, saved.KeepPart); keeps {
			k.fingerprints[job] = list
		}
	}
	return k
}

// repairKept completes the publication that an earlier run with the file of kept values began.
func (p *Publisher) repairKept() error {
	if p.options.KeptFile == "" {
		return nil
	}
	return p.repair(p.options.KeptFile)
}

// readKept finds the values from which the run continues. The publications of an earlier run, which may have
// saved some of them, are complete by then.
func (p *Publisher) readKept() (err error) {
	var found keptFile
	if file := p.options.KeptFile; file != "" {
		fingerprint := p.options.Fingerprint
		if p.options.Kept != nil { // the caller knows for which list they were kept
			fingerprint = nil
		}
		found, err = readKept(file, fingerprint)
	} else if found.values, err = p.store.Kept(); err == nil {
		found.files, err = p.store.KeptFiles()
	}
	if err != nil {
		return err
	}
	if p.kept.files = found.files; p.options.Kept == nil {
		p.options.Kept = found.values
	}
	for job, values := range p.options.Kept {
		if p.kept.values[job], err = json.Marshal(values); err != nil {
			return err
		}
	}
	return nil
}
