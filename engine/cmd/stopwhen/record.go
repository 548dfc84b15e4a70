package main

import (
	"cmp"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/recording"
	"github.com/stopwhen/stopwhen/rules/printable"
	"github.com/stopwhen/stopwhen/rules/value"
)

// A recordCommand is stopwhen record.
type recordCommand struct{ extraction }

func newRecord(a *app) *cobra.Command {
	c := &recordCommand{extraction{source: source{app: a}}}
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
	file io.Closer
	name string
}

// startRecording creates the file of the recording and records the run to it.
func (x *extraction) startRecording(l *loaded) (*tape, error) {
	w, file := x.stdout, io.NopCloser(nil)
	if x.record != "-" {
		f, err := os.OpenFile(x.record, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
		if err != nil {
			return nil, outputError(err)
		}
		_ = f.Chmod(0o600) // fails on a device
		w, file = f, f
	}
	options := recording.Options{Redactor: l.Redactor(), Creator: version()}
	if l.server != nil {
		options.Clock = l.server.Clock()
	}
	t := &tape{recording.NewRecorder(printable.Writer(x.guard(w), printable.JSON), options), file, x.record}
	l.Engine = l.With(engine.WithTransport(t.Recorder))
	return t, nil
}

// end completes and closes the file.
func (t *tape) end(logger *slog.Logger) error {
	if err := cmp.Or(t.Close(), t.file.Close()); err != nil {
		return outputError(fmt.Errorf("the recording is incomplete: %w", err))
	}
	if n := t.Omitted(); n > 0 {
		logger.Warn(fmt.Sprintf("%s has no body of %s with more than %s; replay reports them as errors", t.name, value.Counted(n, "response"),
			value.Size(recording.MaxBodyBytes)), "event", "omitted", "responses", n)
	}
	logger.Info(fmt.Sprintf("recorded %s in %s", value.Counted(t.Len(), "exchange"), t.name), "event", "recorded", "exchanges", t.Len())
	return nil
}
