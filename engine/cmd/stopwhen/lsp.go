package main

import (
	"errors"
	"io"

	"github.com/spf13/cobra"

	"github.com/stopwhen/stopwhen/engine/workbench"
	"github.com/stopwhen/stopwhen/engine/workbench/lsp"
)

func newLSP(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "lsp",
		Short: "Tell an editor what it needs while a configuration is written",
		Long: `Answer an editor on standard input and output, in the language server protocol.
The editor starts it; docs/guide/editors.md has the settings of several editors.

It knows what check, explain, test and stress know, and completes keys, values
and expressions. If a recording lies beside the configuration (users.har beside
users.yaml), or x-recording names one, it knows the paths and values of the
responses, and shows where each list would stop. It makes no requests, and
writes no file.`,
		Example: `  stopwhen lsp`,
		Args:    noArguments,
		RunE: func(*cobra.Command, []string) error {
			ctx, stop := a.catchSignals()
			defer stop()
			err := lsp.Serve(ctx, workbench.New(), version(), a.stdin, onlyWriter{a.stdout})
			if errors.Is(err, lsp.ErrNoShutdown) && interrupted(ctx) != nil {
				return interrupted(ctx)
			}
			return err
		},
	}
}

// onlyWriter is standard output, which stays open.
type onlyWriter struct{ io.Writer }

// Close does nothing.
func (onlyWriter) Close() error { return nil }
