package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/rules/wording"
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
		"number of `PAGES` in flight, or auto; stopwhen explain shows which jobs allow more than one; with 0, a page is written, and saved with "+
			"--state, before the next one is requested (default 1, and 0 for a recording or with --fixture)")
	checked(cmd, "prefetch", func() error { _, err := parsePrefetch(*prefetch); return err })
	complete(cmd, "prefetch", func() []string { return []string{autoPrefetch} })
}

// tokensFlag adds the flag --tokens.
func tokensFlag(cmd *cobra.Command, tokens *string, byDefault string) {
	cmd.Flags().StringVar(tokens, "tokens", "",
		"`FILE` that stores the refresh tokens by which an API replaces the configured one"+byDefault)
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

// A listFlag is a flag that may be repeated. The flags of pflag for lists allocate a buffer of 4 kB each, also for commands
// that are not run.
type listFlag struct {
	to     *[]string
	commas bool // whether commas separate values
}

// Set adds a value, or several.
func (l listFlag) Set(text string) error {
	switch {
	case !l.commas:
		*l.to = append(*l.to, text)
	case text != "":
		*l.to = append(*l.to, strings.Split(text, ",")...)
	}
	return nil
}

// String returns the values.
func (l listFlag) String() string { return strings.Join(*l.to, ",") }

// Type returns a name that tells cobra to complete the flag again after it was set.
func (l listFlag) Type() string { return "stringSlice" }

// A checkedFlag is a flag whose value is checked when it is set.
type checkedFlag struct {
	flagValue
	check func() error
}

// flagValue is the interface pflag.Value, whose package is not imported.
type flagValue interface {
	String() string
	Set(text string) error
	Type() string
}

// Set sets the value and checks it.
func (c checkedFlag) Set(text string) error {
	if err := c.flagValue.Set(text); err != nil {
		return err
	}
	return c.check()
}

// checked adds a check of the value to a flag. The error of check is a [usageError], or describes
// the expected value.
func checked(cmd *cobra.Command, name string, check func() error) {
	flag := cmd.Flags().Lookup(name)
	flag.Value = checkedFlag{flag.Value, func() error {
		err := check()
		if err == nil || errors.As(err, new(*usageError)) {
			return err
		}
		return &usageError{fmt.Sprintf("--%s: %v", name, err)}
	}}
}

// choice adds a flag whose value is one of some words; the first is the default.
func choice(cmd *cobra.Command, to *string, name, usage string, words ...string) {
	cmd.Flags().StringVar(to, name, words[0], usage)
	checked(cmd, name, func() error { return oneOf(words, *to) })
	complete(cmd, name, func() []string { return words })
}

// choices adds a flag for any number of words.
func choices(cmd *cobra.Command, to *[]string, name, usage string, words ...string) {
	cmd.Flags().Var(listFlag{to, true}, name, usage)
	checked(cmd, name, func() error { return oneOf(words, *to...) })
	complete(cmd, name, func() []string { return words })
}

// oneOf checks that all values are among some words.
func oneOf(words []string, values ...string) error {
	for _, v := range values {
		if !slices.Contains(words, v) {
			return fmt.Errorf("want %s, got %q", wording.OrList(words), v)
		}
	}
	return nil
}

// atLeast checks a number, which the noun describes: "a number of pages above 0".
func atLeast(least, n int, noun string) error {
	if n >= least {
		return nil
	}
	return fmt.Errorf("want %s, got %d", noun, n)
}

// inRange checks a number, which the noun describes: "a number of servers".
func inRange(least, most, n int, noun string) error {
	if least <= n && n <= most {
		return nil
	}
	return fmt.Errorf("want %s from %d to %d, got %d", noun, least, most, n)
}

// maxPagesFlag adds the flag --max-pages.
func maxPagesFlag(cmd *cobra.Command, pages *int) {
	cmd.Flags().IntVar(pages, "max-pages", 0, "number of `PAGES` after which a job ends with outcome limited")
	checked(cmd, "max-pages", func() error { return atLeast(1, *pages, "a number of pages above 0") })
}

// A misuse is a mistake in how flags and arguments are combined.
type misuse struct {
	made bool
	text string
}

// refuse returns the error for the first misuse that was made, or nil.
func refuse(all []misuse) error {
	for _, m := range all {
		if m.made {
			return &usageError{m.text}
		}
	}
	return nil
}

// arguments accepts a number of arguments, which the noun describes.
func arguments(least, most int, noun string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if least <= len(args) && len(args) <= most {
			return nil
		}
		return &usageError{fmt.Sprintf("want %s, got %s", noun, wording.Counted(len(args), "argument"))}
	}
}

func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return &usageError{fmt.Sprintf("%s takes no arguments, got %q", cmd.CommandPath(), args[0])}
}

func complete(cmd *cobra.Command, flag string, words func() []string) {
	_ = cmd.RegisterFlagCompletionFunc(flag, func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return words(), cobra.ShellCompDirectiveNoFileComp
	})
}
