package rules

import (
	"slices"

	"github.com/stopwhen/stopwhen/rules/lists"
	"github.com/stopwhen/stopwhen/rules/requests"
)

// Dialect is the name of a dialect.
type Dialect string

// The dialects.
const (
	Spec    Dialect = "spec"    // the specification to the letter
	Keboola Dialect = "keboola" // its public reference implementation
)

// A dialectRow is a dialect, which is data: the tables of keboola_methods.go have the expressions and the kinds of
// settings where the reference implementation differs from the specification, and everything else that differs is
// a switch. No code compares the name of a dialect.
type dialectRow struct {
	name    Dialect
	methods []keboolaMethod   // methods that differ from those of the specification
	stops   map[string]string // expressions of stopping rules, by the ids of the rules; [Off]: not in force
	Switches
}

// dialects is the table of dialects, the default first.
var dialects = []*dialectRow{
	{name: Spec},
	{name: Keboola, methods: keboolaMethods, stops: keboolaStops, Switches: Switches{
		RelativeToBase: true, FollowAnyOrigin: true, PHPVolume: true, WholeSeconds: true, EmptyIsAbsent: true,
		QuietSameItems: true, LoginLists: true, LoginEndsAtOnce: true, DropInvalid: true, AcceptEvidence: true,
		Placeholders: true, Functions: true, Encoding: requests.PHP,

		keboolaColumns: true, ownForms: true, emptyObjects: true, plainTexts: true, plainPaths: true, oneDataField: true,
		markedSecrets: true, namedByEndpoint: true, optionalMethod: true, ignoreUnknown: true,
		mergeScroll: true, nestedMultiple: true, loginAlone: true, ownPageSize: true, lenientNumbers: true, phpBooleans: true,
	}},
}

// Dialects lists the dialects, the default first.
func Dialects() []Dialect {
	return lists.Map(dialects, func(row *dialectRow) Dialect { return row.name })
}

// DialectNames lists the dialects as texts.
func DialectNames() []string {
	return lists.Map(dialects, func(row *dialectRow) string { return string(row.name) })
}

// row returns the row of the dialect. An unknown dialect is that of the specification.
func (d Dialect) row() *dialectRow {
	i := slices.IndexFunc(dialects, func(row *dialectRow) bool { return row.name == d })
	return dialects[max(i, 0)]
}

// Switches returns the switches of the dialect.
func (d Dialect) Switches() Switches { return d.row().Switches }

// Switches are the differences between dialects outside the rules.
type Switches struct {
	RelativeToBase  bool // a relative next URL is resolved against baseUrl, instead of the URL of the response
	FollowAnyOrigin bool // next URLs may point to other origins (without credentials), instead of being refused
	PHPVolume       bool // the volume of a response is the length of PHP's encoding of it
	WholeSeconds    bool // forceStop.time counts whole seconds
	EmptyIsAbsent   bool // a dataField that holds 0, "" or false holds no items, instead of being an error
	QuietSameItems  bool // pages with the same items as the page before cause no warning
	LoginLists      bool // a parameter of a login that the request has too becomes a list with both, instead of replacing it
	LoginEndsAtOnce bool // a login that lasts no time is repeated before each request, instead of never
	DropInvalid     bool // bytes of a response that are not UTF-8 are left out, instead of being an error
	AcceptEvidence  bool // evidence that a list is incomplete is a warning, instead of an error

	Placeholders bool // partitions are for placeholders, whose values an item must have, instead of the variables of for
	Functions    bool // an object may call a function, which becomes a call of a function whose name begins with php

	Encoding requests.Encoding // the encoding of queries and bodies

	// The other switches are for the reading and the lowering of a configuration.

	keboolaColumns  bool // the columns of the tables whose names have Keboola in them apply
	ownForms        bool // values may have further forms and places: see [keboolaConfig]
	emptyObjects    bool // "", 0 and false stand for an absent object, as in PHP
	plainTexts      bool // braces and JSONPath have no meaning in texts, and cause no warning
	plainPaths      bool // stars and escaped dots have no meaning in paths
	oneDataField    bool // dataField is one path, without a dataType
	markedSecrets   bool // a computed value is a secret only if its key has a #, whatever its name
	namedByEndpoint bool // items without a dataType are named after the endpoint of the job, instead of its id
	optionalMethod  bool // pagination without a method is ignored, instead of an error
	ignoreUnknown   bool // unknown keys of pagination are warnings, instead of errors
	mergeScroll     bool // scrollRequest is merged into the job's request, instead of replacing it
	nestedMultiple  bool // a scroller of method multiple may have that method itself
	loginAlone      bool // the request of a login lacks the parameters of all requests
	ownPageSize     bool // a parameter of all requests does not set the page size, nor a parameter of the job that PHP calls empty
	lenientNumbers  bool // number() converts any value, as PHP does, instead of failing
	phpBooleans     bool // a flag is true if PHP converts it to true, and null counts as an absent flag
}
