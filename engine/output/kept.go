package output

import (
	"encoding/json"
	"strings"

	"github.com/stopwhen/stopwhen/engine/checkpoint"
	"github.com/stopwhen/stopwhen/runtime/saved"
)

// keptValues holds the values that jobs keep for the next run, by job.
type keptValues struct {
	before       map[string]map[string]any                 // values from which the run continues, by name
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
	var found checkpoint.Kept
	if file := p.options.KeptFile; file != "" {
		fingerprint := p.options.Fingerprint
		if p.options.Kept != nil { // the caller knows for which list they were kept
			fingerprint = nil
		}
		found, err = checkpoint.ReadKept(file, fingerprint)
	} else {
		found, err = p.store.Kept()
	}
	if err != nil {
		return err
	}
	if p.kept.before, p.kept.files = p.options.Kept, found.Files; p.options.Kept == nil {
		p.kept.before = found.Values
	}
	for job, values := range p.kept.before {
		if p.kept.values[job], err = json.Marshal(values); err != nil {
			return err
		}
	}
	return nil
}
