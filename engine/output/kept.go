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
	text, err := ReadAtMost(path, maxKept)
	if errors.Is(err, fs.ErrNotExist) {
		return map[string]map[string]any{}, nil
	}
	failed := &engine.Error{Class: failure.Config, Op: "kept", Err: err}
	if err != nil {
		failed.Message = fmt.Sprintf("PublisherOptions.KeptFile: %v", err)
		return nil, failed
	}
	values, keptFor, err := parseKept(text)
	if err != nil {
		failed.Err = err
		failed.Message = fmt.Sprintf(
			"PublisherOptions.KeptFile: %s was not written by PublisherOptions.KeptFile: %v; remove it to start over", path, err)
		return nil, failed
	}
	for _, job := range slices.Sorted(maps.Keys(keptFor)) {
		if now := fingerprint[saved.KeepPart+job]; now != "" && now != keptFor[job] {
			return nil, &engine.Error{
				Class: failure.State, Op: "kept",
				Message: fmt.Sprintf("PublisherOptions.KeptFile: %s holds values that job %s kept for %s", path, job, checkpoint.AnotherList),
				Hint:    "name another file with PublisherOptions.KeptFile, or remove " + path + " to start over",
			}
		}
	}
	return values, nil
}

// ParseKept parses a file of kept values.
func ParseKept(text []byte) (map[string]map[string]any, error) {
	values, _, err := parseKept(text)
	return values, err
}

// parseKept returns the values and, by job, the fingerprint of the list that they are about.
func parseKept(text []byte) (values map[string]map[string]any, keptFor map[string]string, err error) {
	if _, err := checkpoint.ParseKeptMembers(text); err != nil {
		return nil, nil, err
	}
	if err := value.Unmarshal(text, &values); err != nil {
		return nil, nil, err
	}
	keptFor = map[string]string{}
	for job, all := range values {
		if list, ok := all[checkpoint.KeptForMember].(string); ok {
			keptFor[job] = list
			delete(all, checkpoint.KeptForMember)
		}
	}
	return values, keptFor, nil
}

// keptValues holds the values that jobs keep for the next run, by job.
type keptValues struct {
	values       map[string]json.RawMessage // values of the previous run or, once a group is published, of this run
	saved        map[string]bool            // jobs whose values of this run are saved
	fingerprints map[string]string          // fingerprints of the lists that the values are about
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
	switch {
	case p.options.Kept != nil:
	case p.options.KeptFile != "":
		p.options.Kept, err = ReadKept(p.options.KeptFile, p.options.Fingerprint)
	default:
		p.options.Kept, err = p.store.Kept()
	}
	if err != nil {
		return err
	}
	for job, values := range p.options.Kept {
		if p.kept.values[job], err = json.Marshal(values); err != nil {
			return err
		}
	}
	return nil
}
