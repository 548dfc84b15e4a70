package output

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/checkpoint"
	"github.com/stopwhen/stopwhen/engine/files"
	"github.com/stopwhen/stopwhen/rules/remedy"
	"github.com/stopwhen/stopwhen/rules/wording"
	"github.com/stopwhen/stopwhen/runtime/failure"
)

// modes decides whether the rows of each file replace those in it, are added to them, or are merged into them.
type modes struct {
	*run
	kept *keptValues
}

// checkMerge checks that rows can be merged at all.
func (m modes) checkMerge() error {
	refuse := func(message, hint string, args ...any) error {
		return (&engine.Error{Class: failure.Config, Op: "merge", Message: message}).WithRemedy(hint, args...)
	}
	switch {
	case !m.options.Merge:
		return nil
	case m.options.Append:
		return refuse("rows are either added, or replace those with the same key", "use %s or %s", remedy.Append, remedy.Merge)
	case m.options.Dir == "":
		return refuse("rows that were written to a stream cannot be replaced", "use %s with %s", remedy.Merge, remedy.Dir)
	case m.options.Format.CarriesState():
		return refuse(fmt.Sprintf("messages of format %s cannot be merged", m.options.Format.row().kind),
			"the target does that, by the key_properties; for a file, use %s",
			wording.OrList(Kinds(func(f Format) bool { return !f.CarriesState() })))
	}
	return nil
}

// checkAppend refuses to start over and to add the rows: they would be added to those of the run that is forgotten.
func (m modes) checkAppend() error {
	if !m.options.Append || !m.store.Restarts() {
		return nil
	}
	return (&engine.Error{
		Class: failure.Config, Op: "output",
		Message: "a run that starts over requests all lists from their start again, so rows that its files have would be added to them again",
	}).WithRemedy("leave out %s, and it replaces the files; move them away first if their rows are to stay", remedy.Append)
}

// modeNote is the name of the note in a state that says how rows get into the files.
const modeNote = "rows"

// checkState refuses to continue a run that adds its rows to the files, or merges them, as a run that does not: it would
// replace the rows of earlier runs.
func (m modes) checkState() error {
	if !m.hasState() || m.options.Dir == "" {
		return nil
	}
	mode := "replace those in the files"
	switch {
	case m.options.Append:
		mode = "are added to the files"
	case m.options.Merge:
		mode = "replace those in the files that have the same key"
	}
	if before := m.store.Note(modeNote); before != "" && before != mode {
		return (&engine.Error{
			Class: failure.State, Op: "resume",
			Message: fmt.Sprintf("state %s cannot be used: the rows of its run, which has not ended, %s, and those of this one %s",
				m.store.Path(), before, mode),
		}).WithRemedy("continue it with the same %s and %s; %s", remedy.Append, remedy.Merge, remedy.StartOver)
	}
	m.store.SetNote(modeNote, mode)
	return nil
}

// choose decides which files are appended to.
func (m modes) choose(targets []*target) error {
	if m.options.Merge {
		if err := m.chooseMerge(targets); err != nil {
			return err
		}
	}
	for _, t := range targets {
		if t.file == nil {
			continue
		}
		if err := m.chooseMode(t); err != nil {
			return err
		}
	}
	return nil
}

// chooseMode decides whether a file is appended to. A job that continues from values that it or its
// parent has kept in an earlier run appends its rows, because the rows of the earlier run are never
// requested again. So are those of a job of the same file whose list was empty in the earlier run.
func (m modes) chooseMode(t *target) error {
	var continues, starts []string
	for _, job := range t.jobs {
		if m.begins(job).continues {
			continues = append(continues, job)
		} else {
			starts = append(starts, job)
		}
	}
	if m.options.Append || len(continues) > 0 && !m.options.Merge {
		if err := m.beginAppend(t.file); err != nil {
			return err
		}
	}
	if err := m.checkRows(t, continues, starts); err != nil {
		return err
	}
	if len(continues) > 0 {
		m.logContinued(t.file.rows.Name(), strings.Join(continues, " and "))
	}
	return nil
}

// checkRows refuses to lose rows of a file, and to add rows that it has, given its jobs that continue from kept values and those
// that start at the beginning. It warns if the user wants all rows to be added.
func (m modes) checkRows(t *target, continues, starts []string) error {
	for _, job := range continues {
		if err := m.refuseMissingValue(t.file, job); err != nil {
			return err
		}
	}
	if err := m.refuseOtherFile(t.file, continues); err != nil {
		return err
	}
	switch {
	case m.options.Append:
		return m.warnOfRows(t, starts)
	case len(continues) > 0:
		return m.refuseSecondStart(t.file, continues, starts)
	}
	if err := m.refuseUnselectedJobs(t); err != nil {
		return err
	}
	return m.refuseForeignRows(t)
}

// A beginning says how the list of a job begins.
type beginning struct {
	continues bool   // from values that it or its parent has kept in an earlier run, which are not nil
	keeper    string // a job whose values were nil although its list had items, if no other values bound the list; usually ""
	lacks     string // the value of keeper: kept.token
}

// begins returns how the list of a job begins.
func (m modes) begins(job string) (b beginning) {
	if !m.savesKept() {
		return b
	}
	for _, keeper := range m.engine.Job(job).Keepers {
		continues, lacks := m.engine.Continues(job, keeper, m.kept.before[keeper])
		switch {
		case continues && lacks == "": // what an earlier run has obtained does not come again
			return beginning{continues: true}
		case b.lacks == "" && lacks != "":
			b.keeper, b.lacks = keeper, lacks
		}
		b.continues = b.continues || continues
	}
	return b
}

// refuseMissingValue refuses to add the rows of a job that continues from some values, while another one was nil after
// the items of an earlier run: the bound of the list in the other runs is nil, so that it may have the rows of the file
// again.
func (m modes) refuseMissingValue(f *file, job string) error {
	b := m.begins(job)
	if b.lacks == "" || m.options.Merge || f.rows.Finished() {
		return nil
	}
	now, err := f.rows.Snapshot()
	if err != nil || !f.hasRows(now) {
		return err
	}
	message := fmt.Sprintf("%s has the rows of earlier runs, after which %s of job %s was nil: job %s may obtain them again",
		f.rows.Name(), b.lacks, b.keeper, job)
	if m.options.Append {
		m.log.Warn(message, "event", "append_again", "file", f.rows.Name(), "job", job)
		return nil
	}
	refused := &engine.Error{Class: failure.State, Op: "kept", Message: message}
	return refused.WithRemedy("let keep give it a value; %s; %s replaces rows by their key, and %s adds all",
		m.startOver(b.keeper), remedy.Merge, remedy.Append)
}

// refuseOtherFile refuses to add the rows of jobs that continue from kept values to a file that is not as it was
// when these values were saved: rows would be missing in it, or there twice. A file without rows, because it
// was moved away or emptied, can have neither gaps nor repeated rows. Values that do not say
// which file they follow, such as those of a Singer target, are accepted.
func (m modes) refuseOtherFile(f *file, continues []string) error {
	if f.rows.Finished() || len(continues) == 0 {
		return nil
	}
	now, err := f.rows.Snapshot()
	if err != nil {
		return err
	}
	for _, job := range continues {
		for _, keeper := range m.engine.Job(job).Keepers {
			if len(m.kept.before[keeper]) > 0 && !m.kept.fit(keeper, now) && f.hasRows(now) {
				return m.refuseChanged(f.rows.Name(), keeper)
			}
		}
	}
	return nil
}

// refuseSecondStart refuses to add the rows of jobs that continue from kept values to a file, if another job of the file starts
// at the beginning: its rows of an earlier run would be there twice.
func (m modes) refuseSecondStart(f *file, continues, starts []string) error {
	i := slices.IndexFunc(starts, func(job string) bool { return !m.wasEmpty(job) })
	if i < 0 || m.options.Merge {
		return nil
	}
	return (&engine.Error{
		Class: failure.Config, Op: "output",
		Message: fmt.Sprintf("%s: job %s continues from kept values, so its rows are added, but job %s starts at the beginning",
			f.rows.Name(), continues[0], starts[i]),
	}).WithRemedy("give each job its own dataType, or add all rows with %s", remedy.Append)
}

// wasEmpty reports whether the list of a job that has no kept values was complete in the earlier run. A job with another
// name, or whose values were lost, is not known: the file may have its rows.
func (m modes) wasEmpty(job string) bool {
	return m.savesKept() && m.begins(job).lacks == "" && slices.ContainsFunc(m.engine.Job(job).Keepers, func(keeper string) bool {
		_, known := m.kept.files[keeper]
		return known
	})
}

// keeps reports whether this run saves values that a job, or its parent, keeps.
func (m modes) keeps(job string) bool { return len(m.engine.Job(job).Keepers) > 0 && m.savesKept() }

// warnOfRows logs that the whole lists of jobs that have no kept values, although they keep some, are added to a file
// that has rows: they may be those of earlier runs, whose values are lost. A file that has the rows up to the values of
// another job is that of several jobs.
func (m modes) warnOfRows(t *target, starts []string) error {
	f := t.file
	i := slices.IndexFunc(starts, m.keeps)
	if i < 0 || f.rows.Finished() {
		return nil
	}
	now, err := f.rows.Snapshot()
	if err != nil || !f.hasRows(now) {
		return err
	}
	for job, values := range m.kept.before {
		if !m.writesWith(t, job) {
			continue // a job that does not write to the file, or that the configuration has lost
		}
		if continues, _ := m.engine.Continues(job, job, values); continues && m.kept.fit(job, now) {
			return nil
		}
	}
	m.log.Warn(fmt.Sprintf("%s has rows, and job %s has no kept values: it requests its whole list, and adds rows that the file may have; "+
		"if the kept values of earlier runs are lost, restore them, or move the file away to begin a new one", f.rows.Name(), starts[i]),
		"event", "append_again", "file", f.rows.Name(), "job", starts[i])
	return nil
}

// refuseUnselectedJobs refuses to replace a file that may have the rows of jobs that do not run.
func (m modes) refuseUnselectedJobs(t *target) error {
	name := t.file.rows.Name()
	if t.leftOut == nil || m.options.Merge || t.file.rows.Finished() || !files.Exists(name) {
		return nil
	}
	message := fmt.Sprintf("%s may hold items of job %s, which is left out, and would be replaced", name, strings.Join(t.leftOut, ", "))
	return (&engine.Error{Class: failure.Config, Op: "output", Message: message}).
		WithRemedy("use another directory, or add to it with %s or %s", remedy.Append, remedy.Merge)
}

// refuseForeignRows refuses to replace a file that has the rows up to the kept values of a job that does not write to it any
// more, because its dataType or its id has changed, or because the configuration has lost it: its rows would be lost.
func (m modes) refuseForeignRows(t *target) error {
	name := t.file.rows.Name()
	isOf := func(snapshots map[string]checkpoint.Snapshot) bool {
		_, known := snapshots[filepath.Base(name)]
		return known
	}
	if !slices.ContainsFunc(slices.Collect(maps.Values(m.kept.files)), isOf) {
		return nil // the file need not be read
	}
	now, err := t.file.rows.Snapshot()
	if err != nil || now.Bytes == 0 {
		return err
	}
	for _, keeper := range slices.Sorted(maps.Keys(m.kept.files)) {
		if m.kept.files[keeper][filepath.Base(name)] != now || m.writesWith(t, keeper) {
			continue
		}
		why := "which writes to another file now"
		hint := fmt.Sprintf("give job %s the dataType that it had and each other job one of its own, or rename the file as its "+
			"dataType says", keeper)
		if !slices.Contains(m.engine.AllJobs(), keeper) {
			why = "which the configuration does not have any more"
			hint = "give the job the id that it had, or move the file away to begin a new one"
		}
		return &engine.Error{
			Class: failure.State, Op: "output", Hint: hint,
			Message: fmt.Sprintf("%s has the rows up to the kept values of job %s, %s; job %s would replace them",
				name, keeper, why, strings.Join(t.jobs, " and ")),
		}
	}
	return nil
}

// writesWith reports whether a job that follows the kept values of another one, or its own, writes to a target.
func (r *run) writesWith(t *target, keeper string) bool {
	return slices.ContainsFunc(t.jobs, func(job string) bool { return slices.Contains(r.engine.Job(job).Keepers, keeper) })
}

// startOver returns how to start over without the values of a job.
func (m modes) startOver(keeper string) remedy.Remedy {
	switch {
	case m.options.KeptFile == "" || m.kept.ofState[keeper]:
		return remedy.StartOver
	case m.hasState():
		return remedy.New("name another file with %s, and use %s without %s, to start over and replace it",
			remedy.KeptFile, remedy.Restart, remedy.Append)
	}
	return remedy.New("name another file with %s, without %s, to start over and replace it", remedy.KeptFile, remedy.Append)
}

// refuseChanged refuses to add rows to a file that is not as it was when a job's values were saved.
func (m modes) refuseChanged(name, keeper string) error {
	owner, last := "state "+m.store.Path(), m.startOver(keeper)
	if file := m.options.KeptFile; file != "" && !m.kept.ofState[keeper] {
		owner = file
		startOver := last
		last = remedy.New("%s; if the file has the rows up to the kept values, remove %q of job %s from %s",
			startOver, checkpoint.KeptFilesMember, keeper, file)
	}
	return (&engine.Error{
		Class: failure.State, Op: "kept",
		Message: fmt.Sprintf("%s is not as it was when the values of job %s were saved in %s: another run or program has changed it, "+
			"or the rows before these values are in another file; adding to it could lose or repeat rows", name, keeper, owner),
	}).WithRemedy("restore the file, or move it away to begin a new one with the rows of this run; or %s", last)
}

// logContinued logs that rows are added to a file whose jobs continue from the values of an earlier run, or
// that the file is missing.
func (m modes) logContinued(name, jobs string) {
	switch {
	case !files.Exists(name):
		m.log.Warn(fmt.Sprintf("%s does not exist, although job %s continues from the values of an earlier run: it will have the rows "+
			"of this run alone (those of earlier runs may be in another format, directory or dataType)", name, jobs),
			"event", "append_new", "file", name)
	case !m.options.Merge && !m.options.Append: // the rows are added without being told to
		m.log.Info(fmt.Sprintf("%s: rows are added, since job %s continues from the values of an earlier run", name, jobs),
			"event", "append", "file", name)
	}
}

// chooseMerge prepares all files for rows that replace existing rows with the same key.
func (m modes) chooseMerge(targets []*target) error {
	for _, t := range targets {
		if t.file == nil {
			if t.dataType == "" {
				continue // it is the stream for jobs whose items are not written
			}
			return (&engine.Error{Class: failure.Config, Op: "merge", Message: "rows cannot be merged into a pipe or a device"}).
				WithRemedy("write to regular files, or leave out %s", remedy.Merge)
		}
		key, err := m.keyOf(t)
		if err != nil {
			return err
		}
		if err := m.beginAppend(t.file); err != nil {
			return err
		}
		if err := t.file.mergeInto(key); err != nil {
			return err
		}
		if len(t.jobs) > 1 {
			t.file.shared = newSharedKeys(key)
		}
	}
	return nil
}

// keyOf returns the key of the jobs that write to a file.
func (m modes) keyOf(t *target) ([]string, error) {
	var key []string
	for i, job := range t.jobs {
		own, problem := m.engine.Job(job).Key, ""
		switch {
		case own == nil:
			problem = fmt.Sprintf("job %s has no key, by which its rows could replace those in %s", job, t.file.rows.Name())
		case i > 0 && !slices.Equal(own, key):
			problem = fmt.Sprintf("the jobs %s and %s write to %s, and have different keys", t.jobs[0], job, t.file.rows.Name())
		}
		if problem != "" {
			return nil, &engine.Error{Class: failure.Config, Op: "merge", Message: problem,
				Hint: `name what identifies an item, as in "key": "id" of the job`}
		}
		key = own
	}
	return key, nil
}

// beginAppend prepares a file for appending. It warns if the file does not end with a newline,
// because its last line may have been cut off.
func (m modes) beginAppend(f *file) error {
	open, err := f.append()
	if open {
		m.log.Warn(fmt.Sprintf("the last line of %s does not end with a newline; one is added", f.rows.Name()),
			"event", "open_line", "file", f.rows.Name())
	}
	return err
}
