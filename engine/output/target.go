package output

import (
	"fmt"
	"io"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/checkpoint"
	"github.com/stopwhen/stopwhen/engine/files"
	"github.com/stopwhen/stopwhen/rules/remedy"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime/failure"
)

// A target is the destination of the items of one or several jobs: a file or a stream.
type target struct {
	file     *file
	stream   *stream
	withheld bool // whether a warning has said why the rows of the file are not published

	dataType string // data type of the items; "" stands for all types
	jobs     []string
}

// openTargets opens the files of the items, or the stream.
func (p *Publisher) openTargets() error {
	everything := Destination{Jobs: p.engine.Jobs()}
	destinations := Destinations(p.engine, p.options.Dir, p.options.Format)
	switch {
	case p.options.Dir == "" && p.options.Stream == nil:
		p.addStream(encoding{}, io.Discard, everything)
		return nil
	case p.options.Dir == "" && p.options.Format.IsTable() && len(destinations) > 1:
		return &engine.Error{
			Class: failure.Config, Op: p.options.Format.String(), Message: "a table has the items of one dataType, and the jobs have several",
			Hint: "write files, or run one job",
		}
	case p.options.Dir == "":
		p.addStream(p.encoding, p.options.Stream, everything)
		return nil
	}
	if err := os.MkdirAll(p.options.Dir, 0o777); err != nil {
		return err
	}
	for _, destination := range destinations {
		if err := destination.Check(); err != nil {
			return err
		}
		if err := refuseDirectories(destination.Path); err != nil {
			return err
		}
	}
	for _, destination := range destinations {
		if err := p.openTarget(destination); err != nil {
			return err
		}
	}
	return nil
}

// openTarget opens the file of a data type. A pipe or a device receives items immediately; a file
// receives its rows when they are complete.
func (p *Publisher) openTarget(destination Destination) error {
	if files.IsStream(destination.Path) {
		w, err := p.openStream(destination.Path)
		if err != nil {
			return err
		}
		p.commits.interval = 0
		p.addStream(p.encoding, w, destination)
		return nil
	}
	if err := p.repair(destination.Path); err != nil {
		return err
	}
	f, err := p.encoding.openFile(p.store, destination.Path, destination.DataType)
	if err != nil {
		return err
	}
	p.targets = append(p.targets, &target{file: f, dataType: destination.DataType, jobs: destination.Jobs})
	return nil
}

// repair completes the publication that an earlier run began.
func (p *Publisher) repair(path string) error {
	repaired, err := checkpoint.Repair(path)
	if repaired {
		p.log.Info(path+": completed the publication that an earlier run had begun", "event", "repaired", "file", path)
	}
	return err
}

// addStream adds a stream for the items of a destination.
func (p *Publisher) addStream(e encoding, w io.Writer, destination Destination) {
	p.targets = append(p.targets, &target{stream: e.newStream(w), dataType: destination.DataType, jobs: destination.Jobs})
}

// assignJobs determines the targets of every job. Even a job whose items are not written has a
// target, because it may keep values.
func (p *Publisher) assignJobs() {
	p.byJob = map[string][]*target{}
	for _, t := range p.targets {
		for _, job := range t.jobs {
			p.byJob[job] = append(p.byJob[job], t)
		}
	}
	for _, job := range p.engine.AllJobs() {
		if p.byJob[job] == nil {
			p.addStream(encoding{}, io.Discard, Destination{Jobs: []string{job}})
			p.byJob[job] = p.targets[len(p.targets)-1:]
		}
	}
}

// writer returns a writer for the items of a data type.
func (t *target) writer(dataType string) io.Writer {
	if t.stream != nil {
		return t.stream.items(dataType)
	}
	return t.file
}

// lists returns the items of a page that belong to the target, by data type.
func (t *target) lists(page *engine.Page) iter.Seq2[string, engine.Items] {
	return func(yield func(string, engine.Items) bool) {
		for _, list := range page.Lists {
			if (t.dataType == "" || t.dataType == list.DataType) && !yield(list.DataType, list.Items) {
				return
			}
		}
	}
}

// chooseModes decides which files are appended to.
func (p *Publisher) chooseModes() error {
	if p.options.Merge {
		if err := p.chooseMerge(); err != nil {
			return err
		}
	}
	for _, t := range p.targets {
		if t.file == nil {
			continue
		}
		if err := p.chooseMode(t); err != nil {
			return err
		}
	}
	return nil
}

// chooseMode decides whether a file is appended to. A job that continues from values that it or its
// parent has kept in an earlier run appends its rows, because the rows of the earlier run are never
// requested again.
func (p *Publisher) chooseMode(t *target) error {
	hasKept := func(job string) bool { return len(p.kept.before[job]) > 0 && p.savesKept() }
	var continues, starts []string
	for _, job := range t.jobs {
		if slices.ContainsFunc(p.engine.Job(job).Keepers, hasKept) {
			continues = append(continues, job)
		} else {
			starts = append(starts, job)
		}
	}
	if p.options.Append || len(continues) > 0 && !p.options.Merge {
		if err := p.beginAppend(t.file); err != nil {
			return err
		}
	}
	if err := p.requireKept(t.file, continues); err != nil {
		return err
	}
	if err := p.warnOfRows(t.file, starts); err != nil {
		return err
	}
	switch {
	case p.options.Append:
		return nil
	case len(continues) == 0:
		return p.requireOwn(t)
	}
	name := t.file.rows.Name()
	if len(starts) > 0 && !p.options.Merge {
		return (&engine.Error{
			Class: failure.Config, Op: "output",
			Message: fmt.Sprintf("%s: job %s continues from kept values, so its rows are added, but job %s starts at the beginning",
				name, continues[0], starts[0]),
		}).WithRemedy("give each job its own dataType, or add all rows with %s", remedy.Append)
	}
	p.logContinued(name, strings.Join(continues, " and "))
	return nil
}

// requireKept refuses to add the rows of jobs that continue from kept values to a file that is not as it was
// when these values were saved: rows would be missing in it, or there twice. A file without rows, because it
// was moved away or emptied, can have neither gaps nor repeated rows. Values that an earlier build has saved do
// not say which file they follow, and are accepted.
func (p *Publisher) requireKept(f *file, continues []string) error {
	if f.rows.Finished() || len(continues) == 0 {
		return nil
	}
	now, err := f.rows.Snapshot()
	if err != nil {
		return err
	}
	for _, job := range continues {
		for _, keeper := range p.engine.Job(job).Keepers {
			snapshots, known := p.kept.files[keeper]
			same := !known || slices.Contains(slices.Collect(maps.Values(snapshots)), now)
			if len(p.kept.before[keeper]) > 0 && !same && (now.Bytes > maxCounted || !f.isEmpty()) {
				return p.refuseChanged(f.rows.Name(), keeper)
			}
		}
	}
	return nil
}

// warnOfRows logs that the whole lists of jobs that have no kept values, although they keep some, are added to a file
// that has rows: they may be those of earlier runs, whose values are lost. A file that has the rows up to the values of
// another job is that of several jobs.
func (p *Publisher) warnOfRows(f *file, starts []string) error {
	keeps := func(job string) bool { return len(p.engine.Job(job).Keepers) > 0 && p.savesKept() }
	i := slices.IndexFunc(starts, keeps)
	if i < 0 || !p.options.Append || f.rows.Finished() {
		return nil
	}
	now, err := f.rows.Snapshot()
	if err != nil || now.Bytes == 0 || now.Bytes <= maxCounted && f.isEmpty() {
		return err
	}
	for job, values := range p.kept.before {
		snapshots, known := p.kept.files[job]
		if len(values) > 0 && (!known || slices.Contains(slices.Collect(maps.Values(snapshots)), now)) {
			return nil
		}
	}
	p.log.Warn(fmt.Sprintf("%s has rows, and job %s has no kept values: it requests its whole list, and adds rows that the file may have; "+
		"if the kept values of earlier runs are lost, restore them, or move the file away to begin a new one", f.rows.Name(), starts[i]),
		"event", "append_again", "file", f.rows.Name(), "job", starts[i])
	return nil
}

// requireOwn refuses to replace a file that has the rows of a job that continues from kept values and now writes to
// another file, because its dataType has changed: its rows would be lost.
func (p *Publisher) requireOwn(t *target) error {
	name := t.file.rows.Name()
	isOf := func(snapshots map[string]checkpoint.Snapshot) bool {
		_, known := snapshots[filepath.Base(name)]
		return known
	}
	if !slices.ContainsFunc(slices.Collect(maps.Values(p.kept.files)), isOf) {
		return nil // the file need not be read
	}
	now, err := t.file.rows.Snapshot()
	if err != nil || now.Bytes == 0 {
		return err
	}
	for _, job := range p.engine.AllJobs() {
		for _, keeper := range p.engine.Job(job).Keepers {
			follows := func(own string) bool { return slices.Contains(p.engine.Job(own).Keepers, keeper) }
			if p.kept.files[keeper][filepath.Base(name)] != now || slices.ContainsFunc(t.jobs, follows) {
				continue
			}
			return &engine.Error{
				Class: failure.State, Op: "output",
				Message: fmt.Sprintf("%s has the rows up to the kept values of job %s, which writes to another file now; job %s would replace them",
					name, keeper, strings.Join(t.jobs, " and ")),
				Hint: fmt.Sprintf("give job %s the dataType that it had and each other job one of its own, or rename the file as its "+
					"dataType says", keeper),
			}
		}
	}
	return nil
}

// refuseChanged refuses to add rows to a file that is not as it was when a job's values were saved.
func (p *Publisher) refuseChanged(name, keeper string) error {
	owner, last := "state "+p.store.Path(), remedy.StartOver
	if file := p.options.KeptFile; file != "" {
		owner = file
		last = remedy.New("name another file with %s, without %s, to start over and replace it; if the file has the rows up to the kept values, "+
			"remove %q of job %s from %s", remedy.KeptFile, remedy.Append, checkpoint.KeptFilesMember, keeper, file)
	}
	return (&engine.Error{
		Class: failure.State, Op: "kept",
		Message: fmt.Sprintf("%s is not as it was when the values of job %s were saved in %s: another run or program has changed it, "+
			"or the rows before these values are in another file; adding to it could lose or repeat rows", name, keeper, owner),
	}).WithRemedy("restore the file, or move it away to begin a new one with the rows of this run; or %s", last)
}

// logContinued logs that rows are added to a file whose jobs continue from the values of an earlier run, or
// that the file is missing.
func (p *Publisher) logContinued(name, jobs string) {
	switch {
	case !files.Exists(name):
		p.log.Warn(fmt.Sprintf("%s does not exist, although job %s continues from the values of an earlier run: it will have the rows "+
			"of this run alone (those of earlier runs may be in another format, directory or dataType)", name, jobs),
			"event", "append_new", "file", name)
	case !p.options.Merge:
		p.log.Info(fmt.Sprintf("%s: rows are added, since job %s continues from the values of an earlier run", name, jobs),
			"event", "append", "file", name)
	}
}

// checkMerge checks that rows can be merged at all.
func (p *Publisher) checkMerge() error {
	refuse := func(message, hint string, args ...any) error {
		return (&engine.Error{Class: failure.Config, Op: "merge", Message: message}).WithRemedy(hint, args...)
	}
	switch {
	case !p.options.Merge:
		return nil
	case p.options.Append:
		return refuse("rows are either added, or replace those with the same key", "use %s or %s", remedy.Append, remedy.Merge)
	case p.options.Dir == "":
		return refuse("rows that were written to a stream cannot be replaced", "use %s with %s", remedy.Merge, remedy.Dir)
	case p.options.Format.CarriesState():
		return refuse(fmt.Sprintf("messages of format %s cannot be merged", p.options.Format.row().kind),
			"the target does that, by the key_properties; for a file, use %s",
			value.OrList(Kinds(func(f Format) bool { return !f.CarriesState() })))
	}
	return nil
}

// checkAppend refuses to start over and to add the rows: they would be added to those of the run that is forgotten.
func (p *Publisher) checkAppend() error {
	if !p.options.Append || !p.store.Restarts() {
		return nil
	}
	return (&engine.Error{
		Class: failure.Config, Op: "output",
		Message: "a run that starts over requests all lists from their start again, so rows that its files have would be added to them again",
	}).WithRemedy("leave out %s, and it replaces the files; move them away first if their rows are to stay", remedy.Append)
}

// modeNote is the name of the note in a state that says how rows get into the files.
const modeNote = "rows"

// checkMode refuses to continue a run that adds its rows to the files, or merges them, as a run that does not: it would
// replace the rows of earlier runs.
func (p *Publisher) checkMode() error {
	if p.store.Path() == "" || p.options.Dir == "" {
		return nil
	}
	mode := "replace those in the files"
	switch {
	case p.options.Append:
		mode = "are added to the files"
	case p.options.Merge:
		mode = "replace those in the files that have the same key"
	}
	if before := p.store.Note(modeNote); before != "" && before != mode {
		return (&engine.Error{
			Class: failure.State, Op: "resume",
			Message: fmt.Sprintf("state %s cannot be used: the rows of its run, which has not ended, %s, and those of this one %s",
				p.store.Path(), before, mode),
		}).WithRemedy("continue it with the same %s and %s; %s", remedy.Append, remedy.Merge, remedy.StartOver)
	}
	p.store.SetNote(modeNote, mode)
	return nil
}

// chooseMerge prepares all files for rows that replace existing rows with the same key.
func (p *Publisher) chooseMerge() error {
	for _, t := range p.targets {
		if t.file == nil {
			if t.dataType == "" {
				continue // it is the stream for jobs whose items are not written
			}
			return (&engine.Error{Class: failure.Config, Op: "merge", Message: "rows cannot be merged into a pipe or a device"}).
				WithRemedy("write to regular files, or leave out %s", remedy.Merge)
		}
		key, err := p.keyOf(t)
		if err != nil {
			return err
		}
		if err := p.beginAppend(t.file); err != nil {
			return err
		}
		if err := t.file.mergeInto(key); err != nil {
			return err
		}
	}
	return nil
}

// keyOf returns the key of the jobs that write to a file.
func (p *Publisher) keyOf(t *target) ([]string, error) {
	var key []string
	for i, job := range t.jobs {
		own, problem := p.engine.Job(job).Key, ""
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

// keysOf returns the keys of the items of each data type, unless jobs disagree about them.
func keysOf(e *engine.Engine) map[string][]string {
	keys := map[string][]string{}
	for _, job := range e.Jobs() {
		info := e.Job(job)
		for _, dataType := range info.DataTypes {
			if key, known := keys[dataType]; known && !slices.Equal(key, info.Key) {
				keys[dataType] = nil
				continue
			}
			keys[dataType] = info.Key
		}
	}
	return keys
}

// beginAppend prepares a file for appending. It warns if the file does not end with a newline,
// because its last line may have been cut off.
func (p *Publisher) beginAppend(f *file) error {
	open, err := f.append()
	if open {
		p.log.Warn(fmt.Sprintf("the last line of %s does not end with a newline; one is added", f.rows.Name()),
			"event", "open_line", "file", f.rows.Name())
	}
	return err
}

// savesKept reports whether values are kept from run to run.
func (p *Publisher) savesKept() bool { return p.options.KeptFile != "" || p.store.Path() != "" }

// refuseDirectories refuses directories in the places of a file and its rows.
func refuseDirectories(path string) error {
	if err := files.RefuseDirectory(path); err != nil {
		return err
	}
	return files.RefuseDirectory(path + checkpoint.PartialSuffix)
}
