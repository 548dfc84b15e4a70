package main

import (
	"cmp"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/files"
	"github.com/stopwhen/stopwhen/engine/output"
	"github.com/stopwhen/stopwhen/engine/recording"
	"github.com/stopwhen/stopwhen/rules/printable"
	"github.com/stopwhen/stopwhen/rules/wording"
	"github.com/stopwhen/stopwhen/runtime/failure"
)

// A recordCommand is stopwhen record.
type recordCommand struct{ extraction }

func newRecord(a *app) *cobra.Command {
	c := &recordCommand{extraction{loader: loader{app: a}}}
	cmd := &cobra.Command{
		Use:   "record CONFIG FILE",
		Short: "Run a configuration and record its requests and responses",
		Long: `Run a configuration and write every request and response to FILE, an HTTP
archive (HAR 1.2) that browsers can show, too. With stopwhen replay any
configuration runs against FILE, without a network. Items are not written unless
--out is given.

Secrets of the configuration are hidden in FILE, and so are headers and
parameters that usually hold secrets. The data of the API is not: only the owner
can read FILE (mode 0600).`,
		Example: `  stopwhen record users.json users.har
  stopwhen record users.json users.har --out data
  stopwhen replay other.json users.har`,
		Args: func(cmd *cobra.Command, args []string) error {
			want := 2
			if c.fixture != "" {
				want = 1 // the case has a configuration
			}
			return arguments(want, want, "a configuration and a file to record to")(cmd, args)
		},
		RunE: c.Run,
	}
	c.runFlags(cmd)
	c.outFlag(cmd, "")
	return cmd
}

// Run runs a configuration, the first argument, and records it to the last one.
func (c *recordCommand) Run(cmd *cobra.Command, args []string) error {
	c.discardItems = !cmd.Flags().Changed("out")
	c.record = args[len(args)-1]
	return c.runConfig(cmd, args[:len(args)-1])
}

// tape is the recording of a run.
type tape struct {
	*recording.Recorder
	to     *output.Recording // nil for a stream
	stream io.Closer
	name   string
}

// startRecording records the run to the file or the stream of --record. It returns nil without
// that flag.
func (x *extraction) startRecording(l *loaded, out *output.Publisher) (*tape, error) {
	if x.record == "" {
		return nil, nil
	}
	t := &tape{to: out.Recording(), stream: io.NopCloser(nil), name: x.record}
	options := recording.Options{Redactor: l.Redactor(), Creator: version()}
	if l.server != nil {
		options.Clock = l.server.Clock()
	}
	w := x.stdout
	switch {
	case t.to != nil:
		w, options.Recorded = t.to, t.to.Exchanges()
	case x.record != "-":
		f, err := os.OpenFile(x.record, os.O_WRONLY, 0)
		if err != nil {
			return nil, files.WriteError(err)
		}
		w, t.stream = f, f
	}
	t.Recorder = recording.NewRecorder(printable.Writer(x.guard(w), printable.JSON), options)
	l.Engine = t.Record(l.Engine)
	return t, nil
}

// end completes the recording.
func (t *tape) end() error {
	if t == nil {
		return nil
	}
	recorder := t.Close()
	stream := t.stream.Close()
	if err := cmp.Or(recorder, stream); err != nil {
		return &engine.Error{Class: failure.IO, Message: fmt.Sprintf("the recording is incomplete: %v", err), Err: err}
	}
	return nil
}

// log logs the number of recorded exchanges, and the file.
func (t *tape) log(logger *slog.Logger) {
	if t == nil {
		return
	}
	if t.to != nil {
		t.name = t.to.Path()
	}
	if n := t.Omitted(); n > 0 {
		logger.Warn(fmt.Sprintf("%s has no body of %s with more than %s; replay reports them as errors", t.name, wording.Counted(n, "response"),
			wording.Size(recording.MaxBodyBytes)), "event", "omitted", "responses", n)
	}
	logger.Info(fmt.Sprintf("recorded %s in %s", wording.Counted(t.Len(), "exchange"), t.name), "event", "recorded", "exchanges", t.Len())
}
