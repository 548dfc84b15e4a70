// Package partition runs jobs with all their partitions and their children.
//
// A task is a job with values for the first of its variables. A task with a value for every
// variable is a partition, and its steps are the pages of its list. Any other task searches for the
// values of the next variable. A step finds further tasks: one for each value of a variable, or for
// each item of a page.
//
// A [Walk] takes the steps of a task one after another. After each step, it runs the tasks that the
// step has found (walk.go). The running tasks form a stack, each with its position and its
// remaining tasks; the stack is the checkpoint (stack.go). Tasks may run ahead of their turn; their
// pages then wait in a backlog (ahead.go), so that the order of pages does not depend on
// concurrency.
//
// [Tasks] distribute the same steps (list.go) over many machines: a step is stored together with
// the tasks that it has found, and then any machine may run them (taskrun.go).
//
// Package engine/cluster collects stored steps in the same order, but with a stack of its own: it
// waits for steps where a walk runs lists, and stores sequences where a walk stores values. The two
// share too little for an interface.
//
// A [Tally] sums up how the partitions ended.
package partition
