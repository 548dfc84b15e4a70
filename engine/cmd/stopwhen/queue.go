package main

import (
	"io"
	"os"
	"slices"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/runtime"
)

// queue has several jobs that run at once write to one place as if they ran one
// after another: what comes before its turn is put aside in a file.
type queue struct {
	w     io.Writer
	jobs  []string // in the order in which they write; the first is writing
	ended map[string]bool
	aside map[string]*os.File
}

func newQueue(w io.Writer, jobs []string) *queue {
	return &queue{w: w, jobs: jobs, ended: map[string]bool{}, aside: map[string]*os.File{}}
}

// page writes a page, or puts it aside.
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
	for q.ended[page.Job] = true; len(q.jobs) > 0 && q.ended[q.jobs[0]]; {
		if err := q.next(); err != nil {
			return err
		}
	}
	return nil
}

func (q *queue) file(job string) (*os.File, error) {
	if q.aside[job] != nil {
		return q.aside[job], nil
	}
	file, err := os.CreateTemp("", "stopwhen-job-*")
	if err != nil {
		return nil, err
	}
	_ = os.Remove(file.Name()) // it is gone when it is closed, whatever happens
	q.aside[job] = file
	return file, nil
}

// next gives the turn to the next job, whose put aside items come first.
func (q *queue) next() error {
	q.jobs = q.jobs[1:]
	if len(q.jobs) == 0 {
		return nil
	}
	file := q.aside[q.jobs[0]]
	if file == nil {
		return nil
	}
	delete(q.aside, q.jobs[0])
	defer file.Close()
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	_, err := io.Copy(q.w, file)
	return err
}

// end writes what is left of jobs whose turn did not come, because one before
// them failed: nothing that was obtained is lost.
func (q *queue) end() error {
	for len(q.jobs) > 0 {
		if err := q.next(); err != nil {
			return err
		}
	}
	return nil
}

// queueJobs has the jobs that write to one place wait for each other.
func (o *output) queueJobs() error {
	of := map[io.Writer][]string{}
	for _, job := range o.engine.Jobs() {
		w, err := o.items(job)
		if err != nil {
			return err
		}
		if !slices.Contains(of[w], job) {
			of[w] = append(of[w], job)
		}
	}
	o.queues = map[io.Writer]*queue{}
	for w, jobs := range of {
		if len(jobs) > 1 && o.state != nil {
			return &usageError{"--jobs with --state: several jobs write to one place, which only one can do at a time; give each a file of its own with --out DIR and different dataTypes, or leave out --jobs"}
		}
		if len(jobs) > 1 {
			o.queues[w] = newQueue(w, jobs)
		}
	}
	return nil
}
