package output

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/checkpoint"
	"github.com/stopwhen/stopwhen/runtime/saved"
)

// keptValues holds the values that jobs keep for the next run, by job.
type keptValues struct {
	*run
	before       map[string]map[string]any                 // values from which the run continues, by name
	values       map[string]json.RawMessage                // values of the previous run or, once a group is published, of this run
	saved        map[string]bool                           // jobs whose values of this run are saved
	files        map[string]map[string]checkpoint.Snapshot // files with the rows up to the values of the previous run
	ofState      map[string]bool                           // jobs whose values are in the state alone, although there is a file of kept values
	fingerprints map[string]string                         // fingerprints of the lists that the values are about
}

// newKeptValues returns no values. The fingerprints are the [saved.KeepPart] of the fingerprint of the run.
func newKeptValues(r *run) keptValues {
	k := keptValues{run: r, values: map[string]json.RawMessage{}, saved: map[string]bool{}, ofState: map[string]bool{},
		fingerprints: map[string]string{}}
	for part, list := range r.options.Fingerprint {
		if job, keeps := strings.CutPrefix(part, saved.KeepPart); keeps {
			k.fingerprints[job] = list
		}
	}
	return k
}

// fit reports whether the values of the previous run may be those of the rows of a file, of which now is a snapshot. Values
// of a Singer target do not say which file they are about.
func (k *keptValues) fit(keeper string, now checkpoint.Snapshot) bool {
	snapshots, known := k.files[keeper]
	return !known || slices.Contains(slices.Collect(maps.Values(snapshots)), now)
}

// completePublication completes the publication that an earlier run with the file of kept values began.
func (k *keptValues) completePublication() error {
	if k.options.KeptFile == "" {
		return nil
	}
	return k.run.completePublication(k.options.KeptFile)
}

// read finds the values from which the run continues. The publications of an earlier run, which may have
// saved some of them, are complete by then.
func (k *keptValues) read() (err error) {
	var found checkpoint.Kept
	if file := k.options.KeptFile; file != "" {
		fingerprint := k.options.Fingerprint
		if k.options.Kept != nil { // the caller knows for which list they were kept
			fingerprint = nil
		}
		if found, err = checkpoint.ReadKept(file, fingerprint); err == nil && k.options.Kept == nil {
			err = k.addState(&found)
		}
	} else {
		found, err = k.store.Kept()
	}
	if err != nil {
		return err
	}
	if k.before, k.files = k.options.Kept, found.Files; k.options.Kept == nil {
		k.before = found.Values
	}
	for job, values := range k.before {
		if k.values[job], err = json.Marshal(values); err != nil {
			return err
		}
	}
	return nil
}

// addState adds the values of the state for jobs that have none in the file of kept values, such as a new file: without
// them, such a job would start at the beginning and replace the file with the rows up to these values.
func (k *keptValues) addState(found *checkpoint.Kept) error {
	state, err := k.store.Kept()
	if err != nil {
		return err
	}
	files := map[string]map[string]checkpoint.Snapshot{}
	maps.Copy(files, found.Files)
	for job, values := range state.Values {
		if _, has := found.Values[job]; has {
			continue
		}
		found.Values[job], k.ofState[job] = values, true
		if snapshots, known := state.Files[job]; known {
			files[job] = snapshots
		}
	}
	found.Files = files
	return nil
}

// beforeRun returns the values of the previous run for [engine.WithKept]: nil if there are none, and those of this run
// are not kept.
func (k *keptValues) beforeRun() map[string]map[string]any {
	if len(k.before) > 0 {
		return k.before
	}
	if k.savesKept() || k.options.Format.CarriesState() {
		return map[string]map[string]any{}
	}
	return nil
}

// restore gives the jobs whose values could not be saved the values of the previous run.
func (k *keptValues) restore(result *engine.Result) {
	for i := range result.Jobs {
		if job := &result.Jobs[i]; k.savesKept() && !k.saved[job.Job] {
			job.Kept = k.before[job.Job]
		}
	}
}
