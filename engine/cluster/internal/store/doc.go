// Package store keeps jobs and their pages on a NATS server with JetStream. It is the
// only package that knows streams, consumers, key-value buckets, subjects, headers and
// atomic batches.
//
// On the server are:
//
//	STOPWHEN_WORK       the queue: one message for each task that has to be run
//	STOPWHEN_RUN_<run>  the pages of a run, by task: one message, or one atomic batch, for each page
//	STOPWHEN_CONFIGS    configurations by hash
//	STOPWHEN_RUNS       one record for each run
//	STOPWHEN_PACE       the pace that workers share, in memory
//	STOPWHEN_WORKERS    one record for each worker, in memory, for a minute
//
// Read names.go first, then append.go, on which all else rests: a page is appended to a
// task only if its last page is the one that the writer knows. So of two writers exactly
// one continues a task, and a page is stored exactly once although acknowledgements get
// lost, connections break and servers restart. read.go delivers what was appended,
// queue.go holds what is to be done, and records.go the records.
package store
