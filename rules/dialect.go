package rules

// A dialect is data: the tables give a second source where the reference
// differs from the specification, and what is not a rule is a switch here.

// The dialects.
const (
	Spec    = "spec"    // the specification, to the letter
	Keboola = "keboola" // its public reference implementation
)

// Dialects are all of them, the default first.
var Dialects = []string{Spec, Keboola}

// Switches are the ways in which dialects differ outside the rules.
type Switches struct {
	OptionalMethod  bool // pagination without a method is no pagination, instead of an error
	IgnoreUnknown   bool // unknown keys of pagination draw a warning, instead of an error
	RelativeToBase  bool // a relative next URL is resolved against baseUrl, instead of the URL that brought it
	PHPEncoding     bool // queries and bodies are encoded as PHP does: true is 1, ~ is %7E, / is \/
	PHPVolume       bool // the volume of a response is the length of PHP's encoding of it
	MergeScroll     bool // scrollRequest is merged over the job's request, instead of taking its place
	FollowAnyOrigin bool // next URLs may lead to other origins (without credentials), instead of being refused
	JobsOnce        bool // jobs that are alike and have no id run once
	WholeSeconds    bool // forceStop.time counts on a clock of whole seconds
	EmptyIsAbsent   bool // a dataField that holds 0, "" or false holds no items, instead of an error
}

// DialectSwitches are the switches of each dialect.
var DialectSwitches = map[string]Switches{
	Spec: {},
	Keboola: {
		OptionalMethod: true, IgnoreUnknown: true, RelativeToBase: true, PHPEncoding: true, PHPVolume: true,
		MergeScroll: true, FollowAnyOrigin: true, JobsOnce: true, WholeSeconds: true, EmptyIsAbsent: true,
	},
}
