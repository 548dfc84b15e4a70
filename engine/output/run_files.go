package output

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/checkpoint"
	"github.com/stopwhen/stopwhen/engine/files"
)

// runFiles are the trace and the recording of a run.
type runFiles struct {
	*run
	trace     traceWriter
	recording *Recording // nil if the run is not recorded
}

// openTrace opens the trace. Its file appears, and is resumed, like the files of items.
func (rf *runFiles) openTrace(streams *pipes) (err error) {
	path := rf.options.TraceFile
	switch {
	case path == "":
		rf.trace.to = rf.options.Trace
	case files.IsStream(path):
		rf.trace.to, err = streams.open(path)
	default:
		if err = refuseDirectories(path); err != nil {
			return err
		}
		rf.trace.file, err = rf.store.Rows(filepath.Clean(path), nil)
		rf.trace.to = rf.trace.file
		if err == nil && rf.trace.file.Finished() { // nothing is left of the run
			rf.trace.to = nil
		}
	}
	return err
}

// openRecording opens the recording.
func (rf *runFiles) openRecording() error {
	if rf.options.RecordFile == "" {
		return nil
	}
	if err := refuseDirectories(rf.options.RecordFile); err != nil {
		return err
	}
	rows, err := rf.store.Rows(filepath.Clean(rf.options.RecordFile), nil)
	if err != nil {
		return err
	}
	rows.Private()
	rf.recording = &Recording{rows: rows}
	return nil
}

// page adds a page to the trace, and the exchanges before it to the recording.
func (rf *runFiles) page(page *engine.Page) error {
	return errors.Join(rf.trace.page(page), rf.recording.flush())
}

// end adds to the trace where the run failed, and the last exchanges to the recording.
func (rf *runFiles) end(result *engine.Result) error {
	if err := rf.trace.failures(result); err != nil {
		return err
	}
	return rf.recording.flush()
}

// A runFile is a file that describes the run.
type runFile struct {
	kind    string
	file    *checkpoint.Output
	private bool
}

// all returns the files of the trace and the recording that the run writes.
func (rf *runFiles) all() (all []runFile) {
	if rf.trace.file != nil {
		all = append(all, runFile{kind: "trace", file: rf.trace.file})
	}
	if rf.recording != nil {
		all = append(all, runFile{"recording", rf.recording.rows, true})
	}
	return all
}

// publish gives the trace and the recording their names, after a run that has succeeded.
// After any other run, they replace no file, and stay where they are if the run can be resumed.
func (rf *runFiles) publish(succeeded bool) error {
	for _, r := range rf.all() {
		if r.file.Finished() {
			continue
		}
		_, err := os.Lstat(r.file.Name())
		exists := err == nil
		if !succeeded && (exists || rf.hasState()) {
			rf.logUnpublished(r.kind, r.file)
			continue
		}
		if r.private && exists {
			_ = os.Chmod(r.file.Name(), files.Private) // a file that replaces another has its mode; some file systems have no modes
		}
		if err := rf.store.Publish(checkpoint.Publication{Parts: []checkpoint.Part{{Output: r.file}}}); err != nil {
			return err
		}
	}
	return nil
}

// logUnpublished logs where the trace or the recording is after a run that has not succeeded.
func (rf *runFiles) logUnpublished(kind string, file *checkpoint.Output) {
	if !file.Created() {
		return
	}
	rf.log.Warn(fmt.Sprintf("%s: the run has not succeeded, and its %s is in %s", unpublished(file), kind, filepath.Base(file.Path())),
		"event", "partial", "file", file.Name(), "partial", file.Path())
}

// A Recording is the file of the recording of a run. It is written, committed and published with
// the pages: a run that resumes continues it after the last committed page.
type Recording struct {
	rows *checkpoint.Output

	mu      sync.Mutex
	pending []byte // exchanges that have ended since the last page, in any goroutine
}

// Exchanges returns the number of exchanges that the recording has. It is above 0 at the beginning
// of a run that resumes.
func (r *Recording) Exchanges() int { return int(r.rows.RowCount()) }

// Path returns the path of the file that holds the recording: until it is published, that is its
// name with the ending [checkpoint.PartialSuffix].
func (r *Recording) Path() string {
	if r.rows.Finished() {
		return r.rows.Name()
	}
	return r.rows.Path()
}

// Write adds to the recording. The next page that is written, or the end of the run, writes it to
// the file. Several goroutines may call Write.
func (r *Recording) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pending = append(r.pending, p...)
	return len(p), nil
}

// flush writes the buffered bytes to the file.
func (r *Recording) flush() error {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.pending) == 0 || r.rows.Finished() {
		return nil
	}
	_, err := r.rows.Write(r.pending)
	r.pending = r.pending[:0]
	return err
}
