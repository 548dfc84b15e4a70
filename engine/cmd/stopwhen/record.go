package main

import (
	"fmt"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/recording"
	"github.com/stopwhen/stopwhen/rules/value"
)

func (a *app) recordCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "record CONFIG FILE",
		Short: "Run a configuration and keep all requests and responses in a file",
		Long: `Run a configuration and write every request and response to FILE, an HTTP archive
(HAR 1.2) that browsers show too. stopwhen replay runs any configuration against
it, without a network. Items go nowhere without --out.

Secrets of the configuration are hidden in the file, and so are headers and
parameters that usually hold them. The data of the API are in it: it is written
for your eyes alone (mode 0600).`,
		Example: `  stopwhen record users.json users.har
  stopwhen record users.json users.har --out data
  stopwhen replay users.har other.json`,
		Args: func(_ *cobra.Command, args []string) error {
			want := 2
			if a.flags.fixture != "" {
				want = 1 // the case has a configuration
			}
			if len(args) != want {
				return &usageError{fmt.Sprintf("want a configuration and the file to record to, got %s", value.Counted(len(args), "argument"))}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			a.discard = !cmd.Flags().Changed("out")
			a.flags.record = args[len(args)-1]
			return a.runConfig(args[:len(args)-1])
		},
	}
	a.runFlags(cmd)
	cmd.Flags().StringVar(&a.flags.out, "out", "", "`DIR` for a file a type of data; - is standard output")
	_ = cmd.MarkFlagDirname("out")
	return cmd
}

// tape is the recording of a run.
type tape struct {
	*recording.Recorder
	file *os.File
}

// newTape has a run recorded.
func (a *app) newTape(l *loaded) (*tape, error) {
	file, err := os.OpenFile(a.flags.record, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, outputError(err)
	}
	_ = file.Chmod(0o600) // it may be a device
	options := recording.Options{Redactor: l.Redactor(), Creator: version()}
	if l.server != nil {
		options.Clock = l.server.Clock()
	}
	t := &tape{recording.NewRecorder(file, options), file}
	l.Engine = l.With(engine.WithTransport(t.Recorder))
	return t, nil
}

// end finishes the file.
func (t *tape) end(logger *slog.Logger) error {
	err := t.Close()
	if closed := t.file.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return outputError(fmt.Errorf("the recording is not whole: %w", err))
	}
	logger.Info(fmt.Sprintf("recorded %s in %s", value.Counted(t.Len(), "exchange"), t.file.Name()), "event", "recorded", "exchanges", t.Len())
	return nil
}
