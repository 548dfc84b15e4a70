// Package store keeps jobs and their pages on a NATS server with JetStream. It is the
// only package that knows streams, consumers, key-value buckets, subjects, headers and
// atomic batches.
//
// On the server are:
//
//	STOPWHEN_WORK       the queue: one message for each task that has to be run
//	STOPWHEN_RUN_<run>  the pages of a run, by task: one message, or one atomic batch, for each page
//	STOPWHEN_CONFIGS    the configuration of each run
//	STOPWHEN_RUNS       one record for each run
//	STOPWHEN_PACE       the pace that workers share, in memory
//	STOPWHEN_WORKERS    one record for each worker, in memory, for a minute
//
// The batches are written out in append.go, although the module jetstreamext of orbit.go has a
// publisher of batches: its requests within a batch have no context, so that a worker that is
// told to end, loses its connection or lacks a permission in the middle of a page waits for
// their timeout, and a page in one message needs another way in any case.
//
// Read names.go first, then append.go, on which all else rests: a page is appended to a
// task only if its last page is the one that the writer knows. So of two writers exactly
// one continues a task, and a page is stored exactly once although acknowledgements get
// lost, connections break and servers restart. read.go delivers what was appended,
// queue.go has the tasks that are to be run, bucket.go the buckets, and records.go what is in
// them.
//
// # Decisions
//
// After any error of an append the last page tells what happened: it is the writer's own, so
// the page is stored; it is unchanged, so the page is sent again; or another worker has gone
// on. No window for duplicates is needed, and nothing depends on when acknowledgements arrive.
package store
