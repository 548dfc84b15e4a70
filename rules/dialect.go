package rules

import "slices"

// A dialect is data: the tables give a second source where the reference
// implementation differs from the specification, and everything else that
// differs is a switch.

// The dialects.
const (
	Spec    = "spec"    // the specification to the letter
	Keboola = "keboola" // its public reference implementation
)

var dialects = []string{Spec, Keboola}

// Dialects lists the dialects, the default first.
func Dialects() []string { return slices.Clone(dialects) }

// Switches are the differences between dialects outside the rules.
type Switches struct {
	OptionalMethod  bool // pagination without a method is no pagination, instead of an error
	IgnoreUnknown   bool // unknown keys of pagination are warnings, instead of errors
	RelativeToBase  bool // a relative next URL is resolved against baseUrl, instead of the URL of the response
	PHPEncoding     bool // queries and bodies are encoded as PHP does: true is 1, ~ is %7E, / is \/
	PHPVolume       bool // the volume of a response is the length of PHP's encoding of it
	MergeScroll     bool // scrollRequest is merged into the job's request, instead of replacing it
	FollowAnyOrigin bool // next URLs may point to other origins (without credentials), instead of being refused
	JobsOnce        bool // equal jobs without ids run once
	WholeSeconds    bool // forceStop.time counts whole seconds
	EmptyIsAbsent   bool // a dataField that holds 0, "" or false holds no items, instead of being an error
	QuietSameItems  bool // pages with the same items as the page before are not warned of
}

// SwitchesOf returns the switches of a dialect.
func SwitchesOf(dialect string) Switches {
	if dialect != Keboola {
		return Switches{}
	}
	return Switches{
		OptionalMethod: true, IgnoreUnknown: true, RelativeToBase: true, PHPEncoding: true, PHPVolume: true,
		MergeScroll: true, FollowAnyOrigin: true, JobsOnce: true, WholeSeconds: true, EmptyIsAbsent: true, QuietSameItems: true,
	}
}
