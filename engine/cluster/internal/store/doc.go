// Package store keeps runs and their pages on a NATS server with JetStream. It is the only package
// that knows streams, consumers, subjects, headers and atomic batches. Package pace uses the bucket
// that holds the pace; package cluster passes the connection on, and reads the errors of the server.
//
// On the server are:
//
//	STOPWHEN_WORK       the queues: one message for each task that has to be run, and for each slot of an origin
//	STOPWHEN_RUN_<run>  the pages of a run, by task: one message, or one atomic batch, for each page
//	STOPWHEN_CONFIGS    the configuration of each run
//	STOPWHEN_RUNS       one record for each run
//	STOPWHEN_PACE       the pace that workers share, in memory
//	STOPWHEN_WORKERS    one record for each worker, in memory, for a minute
//
// append.go implements batches itself, although the module jetstreamext of orbit.go has a batch
// publisher: the requests within its batches have no context, so that a worker that is told to
// end, loses its connection or lacks a permission in the middle of a page waits for a timeout. A
// page in one message needs a separate path in any case.
//
// Read names.go first, then append.go, on which everything else depends: a page is appended to a
// task only if the writer knows the last page of the task. So exactly one of two writers continues a
// task, and a page is stored exactly once although acknowledgements get lost, connections break and
// servers restart. read.go delivers the stored pages, queue.go handles
// the queued tasks and the slots of an origin, which puller.go fetches alike, bucket.go the buckets,
// and records.go their contents.
//
// head.go and entry.go have the parts of a stored page, last.go the pages of one task, and mark.go
// tells whether the server still has a page that was read. enqueue.go queues tasks. store.go opens
// a store, run.go creates and deletes a run, and replicas.go decides how many servers hold it.
// errors.go explains the errors of the server; retry.go repeats requests, and listen.go ends waits
// for answers that will not arrive.
//
// # Decisions
//
// After any error of an append, the last page of the task shows the outcome. If it is the writer's
// own page, the page is stored. If it is unchanged, the page is sent again. Otherwise another
// worker has gone on. No deduplication window is needed, and nothing depends on when
// acknowledgements arrive.
package store
