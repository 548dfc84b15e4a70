package cluster

import (
	"cmp"

	"github.com/stopwhen/stopwhen/engine/cluster/internal/store"
	"github.com/stopwhen/stopwhen/runtime/partition"
)

// What the head of a page says for the status of the run.

// countTasks says of what kind the task is, and adds tasks to those that it has announced.
func (a *attempt) countTasks(head *store.Head, announced []partition.Task) {
	switch {
	case a.task.Job == "":
		head.Kind = store.ListsAll
	case a.session.run.record.IsSearch(a.task):
		head.Kind = store.Searches
	}
	for _, task := range announced {
		if a.session.run.record.IsSearch(task) {
			head.Searches = increased(head.Searches, task.Job)
		} else {
			head.Partitions = increased(head.Partitions, task.Job)
		}
	}
}

// increased counts one more task of a job.
func increased(counts map[string]int, job string) map[string]int {
	if counts == nil {
		counts = map[string]int{}
	}
	counts[job]++
	return counts
}

// setEnd says how a task ended. What came of a task with all jobs is in its envelope.
func setEnd(head *store.Head, ending *partition.Ending) {
	if ending.Split {
		head.Kind = store.Splits
	}
	if len(ending.Results) != 1 {
		return
	}
	r := ending.Results[0]
	head.Outcome, head.Reason = string(r.Outcome), cmp.Or(r.Reason, "end")
	if r.Skipped {
		head.Outcome = store.Skipped
		if r.Error != nil {
			head.Reason = r.Error.Class
		}
	}
}
