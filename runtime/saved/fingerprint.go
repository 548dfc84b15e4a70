package saved

// The parts of the fingerprint of a configuration. A checkpoint stores the fingerprint, so that a run with
// another configuration does not continue from it. [KeepPart] and [InputPart] are prefixes.
const (
	KeepPart  = "keep of " // the meaning of the kept values of a job, whose id follows
	InputPart = "input "   // the value of an input, whose name follows
)

// The parts that only the fingerprint of a collection has: see package engine/cluster. [RunPart] consists of
// the name of the run and, after a space, the token that distinguishes runs with the same name. The state of a
// run is refused by all other runs, even after it has ended.
const (
	RunPart    = "run"
	OrderPart  = "order"
	FormatPart = "format"
)
