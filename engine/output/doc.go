// Package output writes the items of a run: as NDJSON, CSV or Singer messages, compressed
// or not, to files or to a stream.
//
// [Dir] and [Stream] are sinks for [engine.Engine.RunTo]. The files of a Dir appear under
// their names when they are complete, and with a state every item is in its file exactly
// once, whatever interrupts the run: see package checkpoint. A Stream is a pipe or any
// other writer. [File] is for programs that decide themselves when a file is complete.
package output
