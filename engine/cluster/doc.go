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
// In the code, cluster.go has a run and its record, and submit.go with shared.go submits it.
// worker.go, session.go and attempt.go work: a worker, a run in it, and one delivery of a task.
// collect.go begins a collection; stored.go and sorted.go are its two orders, position.go has its
// checkpoints, and release.go deletes what it has stored. Package internal/survey counts for
// the status, internal/pace shares the pace, internal/record has what is stored as JSON, and
// internal/store how it is stored.
//
// The package is a client. Package engine/cluster/hub runs a server in the process.
package cluster
