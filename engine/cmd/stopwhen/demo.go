package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/rules/printable"
	"github.com/stopwhen/stopwhen/rules/wording"
	"github.com/stopwhen/stopwhen/runtime/trace"
)

// demoCase is the built-in case of the demo.
const demoCase = "demo/orders"

// A demoCommand is stopwhen demo.
type demoCommand struct{ extraction }

func newDemo(a *app) *cobra.Command {
	c := &demoCommand{extraction{loader: loader{app: a}}}
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Watch a real extraction over HTTP, from a built-in API",
		Long: `Start the API of a built-in case on the loopback interface and extract from it.
The configuration is compiled, pages are fetched over HTTP, items are written as
NDJSON, and the log shows why paging stopped.`,
		Example: `  stopwhen demo
  stopwhen demo > orders.ndjson
  stopwhen run --fixture demo/orders --explain`,
		Args: noArguments,
		RunE: c.Run,
	}
	cmd.Flags().BoolVarP(&c.quiet, "quiet", "q", false, "log only errors")
	return cmd
}

// Run serves the case, and runs it.
func (c *demoCommand) Run(*cobra.Command, []string) error {
	c.fixture, c.noProgress = demoCase, true
	l, err := c.load(nil)
	if err != nil {
		return err
	}
	defer l.Close()
	say := func(format string, args ...any) {
		if !c.quiet {
			fmt.Fprint(c.stderr, printable.Lines(fmt.Sprintf(format, args...)))
		}
	}
	say("An API that serves 25 orders now listens on %s.\nThis configuration extracts them:\n\n%s\n",
		l.server.URL(), indent(string(l.server.ConfigText())))
	say("Items go to standard output, the log to standard error. To run it yourself:\n\n    stopwhen run --fixture %s -v\n\n", demoCase)
	c.onPage = func(page *engine.Page) {
		request := page.Request.Method + " " + strings.TrimPrefix(page.Request.URL, l.server.URL())
		say("page %d: %s\n    %s\n", page.Page, request, describeDecision(page))
	}
	if err := c.runLoaded(l); err != nil {
		return err
	}
	say("\nTo see what it compiled to, with every rule that could have stopped it:\n\n    stopwhen explain --fixture %s\n", demoCase)
	return nil
}

// describeDecision says why paging continues or stops after a page.
func describeDecision(page *engine.Page) string {
	items := wording.Counted(page.Count, "item")
	if page.Decision == trace.Continue {
		return fmt.Sprintf("%s; no rule is met (%d evaluated): continue", items, len(page.Verdicts))
	}
	return fmt.Sprintf("%s; stopped by %s", items, strings.Join(page.StoppedBy, " and "))
}

func indent(text string) string {
	return "    " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n    ") + "\n"
}
