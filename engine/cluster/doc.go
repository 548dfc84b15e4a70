// Package cluster distributes a run over many machines by NATS JetStream.
//
// [Cluster.Submit] stores a configuration and queues its first tasks. Any number of
// processes call [Cluster.Work], which takes tasks, runs them, and stores each page together
// with the position after it, as one atomic publish: a task goes on behind its last stored
// page, on any machine, and every item is stored exactly once. [Run.Collect] passes the
// stored pages to a sink, like a run on one machine, and [Run.Status] says how far they are.
//
// The unit of work is a partition (see [engine.Task]). A worker that has stored a page queues
// the partitions for its items, and only then requests the next page. Queuing a task twice is
// harmless: the second delivery finds the end of the first.
//
// Secrets stay with the workers: the configuration is stored as it is written, with the
// names of environment variables.
//
// The package is a client. Package engine/cluster/hub runs a server in the process.
package cluster
