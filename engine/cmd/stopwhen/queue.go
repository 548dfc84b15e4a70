package main

import (
	"io"
	"os"
	"slices"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/runtime"
)

// queue serialises the output of concurrent jobs that share a target: it is the
// same as if the jobs had run one after another. Items of a job whose turn has
// not come wait in a temporary file.
type queue struct {
	target  *target
	spool   *spool
	jobs    []string // that have not ended, in order; it is the turn of the first
	ended   map[string]bool
	waiting map[string][]section // by job
}

func newQueue(t *target, spool *spool) *queue {
	return &queue{target: t, spool: spool, jobs: slices.Clone(t.jobs), ended: map[string]bool{}, waiting: map[string][]section{}}
}

// page writes the items of a page to the writer, or lets them wait.
func (q *queue) page(page *engine.Page) error {
	if err := q.write(page); err != nil || page.Decision != runtime.Stop {
		return err
	}
	q.ended[page.Job] = true
	for len(q.jobs) > 0 && q.ended[q.jobs[0]] {
		if err := q.next(); err != nil {
			return err
		}
	}
	return nil
}

func (q *queue) write(page *engine.Page) error {
	for _, list := range q.target.lists(page) {
		if page.Job == q.jobs[0] {
			if _, err := list.Items.WriteTo(q.target.writer(list.DataType)); err != nil {
				return err
			}
			continue
		}
		s, err := q.spool.add(list.Items)
		s.dataType = list.DataType
		q.waiting[page.Job] = append(q.waiting[page.Job], s)
		if err != nil {
			return err
		}
	}
	return nil
}

// next gives the turn to the next job and writes its waiting items.
func (q *queue) next() error {
	q.jobs = q.jobs[1:]
	if len(q.jobs) == 0 {
		return nil
	}
	waiting := q.waiting[q.jobs[0]]
	delete(q.waiting, q.jobs[0])
	for _, s := range waiting {
		if err := q.spool.write(q.target.writer(s.dataType), s); err != nil {
			return err
		}
	}
	return nil
}

// empty reports whether the items of all jobs have been written.
func (q *queue) empty() bool { return len(q.jobs) == 0 }

// end writes the items of the jobs that still wait because an earlier job failed.
func (q *queue) end() error {
	for len(q.jobs) > 0 {
		if err := q.next(); err != nil {
			return err
		}
	}
	return nil
}

// spool is a temporary file for what waits in all queues, so that their number does not
// count against the limit of open files.
type spool struct {
	file    *os.File // nil: not needed so far
	size    int64
	waiting int // sections
}

// section is a part of a spool.
type section struct {
	offset, size int64
	dataType     string // of its items
}

// add appends what w writes to the spool.
func (s *spool) add(w io.WriterTo) (section, error) {
	if s.file == nil {
		file, err := os.CreateTemp("", "stopwhen-jobs-*")
		if err != nil {
			return section{}, err
		}
		_ = os.Remove(file.Name()) // an open file lasts until it is closed, even by a crash
		s.file = file
	}
	n, err := w.WriteTo(io.NewOffsetWriter(s.file, s.size))
	added := section{offset: s.size, size: n}
	s.size += n
	s.waiting++
	return added, err
}

// write copies a section to a writer. When no section is left, the space is given back.
func (s *spool) write(w io.Writer, one section) error {
	if _, err := io.Copy(w, io.NewSectionReader(s.file, one.offset, one.size)); err != nil {
		return err
	}
	if s.waiting--; s.waiting > 0 {
		return nil
	}
	s.size = 0
	return s.file.Truncate(0)
}

// Close closes the temporary file.
func (s *spool) Close() error {
	if s.file == nil {
		return nil
	}
	return s.file.Close()
}

// assignJobs finds the targets of every job.
func (o *output) assignJobs() {
	o.byJob = map[string][]*target{}
	for _, t := range o.targets {
		for _, job := range t.jobs {
			o.byJob[job] = append(o.byJob[job], t)
		}
	}
}

// queueJobs creates the queues of concurrent jobs that share a target.
func (o *output) queueJobs() error {
	o.queues = map[*target]*queue{}
	o.close = append(o.close, o.spool.Close)
	for _, t := range o.targets {
		if len(t.jobs) < 2 {
			continue
		}
		if o.state.path != "" {
			return &usageError{"--jobs with --state: several jobs write to the same file; " +
				"give each job its own dataType with --out DIR, or omit --jobs"}
		}
		o.queues[t] = newQueue(t, &o.spool)
	}
	return nil
}
