package output

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"os"
	"slices"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/checkpoint"
	"github.com/stopwhen/stopwhen/engine/files"
	"github.com/stopwhen/stopwhen/runtime/failure"
)

// A target is the destination of the items of one or several jobs: a file or a stream.
type target struct {
	file     *file
	stream   *stream
	withheld bool // whether a warning has said why the rows of the file are not published

	dataType string // data type of the items; "" stands for all types
	jobs     []string
	leftOut  []string // IDs of jobs that do not run, and otherwise write to the file
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

// targets are the destinations of all items.
type targets struct {
	*run
	encoding encoding // of the items
	all      []*target
	byJob    map[string][]*target // targets of each job; several if its items have several types
	live     bool                 // whether items are in a stream, from which they cannot be discarded when the run resumes
	queues   map[*target]*queue   // queues of targets that concurrent jobs share
	waiting  waitingItems         // items waiting in the queues
}

// open opens the files of the items, or the stream.
func (ts *targets) open(streams *pipes) error {
	destinations, stream := Destinations(ts.engine, ts.options.Dir, ts.options.Format), ts.options.Stream
	if ts.options.StreamFile != "" {
		var err error
		if stream, err = streams.open(ts.options.StreamFile); err != nil {
			return err
		}
	}
	switch {
	case ts.options.Dir == "" && stream == nil:
		ts.discard(ts.engine.Jobs())
		return nil
	case ts.options.Dir == "" && ts.options.Format.IsTable() && len(destinations) > 1:
		return &engine.Error{
			Class: failure.Config, Op: ts.options.Format.String(), Message: "a table has the items of one dataType, and the jobs have several",
			Hint: "write files, or run one job",
		}
	case ts.options.Dir == "":
		ts.addStream(stream, Destination{Jobs: ts.engine.Jobs()})
		return nil
	}
	if err := os.MkdirAll(ts.options.Dir, 0o777); err != nil {
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
		if err := ts.openTarget(destination, streams); err != nil {
			return err
		}
	}
	return nil
}

// openTarget opens the file of a data type. A pipe or a device receives items immediately; a file
// receives its rows when they are complete.
func (ts *targets) openTarget(destination Destination, streams *pipes) error {
	if files.IsStream(destination.Path) {
		w, err := streams.open(destination.Path)
		if err != nil {
			return err
		}
		ts.addStream(w, destination)
		return nil
	}
	if err := ts.completePublication(destination.Path); err != nil {
		return err
	}
	f, err := ts.encoding.openFile(ts.store, destination.Path, destination.DataType)
	if err != nil {
		return err
	}
	ts.all = append(ts.all, &target{file: f, dataType: destination.DataType, jobs: destination.Jobs, leftOut: destination.LeftOut})
	return nil
}

// addStream adds a stream for the items of a destination.
func (ts *targets) addStream(w io.Writer, destination Destination) {
	ts.live = true
	ts.all = append(ts.all, &target{stream: ts.encoding.newStream(w), dataType: destination.DataType, jobs: destination.Jobs})
}

// discard adds a target for items that are not written.
func (ts *targets) discard(jobs []string) *target {
	t := &target{stream: encoding{}.newStream(io.Discard), jobs: jobs}
	ts.all = append(ts.all, t)
	return t
}

// assignJobs determines the targets of every job. Even a job whose items are not written has a
// target, because it may keep values.
func (ts *targets) assignJobs() {
	ts.byJob = map[string][]*target{}
	for _, t := range ts.all {
		for _, job := range t.jobs {
			ts.byJob[job] = append(ts.byJob[job], t)
		}
	}
	for _, job := range ts.engine.AllJobs() {
		if ts.byJob[job] == nil {
			ts.byJob[job] = []*target{ts.discard([]string{job})}
		}
	}
}

// write writes the items of a page that belong to a target.
func (ts *targets) write(t *target, page *engine.Page) error {
	if t.file != nil {
		for _, items := range t.lists(page) {
			t.file.shared.notice(page.Job, items)
		}
	}
	if q := ts.queues[t]; q != nil {
		return q.page(page)
	}
	for dataType, items := range t.lists(page) {
		if _, err := items.WriteTo(t.writer(dataType)); err != nil {
			return err
		}
	}
	if t.stream != nil {
		return t.stream.flush()
	}
	return nil
}

// waits reports whether items of a target are not written yet.
func (ts *targets) waits(t *target) bool {
	q := ts.queues[t]
	return t.stream != nil && t.stream.waits() || q != nil && !q.empty()
}

// end writes the items that wait for other jobs or for the end of a stream.
func (ts *targets) end() error {
	queues := ts.queues
	ts.queues = nil
	for _, t := range ts.all {
		if q := queues[t]; q != nil {
			if err := q.end(); err != nil {
				return err
			}
		}
		if t.stream != nil && t.stream.waits() {
			if err := ts.endStream(t.stream); err != nil {
				return err
			}
		}
	}
	return nil
}

// endStream ends a stream.
func (ts *targets) endStream(s *stream) error {
	for _, e := range s.encoders {
		if s.waits() {
			warnMixed(ts.log, "the table", e)
		}
	}
	return s.close()
}

// warnMixed warns about the columns of a table that are texts because no other type holds all of their values.
func warnMixed(log *slog.Logger, name string, e encoder) {
	w, ok := e.(interface{ mixed() []string })
	if !ok {
		return
	}
	for _, column := range w.mixed() {
		log.Warn(fmt.Sprintf("%s: %s, so all of its values are written as texts", name, column), "event", "mixed_column", "file", name)
	}
}

// settle ends the compression of streams, and completes the rows of unpublished files.
func (ts *targets) settle() error {
	var errs error
	for _, t := range ts.all {
		if t.stream != nil {
			errs = errors.Join(errs, ts.endStream(t.stream))
		} else {
			errs = errors.Join(errs, t.file.settle())
		}
	}
	return errs
}

// published reports whether the rows of a job in the outputs of a data type, or in all outputs if it is "", are in their
// files, or in a stream.
func (ts *targets) published(job, dataType string) bool {
	return !slices.ContainsFunc(ts.byJob[job], func(t *target) bool {
		return t.file != nil && (dataType == "" || t.dataType == dataType) && !t.file.rows.Published()
	})
}

// addSharingRoots adds the roots whose jobs share an unpublished file with jobs of the given roots, until
// there are no more. It returns these files.
func (ts *targets) addSharingRoots(roots map[string]bool) (outputs []*checkpoint.Output) {
	for more := true; more; {
		more, outputs = false, nil
		for _, t := range ts.all {
			isAmong := func(job string) bool { return roots[ts.engine.Job(job).Root] }
			if t.file == nil || t.file.rows.Finished() || !slices.ContainsFunc(t.jobs, isAmong) {
				continue
			}
			outputs = append(outputs, t.file.rows)
			for _, job := range t.jobs {
				more = more || !isAmong(job)
				roots[ts.engine.Job(job).Root] = true
			}
		}
	}
	return outputs
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

// refuseDirectories refuses directories in the places of a file and its rows.
func refuseDirectories(path string) error {
	if err := files.RefuseDirectory(path); err != nil {
		return err
	}
	return files.RefuseDirectory(path + checkpoint.PartialSuffix)
}
