// Package checkpoint writes the files of a run so that nothing is lost. Rows appear under the name
// of their file only when they are complete: until then they are in a file with the additional
// ending [PartialSuffix].
//
// With a state file a run can also be resumed. The state holds the checkpoint of every job
// together with the length of every output file, so that a run can be killed at any moment and
// resumes after the last committed page, with every item in its output exactly once.
//
// A commit makes the outputs durable and then writes the state. The state file is replaced, or, by a
// commit of pages, extended by a line with what has changed, which does not grow with the values that
// wait in a tree of jobs. Bytes that an output holds beyond its committed length are discarded when
// the run resumes. A publication is recorded before it begins. If a crash ends it in the middle,
// the next run completes it: see [Store.Publish].
//
// The record of a publication is part of the state. Without a state it is a file next to the
// output, and there is no record if a single rename publishes the rows. A [Publication], which a
// caller requests, differs from the record: whether rows are appended, rewritten or renamed
// depends on the files.
//
// Read store.go first ([Store.Mark] and [Store.Flush] are a commit), then output.go, which writes a file,
// state.go and commit.go, which have the lines of the state, digest.go, which has the sums in them, and publish.go.
// publication.go moves the rows to
// their names, which redo.go does again after a crash without a state; rewrite.go and compress.go write and
// read them in other forms. kept.go has the format of kept values, and snapshot.go ties them to the files that
// have the rows up to them. The operations of the file system are those of package files.
//
// # Decisions
//
// A fingerprint is a flat map, as in state files and in the records of distributed runs; a struct
// would need the same prefixes for reading and writing.
//
// Where more than one rename is needed (appended rows, kept values, a state), a record of the
// publication is made durable before the publication begins, and the next run carries it out again
// after a crash. A state ends, and the next increment begins, only after a run has reported its
// success.
//
// A state knows its unpublished rows byte for byte, since it continues them. A published file belongs to
// others, too, so nobody reads all of it: values that are kept for the next run stand with a [Snapshot] of
// the file, and are compared with it only by a run that adds rows to the file.
//
// An output is committed up to its last mark, which is set after a complete page, so a page that
// is half written, or on which a job failed, is never committed. The state holds the number of
// committed bytes of each output with their digest, and is written after they were synced. The digest (XXH64) tells
// whether another program has changed them; it is no protection against somebody who can write to the state, too.
package checkpoint
