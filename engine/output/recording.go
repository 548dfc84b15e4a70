package output

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/checkpoint"
)

// A Recording is the file of the recording of a run. It is written, committed and published with
// the pages: a run that resumes continues it after the last committed page.
type Recording struct {
	rows *checkpoint.Output

	mu      sync.Mutex
	pending []byte // exchanges that have ended since the last page, in any goroutine
}

// openRecording opens the recording.
func (p *Publisher) openRecording() error {
	if p.options.RecordFile == "" {
		return nil
	}
	if err := refuseDirectories(p.options.RecordFile); err != nil {
		return err
	}
	rows, err := p.store.Rows(filepath.Clean(p.options.RecordFile), nil)
	if err != nil {
		return err
	}
	rows.Private()
	p.recording = &Recording{rows: rows}
	return nil
}

// Recording returns the file of [PublisherOptions.RecordFile], or nil if the run is not recorded.
func (p *Publisher) Recording() *Recording { return p.recording }

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

// publishRecords gives the trace and the recording their names, after a run that has succeeded.
// After any other run, they replace no file, and stay where they are if the run can be resumed.
func (p *Publisher) publishRecords(result *engine.Result, failed error) error {
	for _, r := range p.records() {
		if r.file == nil || r.file.Finished() {
			continue
		}
		_, err := os.Lstat(r.file.Name())
		exists := err == nil
		if (failed != nil || p.rejects(result)) && (exists || p.store.Path() != "") {
			p.logUnpublished(r.kind, r.file, exists)
			continue
		}
		if r.private && exists {
			_ = os.Chmod(r.file.Name(), 0o600) // a file that replaces another has its mode; some file systems have no modes
		}
		if err := p.store.Publish(checkpoint.Publication{Parts: []checkpoint.Part{{Output: r.file}}}); err != nil {
			return err
		}
	}
	return nil
}

// A record is a file that describes the run.
type record struct {
	kind    string
	file    *checkpoint.Output // nil if the run does not write it
	private bool
}

// records returns the trace and the recording.
func (p *Publisher) records() []record {
	records := []record{{kind: "trace", file: p.trace.file}}
	if p.recording != nil {
		records = append(records, record{"recording", p.recording.rows, true})
	}
	return records
}

// rejects reports whether the items of a job must not be published.
func (p *Publisher) rejects(result *engine.Result) bool {
	return len(result.Completed()) < len(result.Jobs)
}

// logUnpublished logs where the trace or the recording is after a run that has not succeeded. exists says
// whether there is a file of that name.
func (p *Publisher) logUnpublished(kind string, file *checkpoint.Output, exists bool) {
	if !file.Created() {
		return
	}
	before := "does not exist"
	if exists {
		before = "is unchanged"
	}
	p.log.Warn(fmt.Sprintf("%s %s: the run has not succeeded, and its %s is in %s", file.Name(), before, kind, filepath.Base(file.Path())),
		"event", "partial", "file", file.Name(), "partial", file.Path())
}
