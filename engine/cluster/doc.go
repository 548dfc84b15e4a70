// Package cluster distributes a run over many machines by NATS JetStream.
//
// [Cluster.Submit] stores a configuration and queues its first tasks. Any number of
// processes call [Cluster.Work], which takes tasks, runs them, and stores each page together
// with the position after it, as one atomic publish: a task goes on after its last stored
// page, on any machine, and every item is stored exactly once. [Run.Collect] passes the
// stored pages to a sink, like a run on one machine, and [Run.Status] says how far they are.
//
// The unit of work is a partition (see [partition.Task]). A worker that has stored a page queues
// the partitions for its items, and only then requests the next page. Queuing a task twice is
// harmless: the second delivery finds the end of the first.
//
// Secrets stay with the workers: the configuration is stored as it is written, with the
// names of environment variables.
//
// The package is a client. Package engine/cluster/hub runs a server in the process.
//
// Read cluster.go first, which has the types, and then the files of the next section in its order.
//
// # One task
//
// The job orders has two orders, and the job lines runs for each (package partition follows the same
// configuration on one machine). These calls take the task with ID 0, which is the job orders, from the
// submission to the collected rows:
//
//	Cluster.Submit          submit.go            compiles the configuration, without its secrets
//	  Run.create                                 stores the record of the run
//	  Run.prepareQueue      submit_shared.go     creates the queue
//	  Run.queue             submit_queue.go      queues task 0
//
//	Cluster.Work            work.go              a worker
//	  workerRun.watchRuns                        learns of the run, and adds it to the runs that it serves
//	  workerRun.takeNext    work_turns.go        fetches task 0 from the queue, in a slot of the worker
//	  attempt.handle        work_attempt.go      one delivery of the task
//	  attempt.awaitSession  work_session.go      compiles the run with the secrets, once for all of its tasks
//	  attempt.run                                runs the task, and then decides what becomes of it in the queue
//	  attempt.runFromLast                        continues after the last stored page; here, none is stored, so it runs the whole task
//	  attempt.runTask                            decides whether a failure of the task is final
//	  attempt.guarded                            calls partition.Tasks.Run, which requests page 1 and calls attempt.storeOutcome
//	  attempt.storeStep     work_step.go         stores page 1, and announces the tasks 0-p1j0i0 and 0-p1j0i1 in it
//	                                             (store.Append), then queues these (store.Enqueue)
//	  attempt.finish                             removes task 0 from the queue, since its end is stored
//
//	Run.Collect             collect.go           a collector
//	  collectStored         collect_page.go      reads the stored pages (store.Read)
//	  collection.add                             counts the tasks that page 1 announces and ends; rootProgress.pass passes it to the sink
//	  collection.checkpoint collect_position.go  the checkpoint of the page, for the sink
//	  collection.result     collect_result.go    the results of the jobs, after the last page
//
// If the task fails, work_retry.go decides whether it is tried again, and attempt.storeEnd stores that it
// has failed. work_problems.go keeps the reasons why tasks do not go on, work_report.go sends the record
// of the worker to the server, and work_monitor.go has the state of the worker. A task whose workers
// disappear runs alone (work_alone.go). A sorted collection walks through the tasks instead
// (collect_sorted.go); collect_watch.go ends a collection whose run is cancelled or deleted,
// collect_failures.go reads the failed tasks, and collect_release.go deletes collected pages.
//
// # Files
//
// The names of files begin with the part to which they belong: submit, work, collect and survey (the
// status, in survey.go). cluster.go has the types that all of them share, and timing.go the times that
// they wait. The parts are not packages: they are methods of [Cluster] and [Run], so that each package
// would need a second set of methods here, and most of a run would have to be exported to them. Code
// that does not need these types is below internal: survey counts for the status, pace shares the
// rate, record has the JSON that is stored, and store says how it is stored.
package cluster
