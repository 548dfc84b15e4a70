// Package output writes the items of a run to files or to a stream, as NDJSON, CSV, Parquet or Singer
// messages, optionally compressed.
//
// The command stopwhen writes with a [Publisher]. Files appear under their names when they are
// complete, and with a state every item is in its file exactly once, whatever interrupts the run:
// see package checkpoint.
//
// Read options.go and publisher.go first: [Publisher.Page] and [Publisher.End] are the path of every page. A
// Publisher consists of parts that know the run and what they are given of each other, each in a file of its own:
// target.go has the file or the stream of each job, with destination.go and stream.go, which also has the pipes and
// devices, and queue.go keeps the order of concurrent jobs there. modes.go decides which files are added to and which
// are merged into. commit.go decides when pages are committed, group.go which files are published together, and
// audit.go has the results of the jobs with the findings about their files, which publish.go asks whether it may
// publish a group. What else a run writes is in kept.go, contract.go, trace.go and run_files.go. report.go has the
// reports about files.
//
// file.go and writer.go pass the items of a file to the encoder of its format, in csv.go, parquet.go or singer.go;
// merge.go replaces rows that have the same key. csv_rewrite.go and parquet_file.go write whole files, of rows and of
// items. format.go has the formats, background.go compresses on another core, table.go has the columns of a table, and
// parquet_read.go, parquet_merge.go and parquet_pages.go rows that are added to Parquet files, replaced and collected.
//
// # Decisions
//
// The file that a run writes to has its final format. A frame of the compression ends where an
// output is marked, so that committed rows can be read and continued. CSV with late columns is
// rewritten when it is published: rows in the partial file have the columns that were known
// when they were written.
package output
