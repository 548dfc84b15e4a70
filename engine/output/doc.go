// Package output writes the items of a run to files or to a stream, as NDJSON, CSV, Parquet or Singer
// messages, optionally compressed.
//
// The command stopwhen writes with a [Publisher]. Files appear under their names when they are
// complete, and with a state every item is in its file exactly once, whatever interrupts the run:
// see package checkpoint.
//
// # Decisions
//
// The file that a run writes to has its final format. A frame of the compression ends where an
// output is marked, so that committed rows can be read and continued. CSV with late columns is
// rewritten when it is published: rows in the partial file have the columns that were known
// when they were written.
package output
