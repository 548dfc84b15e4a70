// Package partition runs jobs with all their partitions and their children.
//
// # Tasks
//
// A task is a job with values for the first of its variables. A task with a value for every
// variable is a partition, and its steps are the pages of its list. Any other task searches for the
// values of the next variable. A step finds further tasks: one for each value of a variable, and one
// for each item of a page that a child runs for. So the tasks of a job and of the jobs below it form
// a tree. This configuration has the tree on the right, if there are two orders:
//
//	{"id": "orders", "endpoint": "orders"}             0            orders                 a partition
//	                                                   0-p1j0i0     lines, order 7         a search
//	{"id": "lines",                                    0-p1j0i0-v0  lines, order 7, goods  a partition
//	 "endpoint": "orders/{order.id}/{kind}",           0-p1j0i0-v1  lines, order 7, fees   a partition
//	 "for": {"order": {"items": "orders"},             0-p1j0i1     lines, order 8         a search
//	         "kind": {"values": ["goods", "fees"]}}}   ...
//
// The second column has the ids of the tasks, which are paths in the tree: "p1j0i1" is page 1, the
// first child, and the item with index 1; "v0" is the value with index 0. A task has a type for each
// place in which it may be:
//
//	node     in the memory of one machine, with its values (frame.go)
//	frame    a node that runs; the running nodes are a stack (frame.go)
//	Task     in the queue of a run on many machines, as JSON without secrets (task.go)
//	taskRun  a Task that runs (task_run.go)
//
// A tree (tree.go) holds the values that all tasks of a root job share while they run on a machine. A
// frame and a taskRun search and run lists by the same functions: valuesOf, runList and eachChildItem
// (list.go). The values of a variable with windows are computed one after another (window_series.go).
//
// # One machine
//
// [Walk.Run] takes the steps of a task one after another. After each step, it runs the tasks that
// the step has found. For the example, in order (walk.go, frame.go):
//
//	frame.run            orders: tree.runList, which calls runPage for each page
//	frame.runPage        finds the nodes for orders 7 and 8, forwards the page to the sink, and calls runChildren
//	frame.runChild       order 7: pushes its frame, and calls its run
//	frame.search         finds the nodes for goods and fees, and calls runChildren
//	frame.runChild       order 7, goods: tree.runList, and so on
//
// Each frame has its position and its remaining nodes; the stack of them is the checkpoint
// (stack.go). Nodes may run ahead of their turn (ahead.go); their pages then wait in a backlog
// (backlog.go), so that the order of pages does not depend on concurrency. A [Quota] limits the
// partitions of a run, and [Slots] those that run at the same time (limits.go).
//
// # Many machines
//
// [RootTasks] returns the first tasks, and [Tasks.Run] runs one task. It stores each step together
// with the tasks that the step has found, which any machine may run (task_run.go):
//
//	taskRun.storeList    0: tree.runList, which calls storePage for each page
//	taskRun.storePage    stores page 1 with the tasks 0-p1j0i0 and 0-p1j0i1
//	taskRun.search       0-p1j0i0: stores the tasks 0-p1j0i0-v0 and 0-p1j0i0-v1
//	taskRun.storeList    0-p1j0i0-v0: tree.runList, and so on
//
// If the partitions of a run are limited, one task runs all jobs by a walk (alljobs.go).
//
// Package engine/cluster queues the tasks. To collect stored steps in the order of a walk, it has a
// stack of its own: it waits for steps where a walk runs lists, and stores sequences where a walk
// stores values. The two share too little for an interface. Records of such runs have the place of
// each job in its tree (outline.go).
//
// # Results
//
// A [Tally] sums up how the partitions ended (tally.go, ended.go). The examples of [Walk.Run] and
// [Tasks.Run] run the configuration above.
package partition
