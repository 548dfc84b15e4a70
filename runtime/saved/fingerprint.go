package saved

// The parts of the fingerprint of a configuration. A checkpoint stores the fingerprint, so that a run with
// another configuration does not continue from it. These parts are prefixes; package engine/checkpoint has others.
const (
	KeepPart  = "keep of " // the meaning of the kept values of a job, whose id follows
	InputPart = "input "   // the value of an input, whose name follows
)
