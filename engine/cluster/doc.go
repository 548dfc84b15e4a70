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
// The code has four parts, and the names of files begin with the part: submit
// (a run is stored, and its first tasks are queued), work (a worker, a run in it, and one
// delivery of a task), collect (two orders of the pages, checkpoints, and the release of
// pages) and survey (the status). cluster.go has the types that all of them share, and
// timing.go the times that they wait. The parts are not packages: submit, work, collect and survey are methods of [Cluster] and [Run], so that each
// package would need a second set of methods here, and most of a run would have to be exported
// to them. Code that does not need these types is below internal: survey counts for the status,
// pace shares the rate, record has the JSON that is stored, and store says how it is stored.
//
// The package is a client. Package engine/cluster/hub runs a server in the process.
package cluster
