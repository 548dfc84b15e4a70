package output

import (
	"slices"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/rules/remedy"
	"github.com/stopwhen/stopwhen/runtime/failure"
	"github.com/stopwhen/stopwhen/runtime/spool"
)

// queue serialises the output of concurrent jobs that share a target, as if the jobs had run one
// after another. Items of a job whose turn has not come wait in a temporary file.
type queue struct {
	target  *target
	file    *waitingItems
	roots   []string // IDs of root jobs that have not ended, in order; the first has its turn
	ended   map[string]bool
	waiting map[string][]section // waiting sections, by root
}

func newQueue(t *target, file *waitingItems, roots []string) *queue {
	return &queue{target: t, file: file, roots: slices.Clone(roots), ended: map[string]bool{}, waiting: map[string][]section{}}
}

// page writes the items of a page, or stores them until the turn of their job.
func (q *queue) page(page *engine.Page) error {
	if err := q.write(page); err != nil || !page.Final {
		return err
	}
	q.ended[page.Root] = true
	for len(q.roots) > 0 && q.ended[q.roots[0]] {
		if err := q.next(); err != nil {
			return err
		}
	}
	return nil
}

func (q *queue) write(page *engine.Page) error {
	for dataType, items := range q.target.lists(page) {
		if page.Root == q.roots[0] {
			if _, err := items.WriteTo(q.target.writer(dataType)); err != nil {
				return err
			}
			continue
		}
		start := q.file.Size()
		if _, err := items.WriteTo(q.file); err != nil {
			return err
		}
		q.waiting[page.Root] = append(q.waiting[page.Root], section{start, q.file.Size(), dataType})
		q.file.sections++
	}
	return nil
}

// next gives the turn to the next root and writes its waiting items.
func (q *queue) next() error {
	q.roots = q.roots[1:]
	if len(q.roots) == 0 {
		return nil
	}
	waiting := q.waiting[q.roots[0]]
	delete(q.waiting, q.roots[0])
	for _, s := range waiting {
		if err := q.file.CopyTo(q.target.writer(s.dataType), s.start, s.end); err != nil {
			return err
		}
		if q.file.sections--; q.file.sections == 0 {
			q.file.Close() // releases the space
		}
	}
	return nil
}

// empty reports whether the items of all jobs have been written.
func (q *queue) empty() bool { return len(q.roots) == 0 }

// end writes the items of the jobs that still wait because an earlier job failed.
func (q *queue) end() error {
	for len(q.roots) > 0 {
		if err := q.next(); err != nil {
			return err
		}
	}
	return nil
}

// waitingItems is the file of the waiting items of all queues. A single file keeps the number of
// queues out of the limit of open files.
type waitingItems struct {
	spool.File
	sections int
}

// section is a part of the file.
type section struct {
	start, end int64
	dataType   string // data type of its items
}

// openQueues creates the queues of concurrent jobs that share a target.
func (ts *targets) openQueues() error {
	if ts.options.Order != Queued {
		return nil
	}
	ts.queues = map[*target]*queue{}
	ts.waiting.Holds = "items that wait for another job"
	for _, t := range ts.all {
		roots := ts.roots(t)
		if len(roots) < 2 {
			continue
		}
		if ts.hasState() {
			return (&engine.Error{
				Class: failure.Config, Op: "output",
				Message: "several jobs write to the same file at the same time, which cannot be resumed from a state",
			}).WithRemedy("give each job its own dataType with %s, or omit %s", remedy.Dir, remedy.Queued)
		}
		ts.queues[t] = newQueue(t, &ts.waiting, roots)
	}
	return nil
}

// roots returns the roots of the jobs that write to a target. The jobs below one root are
// interleaved in the same way in every run.
func (ts *targets) roots(t *target) []string {
	var roots []string
	for _, job := range t.jobs {
		if root := ts.engine.Job(job).Root; !slices.Contains(roots, root) {
			roots = append(roots, root)
		}
	}
	return roots
}
