package main

import (
	"io"
	"os"
	"slices"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/runtime"
)

// queue serialises the output of concurrent jobs that share a writer: it is the
// same as if the jobs had run one after another. Items of a job whose turn has
// not come wait in a temporary file.
type queue struct {
	w       io.Writer
	jobs    []string // that have not ended, in order; it is the turn of the first
	ended   map[string]bool
	waiting map[string]*os.File // by job
}

func newQueue(w io.Writer, jobs []string) *queue {
	return &queue{w: w, jobs: jobs, ended: map[string]bool{}, waiting: map[string]*os.File{}}
}

// page writes the items of a page to the writer, or to the file of a waiting job.
func (q *queue) page(page *engine.Page) error {
	w := q.w
	if page.Job != q.jobs[0] {
		file, err := q.file(page.Job)
		if err != nil {
			return err
		}
		w = file
	}
	if _, err := page.Items.WriteTo(w); err != nil {
		return err
	}
	if page.Decision != runtime.Stop {
		return nil
	}
	q.ended[page.Job] = true
	for len(q.jobs) > 0 && q.ended[q.jobs[0]] {
		if err := q.next(); err != nil {
			return err
		}
	}
	return nil
}

// file returns the temporary file of a waiting job.
func (q *queue) file(job string) (*os.File, error) {
	if q.waiting[job] != nil {
		return q.waiting[job], nil
	}
	file, err := os.CreateTemp("", "stopwhen-job-*")
	if err != nil {
		return nil, err
	}
	_ = os.Remove(file.Name()) // an open file lasts until it is closed, even by a crash
	q.waiting[job] = file
	return file, nil
}

// next gives the turn to the next job and writes its waiting items.
func (q *queue) next() error {
	q.jobs = q.jobs[1:]
	if len(q.jobs) == 0 {
		return nil
	}
	file := q.waiting[q.jobs[0]]
	if file == nil {
		return nil
	}
	delete(q.waiting, q.jobs[0])
	defer file.Close()
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	_, err := io.Copy(q.w, file)
	return err
}

// end writes the items of the jobs that still wait because an earlier job failed.
func (q *queue) end() error {
	for len(q.jobs) > 0 {
		if err := q.next(); err != nil {
			return err
		}
	}
	return nil
}

// queueJobs creates the queues of concurrent jobs that share a writer.
func (o *output) queueJobs() error {
	sharing := map[io.Writer][]string{}
	for _, job := range o.engine.Jobs() {
		w := o.items(job)
		if !slices.Contains(sharing[w], job) {
			sharing[w] = append(sharing[w], job)
		}
	}
	o.queues = map[io.Writer]*queue{}
	for w, jobs := range sharing {
		if len(jobs) < 2 {
			continue
		}
		if o.state != nil {
			return &usageError{"--jobs with --state: several jobs write to the same file; " +
				"give each job its own dataType with --out DIR, or omit --jobs"}
		}
		o.queues[w] = newQueue(w, jobs)
	}
	return nil
}
