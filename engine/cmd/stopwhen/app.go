package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/printable"
	"github.com/stopwhen/stopwhen/runtime/redact"
)

// app is the program: its streams, and everything that its commands share.
type app struct {
	stdin  io.Reader
	stdout io.Writer
	stderr io.Writer

	logFlags
	redactor *redact.Redactor // hides the secrets of the loaded configuration
	waits    waits            // calls that may block
	renewals waits            // exchanges of a refresh token, which a signal does not interrupt
	threads  *threads         // nil if the process uses all threads

	invocation
}

// An invocation is the state of the command that runs.
type invocation struct {
	parsed      bool               // the command line is valid
	serverFlags string             // flags with which the next command reaches the same NATS server, for messages
	discarded   string             // name of the data that a closed standard output loses; empty if it loses no data
	remains     string             // effects of the command that remain when a signal ends it, for its message; may be empty
	abandoned   chan struct{}      // closed when a run that does not notice a signal is abandoned
	onPage      func(*engine.Page) // called for every page before its items are written; may be nil
}

func newApp(stdin io.Reader, stdout, stderr io.Writer) *app {
	return &app{stdin: stdin, stdout: stdout, stderr: stderr, redactor: redact.New(nil)}
}

// run runs the command and returns its exit status.
func (a *app) run(args []string) (status int) {
	defer func() {
		if reason := recover(); reason != nil {
			a.report(fmt.Errorf("internal error: %v", reason))
			if a.verbose {
				_, _ = fmt.Fprint(a.stderr, a.redactor.Text(string(debug.Stack())))
			}
			status = exitInternal
		}
	}()
	root := a.rootCommand()
	root.SetArgs(args)
	root.SetIn(a.stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	err := root.Execute()
	if err != nil && !a.parsed && exitStatus(err) == exitInternal {
		err = &usageError{err.Error()} // cobra's own errors have no type
	}
	a.report(err)
	return exitStatus(err)
}

func (a *app) rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "stopwhen",
		Short:         "Extract lists from paged HTTP APIs, and see why paging continued or stopped",
		Long:          helpText(),
		Version:       version(),
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.Args = func(_ *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		return unknownCommand(root, args[0])
	}
	root.PersistentPreRun = func(*cobra.Command, []string) { a.parsed = true }
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if mistake, ok := errors.AsType[*usageError](err); ok {
			return mistake
		}
		return &usageError{fmt.Sprintf("%v; see %s --help", err, cmd.CommandPath())}
	})
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages", fmt.Sprintf(".FlagUsagesWrapped %d", a.helpWidth())))
	a.addCommands(root)
	root.SetHelpCommand(helpCommand(root))
	root.InitDefaultCompletionCmd()
	if completion, _, err := root.Find([]string{"completion"}); err == nil {
		completion.RunE = root.RunE // an unknown shell becomes an error instead of a help page
	}
	return root
}

// columns returns the width of standard output in columns, or 0 if it is not a terminal.
func (a *app) columns() int { return widthOf(a.stdout) }

// widthOf returns the width of a terminal in columns, or 0 if the writer is not a terminal.
func widthOf(w io.Writer) int {
	file, ok := w.(*os.File)
	if !ok {
		return 0
	}
	width, _, _ := term.GetSize(int(file.Fd())) // negative if it is not a terminal
	return max(width, 0)
}

func unknownCommand(root *cobra.Command, word string) error {
	var names []string
	for _, cmd := range root.Commands() {
		names = append(names, cmd.Name())
	}
	return &usageError{fmt.Sprintf("unknown command %q; %s", word, cmp.Or(diag.DidYouMean(word, names), "see stopwhen --help"))}
}

// writeJSON writes a value to standard output as indented JSON.
func (a *app) writeJSON(v any) error {
	return printError(writeJSONTo(a.guard(a.stdout), v))
}

// writeJSONTo writes a value as indented JSON.
func writeJSONTo(w io.Writer, v any) error {
	enc := json.NewEncoder(printable.Writer(w, printable.JSON))
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}
