package main

import (
	"cmp"
	"context"
	"log/slog"
	"regexp"
	"strings"
	"sync"

	"github.com/stopwhen/stopwhen/rules/printable"
)

// Messages of packages name options and calls of the Go API, since programs read them, too. The
// command replaces these names by its flags and commands when it prints a message.

// flagNames replaces the options that messages of libraries name by the flags that set them.
var flagNames = strings.NewReplacer(
	"WithBaseURL", "--base-url",
	"WithDialect", "--dialect",
	"WithEnv", "--env",
	"WithInputs", "--set",
	"WithJobs", "--job",
	"WithParallelJobs", "--jobs",
	"WithPrefetch", "--prefetch",
	"WithResume", "--state",
	"WithTimeout", "--timeout",
	"WithTokenStore", "--tokens FILE",

	"checkpoint.Open", "--state",
	"checkpoint.Restart", "--restart",
	"output.Options.Catalog", "--singer-catalog",
	"output.Options.Nested", "--csv-nested",
	"output.Queued", "--jobs",
	"PublisherOptions.Append", "--append",
	"PublisherOptions.ContractMode", "--contract-mode",
	"PublisherOptions.Dir", "--out DIR",
	"PublisherOptions.Merge", "--merge",
	"PublisherOptions.KeptFile", "--kept",

	"detect.FromRecording", "--from",
	"detect.Request.Body", "--data",
	"detect.Request.Header", "--header",
	"detect.Request.Inputs", "--set",
	"detect.Request.Method", "--method",

	" with a state and CollectOptions.Release", " --release --state FILE --out DIR",
	"with CollectOptions.Release", "with --release",
	"without CollectOptions.Release", "without --release",
	"CollectOptions.Release", "collect --release",
	"CollectOptions.Sorted", "--sorted",
	"Submission.MaxBytes", "--max-bytes",
	"set Options.Replicas to", "use --replicas with",
	"Cluster.Overview", "stopwhen status",
	"Run.Delete", "stopwhen delete",
	"Run.Partitions", "stopwhen status",
	"Run.Status of", "stopwhen status",
	"Engine.Stress", "stopwhen stress",
)

// runCommands are the commands for the calls of package cluster that messages name, as in
// "Run.Retry of orders" and "Cluster.Work(orders)".
var runCommands = map[string]string{
	"Cluster.Submit": "submit CONFIG --run ",
	"Cluster.Work":   "worker ",
	"Run.Collect":    "collect ",
	"Run.Delete":     "delete ",
	"Run.Partitions": "status --partitions ",
	"Run.Retry":      "retry ",
}

var runCall = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\b((?:Cluster|Run)\.[A-Z][a-z]+)(?:\(([^()]*)\)| of ([\w-]+))`)
})

// inputCall is the option that sets an input.
var inputCall = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`WithInputs\(map\[string\]any\{"([^"]*)": VALUE\}\)`)
})

// inFlags returns a message of a library in the words of the command.
func (a *app) inFlags(text string) string {
	text = inputCall().ReplaceAllString(text, "--set $1=VALUE")
	text = runCall().ReplaceAllStringFunc(text, func(call string) string {
		parts := runCall().FindStringSubmatch(call)
		command, known := runCommands[parts[1]]
		if !known {
			return call
		}
		return strings.TrimSpace("stopwhen "+command+cmp.Or(parts[2], parts[3])) + a.serverFlags
	})
	return flagNames.Replace(text)
}

// translate puts the messages of a report into the words of the command. Ids and the values of APIs
// stay as they are.
func (a *app) translate(report any) {
	printable.Change(report, a.inFlags, "Message", "Hint", "Error", "Problem", "Notes")
}

// A translator is a log handler that puts messages into the words of the command. Attributes stay as
// they are.
type translator struct {
	slog.Handler
	*app
}

func (t translator) Handle(ctx context.Context, r slog.Record) error {
	r.Message = t.inFlags(r.Message)
	return t.Handler.Handle(ctx, r)
}

func (t translator) WithAttrs(attrs []slog.Attr) slog.Handler {
	return translator{t.Handler.WithAttrs(attrs), t.app}
}

func (t translator) WithGroup(name string) slog.Handler {
	return translator{t.Handler.WithGroup(name), t.app}
}
