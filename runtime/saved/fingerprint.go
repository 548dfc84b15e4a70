package saved

// The fingerprint of a configuration has parts. A checkpoint stores it, so that a run with another
// configuration does not continue from the checkpoint. The prefixes of the names of parts say what a
// part is about.
const (
	KeepPart  = "keep of " // the meaning of the kept values of a job, whose id follows
	InputPart = "input "   // the value of an input, whose name follows
)
