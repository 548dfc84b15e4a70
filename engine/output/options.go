package output

import (
	"io"
	"log/slog"

	"github.com/stopwhen/stopwhen/engine/contract"
)

// PublisherOptions are the options of [Open].
type PublisherOptions struct {
	Options

	// Dir is the directory of the files, which is created if it does not exist. If it is "", Stream
	// receives the items of all jobs.
	Dir string

	// Stream receives the items if Dir is "", or else StreamFile, which names a pipe or a device. Without them, the
	// items are discarded.
	Stream     io.Writer
	StreamFile string

	// Append adds the items of a run to the existing files instead of replacing them. Without a state, the items
	// of all jobs are added at the end of the run, and only if it succeeds; those of jobs that continue from the
	// values in KeptFile, when their tree is complete. It cannot be used with [checkpoint.Restart].
	Append bool

	// Merge lets the items of a run replace items of the existing files that have the same key, which the
	// configuration names (`key`). A file then has the last item of each key. Messages of Singer cannot be
	// merged, nor items in a stream.
	Merge bool

	// Kept holds the values from which jobs continue, by job and name. If it is nil, they are read
	// from KeptFile or, for a job without values in that file, from the state. The items of jobs that
	// continue from such values are added to their files.
	Kept map[string]map[string]any

	// KeptFile is the file in which the values for the next run are saved together with the rows
	// that they describe. It may be "". A state also saves them. Both say which files have these rows:
	// items of jobs that continue from the values are added to no other file that has items.
	KeptFile string

	// Fingerprint, from [engine.Engine.Fingerprint], says which lists the values in KeptFile are
	// about: see [checkpoint.ReadKept]. If it is nil, the file is not bound to them.
	Fingerprint map[string]string

	// ContractFile is the file of the contract that the data are compared with: see [contract.Contract].
	// It may be "". The first complete run writes it. CSV, Parquet and Singer have the columns of
	// the contract. Two runs must not use the same file at the same time.
	ContractFile string

	// ContractMode says what happens to data that differ from the contract. "" is [contract.Evolve].
	ContractMode contract.Mode

	// TraceFile is the file of the trace, which has a line of JSON for each page. It may be "". While
	// the run lasts, the file has the additional ending [checkpoint.PartialSuffix]. A run that succeeds
	// removes the ending. A run that fails does so, too, unless it has a state or a file of that name
	// exists.
	TraceFile string

	// RecordFile is the file of the recording, which is written through [Publisher.Recording]. It may
	// be "". It appears under its name like TraceFile. Only its owner can read it.
	RecordFile string

	// Trace receives the trace if TraceFile is "". It may be nil.
	Trace io.Writer

	// Order is the order in which the pages of several jobs arrive.
	Order Order

	// Received says that the pages come from a run elsewhere, so that the engine does not run.
	Received bool

	// CommitEveryPage commits after every page instead of five times a second, because pages cannot be
	// requested again after they were passed on, or after the request of the next one.
	CommitEveryPage bool

	// Guard wraps the writer of a pipe or a device, which may block. If it is nil, the writer is
	// used directly.
	Guard func(io.Writer) io.Writer

	// Log receives messages about the files. If it is nil, nothing is logged.
	Log *slog.Logger

	noteEveryPage bool // whether the position after every page is noted, however soon it follows; for tests
}

// Order is the order in which the pages of several jobs arrive.
type Order int

// Orders of pages. In each of them, the items of a single job are in order.
const (
	AnyOrder   Order = iota // jobs are interleaved, and so are their items in a file
	Sequential              // a job begins after the previous one has ended or failed
	Queued                  // jobs are interleaved, but the items in a file are in the order of the jobs; not allowed with a state
)
