// Package partition runs jobs with all their partitions and their children.
//
// A task is a job with values for the first of its variables. If all of them have one, it is a
// partition, and its steps are the pages of its list. Otherwise it searches for the values of
// the next variable. A step finds tasks: for the values of a variable, or for the items of a page.
//
// A [Walk] takes the steps of a task one after another, and after each it runs the tasks that
// the step has found, before the next step (walk.go). So it has a stack of tasks that run, each
// with its position and with the tasks that are still to come. A checkpoint is that stack
// (stack.go). Tasks may run ahead of their turn; their pages then wait in a backlog (ahead.go), so
// the order of pages does not depend on concurrency.
//
// [Tasks] take the same steps (list.go) on many machines: a step is stored with the tasks that
// it has found, which any machine runs when the step is stored (taskrun.go).
//
// A collection that sorts the stored steps has a stack of its own, in engine/cluster: it shares
// the order, but waits for steps where a walk runs lists, and it stores sequences where a walk
// stores values. A walk over both kinds of steps would have had an interface with as many methods
// as either has lines.
//
// A [Tally] adds up how the partitions have ended.
package partition
