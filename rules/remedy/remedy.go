// Package remedy holds what messages propose, as values: an editor replaces a word, a program sets an
// option of the Go API, and the user of the command adds a flag. Each words a [Remedy] for its reader.
package remedy

import (
	"fmt"
	"strings"

	"github.com/stopwhen/stopwhen/rules/lists"
)

// A Name is what to set or to call: its name in the Go API, and the flag or the command that does the same.
type Name struct{ Go, Command string }

// A Template makes a [Name] of a value, such as the name of an input or the id of a run. Each text has one verb of
// package fmt for the value.
type Template struct{ Go, Command string }

// Of returns the name for a value.
func (t Template) Of(value string) Name {
	return Name{fmt.Sprintf(t.Go, value), fmt.Sprintf(t.Command, value)}
}

// With returns the name whose value is other names. Without names, its value is empty.
func (t Template) With(names ...Name) Name {
	var value Name
	for _, n := range names {
		value = Name{strings.TrimSpace(value.Go + " " + n.Go), strings.TrimSpace(value.Command + " " + n.Command)}
	}
	return Name{fmt.Sprintf(t.Go, value.Go), strings.TrimSpace(fmt.Sprintf(t.Command, value.Command))}
}

// The names of what a run is configured with.
var (
	BaseURL      = Name{"WithBaseURL", "--base-url"}
	Dialect      = Name{"WithDialect", "--dialect"}
	Env          = Template{"WithEnv %s", "--env %s"}
	InputValue   = Template{"WithInputs(map[string]any{%q: VALUE})", "--set %s=VALUE"}
	AnyInput     = Name{"WithInputs", "--set"}
	Jobs         = Name{"WithJobs", "--job"}
	ParallelJobs = Name{"WithParallelJobs", "--jobs"}
	Prefetch     = Name{"WithPrefetch", "--prefetch"}
	Resume       = Name{"WithResume", "--state"}
	Timeout      = Name{"WithTimeout", "--timeout"}
	TokenStore   = Name{"WithTokenStore", "--tokens FILE"}
)

// The names of what output is written with.
var (
	Append   = Name{"PublisherOptions.Append", "--append"}
	Catalog  = Name{"output.Options.Catalog", "--singer-catalog"}
	Dir      = Name{"PublisherOptions.Dir", "--out DIR"}
	KeptFile = Name{"PublisherOptions.KeptFile", "--kept"}
	Merge    = Name{"PublisherOptions.Merge", "--merge"}
	Nested   = Name{"output.Options.Nested", "--csv-nested"}
	Queued   = Name{"output.Queued", "--jobs"}
	Restart  = Name{"checkpoint.Restart", "--restart"}
)

// The names of what detect is asked with.
var (
	Body         = Name{"detect.Request.Body", "--data"}
	Header       = Name{"detect.Request.Header", "--header"}
	Method       = Name{"detect.Request.Method", "--method"}
	Recording    = Name{"detect.FromRecording", "--from"}
	RequestInput = Template{"detect.Request.Inputs %s=VALUE", "--set %s=VALUE"}
)

// The names of what a run on many machines is called with. The templates are for the id of a run or, in [Work], for what its
// workers need.
var (
	Delete     = Template{"Run.Delete of %s", "stopwhen delete %s"}
	MaxBytes   = Name{"Submission.MaxBytes", "--max-bytes"}
	Overview   = Name{"Cluster.Overview", "stopwhen status"}
	Partitions = Template{"Run.Partitions of %s", "stopwhen status --partitions %s"}
	Release    = Name{"CollectOptions.Release", "--release"}

	CollectAndRelease = Template{"Run.Collect of %s with a state and CollectOptions.Release",
		"stopwhen collect %s --release --state FILE --out DIR"}

	Replicas = Name{"Options.Replicas", "--replicas"}
	Retry    = Template{"Run.Retry of %s", "stopwhen retry %s"}
	Sorted   = Name{"CollectOptions.Sorted", "--sorted"}
	Status   = Template{"Run.Status of %s", "stopwhen status %s"}
	Submit   = Template{"Cluster.Submit(%s)", "stopwhen submit CONFIG --run %s"}
	Work     = Template{"Cluster.Work(%s)", "stopwhen worker %s"}
)

// A Remedy is a proposal against a mistake. The zero Remedy proposes nothing.
type Remedy struct {
	Replacement string // what to write in the place of the word at the position of the mistake; may be empty

	format string
	args   []any
}

// StartOver is the remedy against a state that cannot be used.
var StartOver = New("%s, without %s, starts over and replaces the output", Restart, Append)

// New returns a remedy in words. Arguments of type [Name] are worded for the reader.
func New(format string, args ...any) Remedy { return Remedy{format: format, args: args} }

// InWords reports whether the remedy has words.
func (r Remedy) InWords() bool { return r.format != "" }

// String words the remedy for a program.
func (r Remedy) String() string { return r.Words(func(n Name) string { return n.Go }) }

// MarshalText words the remedy for a program.
func (r Remedy) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// Words words the remedy for a reader, for whom word returns a name.
func (r Remedy) Words(word func(Name) string) string {
	return fmt.Sprintf(r.format, lists.Map(r.args, func(arg any) any {
		switch arg := arg.(type) {
		case Name:
			return word(arg)
		case Remedy:
			return arg.Words(word)
		}
		return arg
	})...)
}
