package main

import (
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/fixtures"
)

// The values of --format and --log-format.
const (
	formatText    = "text"
	formatJSON    = "json"
	formatMermaid = "mermaid"
	formatHTML    = "html"
)

const (
	autoPrefetch = "auto"
	maxPrefetch  = 1000 // far more than any API can use
)

// prefetchFlag adds the flag --prefetch.
func prefetchFlag(cmd *cobra.Command, prefetch *string) {
	cmd.Flags().StringVar(prefetch, "prefetch", "",
		"number of `PAGES` in flight, or auto; stopwhen explain shows which jobs allow more than one; with 0, a page is written before the next "+
			"one is requested (default 1, and 0 for a recording or with --fixture)")
	complete(cmd, "prefetch", func() []string { return []string{autoPrefetch} })
}

// tokensFlag adds the flag --tokens.
func tokensFlag(cmd *cobra.Command, tokens *string, byDefault string) {
	cmd.Flags().StringVar(tokens, "tokens", "",
		"`FILE` that stores the refresh tokens with which an API replaces that of the configuration"+byDefault)
}

// parsePrefetch reads the flag --prefetch, which is 1 by default.
func parsePrefetch(text string) (int, error) {
	switch text {
	case autoPrefetch:
		return engine.AutoPrefetch, nil
	case "":
		return 1, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > maxPrefetch {
		return 0, &usageError{fmt.Sprintf("--prefetch: want a number of pages from 0 to %d, or auto, got %q", maxPrefetch, text)}
	}
	return n, nil
}

func complete(cmd *cobra.Command, flag string, words func() []string) {
	_ = cmd.RegisterFlagCompletionFunc(flag, func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return words(), cobra.ShellCompDirectiveNoFileComp
	})
}

func caseNames() []string {
	cases, err := fixtures.All()
	if err != nil {
		return nil
	}
	names := make([]string, len(cases))
	for i, c := range cases {
		names[i] = c.Name
	}
	return names
}
