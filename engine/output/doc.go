// Package output writes the items of a run: as NDJSON, CSV or Singer messages, compressed
// or not, to files or to a stream.
//
// A [File] appears under its name when it is complete, and with a state every item is in
// its file exactly once, whatever interrupts the run: see package checkpoint. A [Stream] is
// a pipe or any other writer.
package output
