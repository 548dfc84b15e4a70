package output

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/stopwhen/stopwhen/engine/checkpoint"
	"github.com/stopwhen/stopwhen/rules/wording"
	"github.com/stopwhen/stopwhen/runtime/failure"
)

// publications publishes groups.
type publications struct {
	*run
	targets  *targets
	kept     *keptValues
	results  *results
	contract *comparison
	unmerged unmerged
}

// unmerged holds the jobs with rows that cannot be merged.
type unmerged struct {
	jobs []string
	err  error // why the rows cannot be merged
}

// publish publishes the rows of a group together with the values that its jobs keep.
func (ps *publications) publish(g *group) error {
	if !ps.audit(g) {
		return nil
	}
	repeats := slices.ContainsFunc(g.targets, ps.repeats)
	kept, err := ps.keptOf(g, repeats)
	if err != nil {
		return err
	}
	maps.Copy(ps.kept.values, kept)
	if g.leftOut != "" && ps.savesKept() {
		ps.log.Warn(fmt.Sprintf("the kept values were not updated, because job %s, which depends on them, was not selected; "+
			"select it too, or the next run requests the same data again", g.leftOut),
			"event", "kept_unchanged", "job", g.leftOut)
	}
	parts, err := ps.completeRows(g, kept, repeats)
	hasFiles := slices.ContainsFunc(g.targets, func(t *target) bool { return t.file != nil })
	if err != nil || len(parts) == 0 && (hasFiles || len(kept) == 0 || !ps.savesKept()) {
		return err
	}
	err = ps.store.Publish(checkpoint.Publication{
		Parts: parts, Kept: kept, KeptFile: ps.options.KeptFile, KeptFor: ps.kept.fingerprints,
		RowsIn: ps.rowsIn(g, kept),
	})
	switch {
	case errors.Is(err, failure.ErrResponse): // rows without a key cannot be merged; other files can be published
		ps.unmerged.jobs, ps.unmerged.err = append(ps.unmerged.jobs, g.jobs...), errors.Join(ps.unmerged.err, err)
		return nil
	case err != nil:
		return err
	}
	for job := range kept {
		ps.kept.saved[job] = true
	}
	return nil
}

// audit compares the files of a group with the files that they replace. It reports whether the run
// accepts the findings; otherwise the group must not be published. A finding about a file belongs to
// the first of its jobs.
func (ps *publications) audit(g *group) bool {
	accepted := ps.contract.audit(g.unpublished(), ps.results)
	accepted = ps.auditRows(g) && accepted
	for _, t := range g.targets {
		if t.file == nil || t.file.rows.Finished() || ps.results.leavesOut(t.jobs) || !t.file.mayShrink() {
			continue
		}
		job, rows := t.jobs[0], t.file.rows
		accepted = ps.results.find(job, ps.engine.Auditor().AuditFile(job, rows.Name(), rows.RowCount(), t.file.replaces())) && accepted
	}
	return accepted
}

// auditRows audits the jobs of a group by how their items are written to files. It reports whether the run accepts them.
func (ps *publications) auditRows(g *group) bool {
	accepted, audit := true, ps.engine.Auditor().AuditAdded
	if ps.options.Merge {
		audit = ps.engine.Auditor().AuditMerged
	}
	isAdded := func(t *target) bool { return t.file != nil && t.file.appends }
	if !ps.options.Merge && !slices.ContainsFunc(g.targets, isAdded) {
		return accepted
	}
	for _, job := range g.jobs {
		accepted = ps.results.find(job, audit(ps.results.of(job))) && accepted
		for _, t := range ps.targets.byJob[job] {
			if t.file != nil {
				replaced := t.file.shared.of(job)
				accepted = ps.results.find(job, ps.engine.Auditor().AuditReplaced(job, replaced.job, replaced.count)) && accepted
			}
		}
	}
	return accepted
}

// completeRows completes the rows of a group: a stream receives the kept values, and the files become the
// parts of a publication. If the next run requests the rows again (repeats), added rows are withheld.
func (ps *publications) completeRows(g *group, kept map[string]json.RawMessage, repeats bool) (parts []checkpoint.Part, err error) {
	for _, t := range g.targets {
		switch {
		case t.stream != nil:
			if len(kept) > 0 {
				err = t.stream.state(ps.kept.values)
			}
		case t.file.rows.Finished():
		case ps.results.leavesOut(t.jobs):
			ps.log.Warn(fmt.Sprintf("%s stays as it was: the limit on the partitions of the run (limits.partitions) left out all of them "+
				"whose items belong there", t.file.rows.Name()), "event", "withheld", "file", t.file.rows.Name(), "rows", 0)
			err = ps.store.Release(t.file.rows)
		case repeats && t.file.appends:
			err = ps.withhold(t, g)
		default:
			var part checkpoint.Part
			part, err = t.file.part(ps.keptAfter(t, kept))
			warnMixed(ps.log, t.file.rows.Name(), t.file.encoder)
			parts = append(parts, part)
		}
		if err != nil {
			return nil, err
		}
	}
	return parts, nil
}

// keptOf returns the values that the jobs of a group keep. If the next run requests rows of the group
// again (repeats), these are only the values that have stayed as they were.
func (ps *publications) keptOf(g *group, repeats bool) (map[string]json.RawMessage, error) {
	kept := map[string]json.RawMessage{}
	for _, job := range g.jobs {
		ended := ps.results.of(job)
		if ended.Kept == nil || repeats && !ended.StartsOver {
			continue
		}
		text, err := json.Marshal(ended.Kept)
		if err != nil {
			return nil, err
		}
		kept[job] = text
	}
	return kept, nil
}

// rowsIn returns, by job whose kept values have moved on, the files with the rows up to these values.
func (ps *publications) rowsIn(g *group, kept map[string]json.RawMessage) map[string][]string {
	files := map[string][]string{}
	for job := range kept {
		if ps.results.of(job).StartsOver {
			continue
		}
		names := []string{}
		for _, t := range g.targets {
			if t.file != nil && ps.writesWith(t, job) {
				names = append(names, t.file.rows.Name())
			}
		}
		if _, known := ps.kept.files[job]; known || len(names) > 0 { // values without files need to know none
			files[job] = names
		}
	}
	return files
}

// keptAfter returns the kept values that follow the rows of a file. The values of a job follow its rows in
// its last file.
func (ps *publications) keptAfter(t *target, kept map[string]json.RawMessage) map[string]json.RawMessage {
	checkpoints := map[string]json.RawMessage{}
	for _, job := range t.jobs {
		if all := ps.targets.byJob[job]; kept[job] != nil && all[len(all)-1] == t {
			checkpoints[job] = kept[job]
		}
	}
	return checkpoints
}

// repeats reports whether the next run will request the rows of a target again, because a list
// that continued from kept values is incomplete. The kept values have not changed, so rows added
// now would be added twice.
func (ps *publications) repeats(t *target) bool {
	return t.file != nil && t.file.appends && ps.savesKept() && slices.ContainsFunc(t.jobs, func(job string) bool {
		return ps.results.of(job).StartsOver && len(ps.engine.Job(job).Keepers) > 0
	})
}

// skipped says which job of a group has skipped partitions that failed, and how many, or returns "".
func (ps *publications) skipped(g *group) string {
	for _, job := range g.jobs {
		if p := ps.results.of(job).Partitions; p != nil && p.Skipped > 0 {
			return fmt.Sprintf("job %s skipped %s that failed", job, wording.Counted(p.Skipped, "partition"))
		}
	}
	return ""
}

// withhold leaves the rows of a file of a group unpublished, and warns if there are any.
func (ps *publications) withhold(t *target, g *group) error {
	rows := t.file.rows
	if !rows.Created() {
		return ps.store.Release(rows)
	}
	t.withheld = true
	why, fix := "a list that continues from kept values is incomplete",
		"raise the limit that ended it or, if any page says where to go on, use a stop rule with outcome complete"
	if skips := ps.skipped(g); skips != "" {
		fix = skips + ": mend the cause, or leave such partitions out by when"
	}
	if g.leftOut != "" {
		why, fix = fmt.Sprintf("job %s, which depends on the same kept values, was not selected", g.leftOut), "select it too"
	}
	ps.log.Warn(fmt.Sprintf("%s is unchanged: %s, so the next run requests its rows again; those of this run (%s) are in %s (%s)",
		rows.Name(), why, wording.Counted(int(rows.RowCount()), "row"), rows.Path(), fix),
		"event", "withheld", "file", rows.Name(), "partial", rows.Path(), "rows", rows.RowCount())
	return ps.store.Release(rows)
}
