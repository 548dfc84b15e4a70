package rules

import (
	"slices"

	"github.com/stopwhen/stopwhen/rules/requests"
)

// A dialect is data: the tables of keboola_methods.go have the expressions and the kinds of settings where
// the reference implementation differs from the specification, and everything else that differs is
// a switch.

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
	RelativeToBase  bool // a relative next URL is resolved against baseUrl, instead of the URL of the response
	FollowAnyOrigin bool // next URLs may point to other origins (without credentials), instead of being refused
	PHPVolume       bool // the volume of a response is the length of PHP's encoding of it
	WholeSeconds    bool // forceStop.time counts whole seconds
	EmptyIsAbsent   bool // a dataField that holds 0, "" or false holds no items, instead of being an error
	QuietSameItems  bool // pages with the same items as the page before are not warned of
	LoginLists      bool // a parameter of a login that the request has too becomes a list with both, instead of replacing it
	LoginEndsAtOnce bool // a login that lasts no time is repeated before each request, instead of never
	DropInvalid     bool // bytes of a response that are not UTF-8 are left out, instead of being an error
	AcceptEvidence  bool // evidence that a list is incomplete is a warning, instead of an error

	Encoding requests.Encoding // the encoding of queries and bodies

	OptionalMethod bool // pagination without a method is ignored, instead of an error
	IgnoreUnknown  bool // unknown keys of pagination are warnings, instead of errors
	MergeScroll    bool // scrollRequest is merged into the job's request, instead of replacing it
	NestedMultiple bool // a scroller of method multiple may have that method itself
	LoginAlone     bool // the request of a login lacks the parameters of all requests
	OwnPageSize    bool // a parameter of all requests does not set the page size, nor a parameter of the job that PHP calls empty
	LenientNumbers bool // number() converts any value, as PHP does, instead of failing
}

// SwitchesOf returns the switches of a dialect.
func SwitchesOf(dialect string) Switches {
	if dialect != Keboola {
		return Switches{}
	}
	return Switches{
		Encoding: requests.PHP, OptionalMethod: true, IgnoreUnknown: true, RelativeToBase: true, LoginAlone: true, PHPVolume: true,
		MergeScroll: true, NestedMultiple: true, FollowAnyOrigin: true, WholeSeconds: true,
		EmptyIsAbsent: true, QuietSameItems: true, LoginLists: true, LoginEndsAtOnce: true,
		DropInvalid: true, AcceptEvidence: true, OwnPageSize: true, LenientNumbers: true,
	}
}
