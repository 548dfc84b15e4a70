package output

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"time"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/checkpoint"
	"github.com/stopwhen/stopwhen/runtime/failure"
)

// commitInterval bounds what a kill costs: pages since the last commit are extracted
// again. A commit takes about a millisecond.
const commitInterval = 200 * time.Millisecond

// A Dir is a sink that writes one file per data type, below a directory. A file appears
// under its name when all jobs of its data type are complete; until then its rows are in a
// file of the same name with the ending [checkpoint.PartialSuffix], which a run that fails
// leaves.
type Dir struct {
	engine *engine.Engine
	store  *checkpoint.Store
	state  bool
	files  []*dirFile
	shared bool      // jobs of several trees take turns, so that every page needs a checkpoint
	last   time.Time // commit
}

// dirFile is a file of a Dir.
type dirFile struct {
	*File
	dataType string
	jobs     []string
	appends  bool
	writer   string // the root of the job that wrote to it last
	ended    []engine.JobResult
}

// DirOptions are the options of [OpenDir].
type DirOptions struct {
	Options

	// Append adds the items of a run to those in the files, instead of replacing them.
	Append bool

	// State is the path of a state file; "" is none. With a state, a run that fails or is
	// killed is resumed by the next one with the same configuration, and every item is in
	// its file once. Values that jobs keep are part of the state, and the items of jobs
	// that continue from them are added. Two runs must not use a state, or a directory, at
	// the same time: the caller locks them.
	State string

	// Program names the writer of the state in the state file; "" is "stopwhen".
	Program string
}

// OpenDir prepares a run to the files of a directory, which it creates if there is none.
// It completes what an earlier run had begun to publish. Run the extraction with
// [Dir.Run], and close the directory after it.
func OpenDir(e *engine.Engine, path string, options DirOptions) (*Dir, error) {
	if err := options.Format.check(); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(path, 0o777); err != nil {
		return nil, &engine.Error{Class: failure.IO, Op: "output", Message: err.Error(), Err: err}
	}
	d := &Dir{engine: e, store: checkpoint.Stateless(), state: options.State != ""}
	if err := d.open(path, options); err != nil {
		return nil, errors.Join(err, d.store.Close())
	}
	return d, nil
}

func (d *Dir) open(path string, options DirOptions) (err error) {
	if d.state {
		if err := d.openState(options); err != nil {
			return err
		}
	}
	kept, err := d.kept()
	if err != nil {
		return err
	}
	d.shared = len(d.engine.Roots()) > 1
	for _, place := range Places(d.engine, path, options.Format) {
		if err := d.openFile(place, options, kept); err != nil {
			return err
		}
	}
	if err := d.store.Begin(); err != nil {
		return err
	}
	if d.state {
		d.engine = d.engine.With(engine.WithKept(kept), engine.WithResume(d.store.Jobs()))
	}
	return nil
}

// openState reads the state, and checks that the engine can resume from it.
func (d *Dir) openState(options DirOptions) error {
	store, err := checkpoint.Open(options.State, cmp.Or(options.Program, "stopwhen"), d.engine.Fingerprint())
	if err != nil {
		return err
	}
	d.store = store
	return d.engine.With(engine.WithResume(store.Jobs())).Check()
}

// kept returns the values that jobs continue from.
func (d *Dir) kept() (map[string]map[string]any, error) {
	kept := map[string]map[string]any{}
	for job, text := range d.store.Kept() {
		var values map[string]any
		dec := json.NewDecoder(bytes.NewReader(text))
		dec.UseNumber()
		if err := dec.Decode(&values); err != nil {
			return nil, err
		}
		kept[job] = values
	}
	return kept, nil
}

// openFile opens the file of a data type. A job that continues from kept values, its own or
// those of a job for whose items it is, adds its items: those of the runs before are not
// requested again.
func (d *Dir) openFile(place Place, options DirOptions, kept map[string]map[string]any) error {
	if _, err := checkpoint.Repair(place.Path); err != nil {
		return err
	}
	file, err := options.OpenFile(d.store, place.Path, place.DataType)
	if err != nil {
		return err
	}
	f := &dirFile{File: file, dataType: place.DataType, jobs: place.Jobs, appends: options.Append}
	d.files = append(d.files, f)
	hasKept := func(job string) bool { return len(kept[job]) > 0 }
	continues := func(job string) bool { return slices.ContainsFunc(d.engine.Keepers(job), hasKept) }
	if !options.Append && slices.ContainsFunc(f.jobs, continues) {
		if i := slices.IndexFunc(f.jobs, func(job string) bool { return !continues(job) }); i >= 0 {
			return &engine.Error{
				Class: failure.Config, Op: "output", Job: f.jobs[i],
				Message: "this job starts at the beginning, but another one with its dataType continues from kept values",
				Hint:    "give each job its own dataType, or add all items with Append",
			}
		}
		f.appends = true
	}
	if f.appends {
		_, err = file.Append()
	}
	return err
}

// Run runs the engine with the directory as its sink. It continues where the state says,
// and when it succeeds, the next run with the state is the next increment.
func (d *Dir) Run(ctx context.Context) (*engine.Result, error) {
	result, err := d.engine.RunTo(ctx, d)
	if err == nil {
		err = d.store.End()
	}
	return result, err
}

// Page writes the items of a page. With a state, it commits them now and then.
func (d *Dir) Page(_ context.Context, page *engine.Page) error {
	if err := d.write(page); err != nil || !d.state {
		return err
	}
	due := page.Final || time.Since(d.last) >= commitInterval
	if !due && !d.shared {
		return nil
	}
	position, err := page.Checkpoint()
	if err != nil || position == nil { // the run cannot resume after a page on which it fails
		return err
	}
	if err := d.store.Mark(page.Root, position, d.writtenBy(page.Root)...); err != nil || !due {
		return err
	}
	d.last = time.Now()
	return d.store.Flush()
}

// write writes the items of a page. Those of some jobs are not written.
func (d *Dir) write(page *engine.Page) error {
	for _, f := range d.filesOf(page.Job) {
		if err := f.write(page); err != nil {
			return err
		}
	}
	return nil
}

// writtenBy returns the outputs that a job, or one below it, wrote to last.
func (d *Dir) writtenBy(root string) []*checkpoint.Output {
	var rows []*checkpoint.Output
	for _, f := range d.files {
		if f.writer == root {
			rows = append(rows, f.rows)
		}
	}
	return rows
}

// write writes the items of a page that belong to the file. It removes a page that the
// jobs of another tree have begun and will request again.
func (f *dirFile) write(page *engine.Page) error {
	if f.writer != "" && f.writer != page.Root && f.rows.Torn() {
		if err := f.rows.Rollback(); err != nil {
			return err
		}
	}
	f.writer = page.Root
	for _, list := range page.Lists {
		if list.DataType != f.dataType {
			continue
		}
		if _, err := list.Items.WriteTo(f); err != nil {
			return err
		}
	}
	return nil
}

// Commit publishes the files of a job, if the other jobs of a file are complete too.
func (d *Dir) Commit(_ context.Context, job engine.JobResult) error {
	for _, f := range d.filesOf(job.Job) {
		if err := d.publish(f, job); err != nil {
			return err
		}
	}
	return nil
}

func (d *Dir) publish(f *dirFile, job engine.JobResult) error {
	if f.rows.Published() {
		return nil
	}
	f.ended = append(f.ended, job)
	if len(f.ended) < len(f.jobs) {
		return nil
	}
	if d.repeats(f) {
		return d.store.Release(f.rows)
	}
	kept := map[string]json.RawMessage{}
	for _, ended := range f.ended {
		if ended.Kept == nil || !d.isLast(f, ended.Job) {
			continue
		}
		text, err := json.Marshal(ended.Kept)
		if err != nil {
			return err
		}
		kept[ended.Job] = text
	}
	return f.Publish(kept, "")
}

// repeats reports whether the next run requests the items of a file again, because a list
// that continued from kept values is incomplete: if they were added now, they would be
// added twice.
func (d *Dir) repeats(f *dirFile) bool {
	return d.state && f.appends && slices.ContainsFunc(f.ended, func(job engine.JobResult) bool {
		return job.Repeats && len(d.engine.Keepers(job.Job)) > 0
	})
}

// filesOf returns the files of a job: one for each of its data types.
func (d *Dir) filesOf(job string) (files []*dirFile) {
	for _, f := range d.files {
		if slices.Contains(f.jobs, job) {
			files = append(files, f)
		}
	}
	return files
}

// isLast reports whether all other files of a job are complete: the values for the next
// run are saved with the last one, so that no rows are left behind.
func (d *Dir) isLast(f *dirFile, job string) bool {
	return !slices.ContainsFunc(d.filesOf(job), func(other *dirFile) bool { return other != f && !other.rows.Published() })
}

// Close saves the last pages of a run that has failed, completes their rows, and closes
// all files.
func (d *Dir) Close() error {
	err := d.store.Flush()
	for _, f := range d.files {
		err = errors.Join(err, f.Settle())
	}
	return errors.Join(err, d.store.Close())
}

var (
	_ engine.Sink = (*Dir)(nil)
	_ engine.Sink = (*Stream)(nil)
)
