package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime"
)

// demoCase is the case that the demo plays.
const demoCase = "demo/orders"

func (a *app) demoCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Watch a real extraction over HTTP, from an API that is built in",
		Long: `Start the API of an embedded case on loopback and extract from it: the
configuration is compiled, pages are fetched over HTTP, items come out as NDJSON,
and the log says why it stopped.`,
		Example: `  stopwhen demo
  stopwhen demo > orders.ndjson
  stopwhen run --fixture demo/orders --explain`,
		Args: noArguments,
		RunE: func(*cobra.Command, []string) error { return a.demo() },
	}
	cmd.Flags().BoolVarP(&a.flags.quiet, "quiet", "q", false, "log errors alone")
	return cmd
}

func (a *app) demo() error {
	a.flags.fixture, a.flags.noProgress = demoCase, true
	l, err := a.load(nil)
	if err != nil {
		return err
	}
	defer l.Close()
	say := func(format string, args ...any) {
		if !a.flags.quiet {
			fmt.Fprintf(a.stderr, format, args...)
		}
	}
	say("An API that serves 25 orders now listens on %s.\nThis configuration extracts them:\n\n%s\n", l.server.URL(), indent(string(l.server.ConfigText())))
	say("Items go to standard output, the log to standard error. The same by hand:\n\n    stopwhen run --fixture %s -v\n\n", demoCase)
	a.onPage = func(page *engine.Page) {
		request := page.Request.Method + " " + strings.TrimPrefix(page.Request.URL, l.server.URL())
		say("page %d: %s\n    %s\n", page.Page, request, decided(page))
	}
	if err := a.runLoaded(l); err != nil {
		return err
	}
	say("\nWhat it compiled to, with every rule that could have stopped it:\n\n    stopwhen explain --fixture %s\n", demoCase)
	return nil
}

// decided says why the run goes on after a page or stops.
func decided(page *engine.Page) string {
	if page.Decision == runtime.Continue {
		return fmt.Sprintf("%s; none of %s is met, so it goes on", value.Counted(page.Count, "item"), value.Counted(len(page.Verdicts), "rule"))
	}
	return fmt.Sprintf("%s; it stops by %s", value.Counted(page.Count, "item"), strings.Join(page.StoppedBy, " and "))
}

func indent(text string) string {
	return "    " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n    ") + "\n"
}
