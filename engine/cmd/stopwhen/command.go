package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/fixtures"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/runtime"
)

// app is one call of the command: its streams and what was asked for.
type app struct {
	stdin  io.Reader
	stdout io.Writer
	stderr io.Writer

	flags    flags
	redactor *runtime.Redactor  // hides the secrets of the configuration that was loaded
	discard  bool               // items go nowhere
	began    bool               // the command line was understood
	standIns bool               // environment variables that are not passed have a text in their place
	onPage   func(*engine.Page) // sees every page before its items are written; nil: nobody
}

// flags are those of all commands; each command registers the ones it has.
type flags struct {
	out, baseURL, dialect, trace, fixture, result, kept, logFormat, format, record, against, prefetch, state string
	env, failOn                                                                                              []string
	parallel                                                                                                 int
	explain, quiet, verbose, noProgress, failUncovered, restart                                              bool
}

// run runs the command and returns its exit status.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) (status int) {
	a := &app{stdin: stdin, stdout: stdout, stderr: stderr, redactor: runtime.NewRedactor(nil)}
	defer func() {
		if fault := recover(); fault != nil {
			a.report(fmt.Errorf("a bug: %v", fault))
			if a.flags.verbose {
				_, _ = fmt.Fprint(stderr, a.redactor.String(string(debug.Stack())))
			}
			status = exitInternal
		}
	}()
	root := a.root()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.Execute()
	if err != nil && !a.began && exitStatus(err) == exitInternal {
		err = &usageError{err.Error()} // cobra's own errors have no type
	}
	a.report(err)
	return exitStatus(err)
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "stopwhen",
		Short: "Extract lists from paged HTTP APIs, and see why every page went on or stopped",
		Long: `stopwhen pages through an HTTP API that a configuration describes. It writes the
items as NDJSON, one line an item, exactly as the API sent them, and says why it
stopped.

  stopwhen demo                     watch a real extraction, no API needed
  stopwhen run users.json           extract
  stopwhen run users.json --explain print the compiled rules, make no request
  stopwhen check users.json         find mistakes before they cost a run
  stopwhen test users.json          run the tests that the configuration has

Exit status: 0 ended by rule, 2 invalid configuration or command line, 3 the API
refused, 4 passing faults outlasted the retries, 5 unacceptable response or a
failed rule, 6 safety limit or guard, 7 output cannot be written, 8 the state is
of another run, 9 an outcome of --fail-on, 10 a test of the configuration failed,
130 and 143 interrupted, 1 a bug.`,
		Version:       version(),
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return &usageError{fmt.Sprintf("%v; see %s --help", err, cmd.CommandPath())}
	})
	root.AddCommand(a.runCommand(), a.explainCommand(), a.checkCommand(), a.testCommand(), a.recordCommand(), a.replayCommand(), a.traceCommand(), a.schemaCommand(), a.demoCommand(), a.fixturesCommand())
	root.Args = func(_ *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		return noCommand(root, args[0])
	}
	root.SetHelpCommand(&cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Help about any command",
		RunE: func(_ *cobra.Command, args []string) error {
			cmd, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 {
				return noCommand(root, args[len(args)-max(len(rest), 1)])
			}
			return cmd.Help()
		},
	})
	root.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	root.PersistentPreRun = func(*cobra.Command, []string) { a.began = true }
	root.InitDefaultCompletionCmd()
	if completion, _, err := root.Find([]string{"completion"}); err == nil {
		completion.RunE = root.RunE // a shell that it does not know is an error, not a page of help
	}
	return root
}

func either(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// version is what the build says of itself.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	v := info.Main.Version
	if v == "" || v == "(devel)" {
		v = "development"
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 && !strings.Contains(v, s.Value[:12]) {
			v += " (" + s.Value[:12] + ")"
		}
	}
	return v + " " + info.GoVersion
}

// oneConfig wants one CONFIG, or none where the fixture has one.
func (a *app) oneConfig(_ *cobra.Command, args []string) error {
	switch {
	case len(args) > 1:
		return &usageError{fmt.Sprintf("want one configuration, got %d arguments", len(args))}
	case len(args) == 0 && a.flags.fixture == "":
		return &usageError{"want a configuration: a JSON or YAML file, - for standard input, or --fixture CASE"}
	}
	return nil
}

// noCommand says that a word is none of the commands.
func noCommand(root *cobra.Command, word string) error {
	var names []string
	for _, cmd := range root.Commands() {
		names = append(names, cmd.Name())
	}
	return &usageError{fmt.Sprintf("no command %q; %s", word, either(diag.DidYouMean(word, names), "see stopwhen --help"))}
}

func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return &usageError{fmt.Sprintf("%s takes no arguments, got %q", cmd.CommandPath(), args[0])}
}

// configFlags are the flags of the commands that read a configuration or play a
// case.
func (a *app) configFlags(cmd *cobra.Command) {
	a.fileFlags(cmd)
	cmd.Flags().StringVar(&a.flags.fixture, "fixture", "", "`CASE` to play, or a .txtar file: its config and its API")
	complete(cmd, "fixture", caseNames)
}

// fileFlags say how a configuration is read.
func (a *app) fileFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&a.flags.baseURL, "base-url", "", "base `URL` in place of the configuration's")
	f.StringVar(&a.flags.dialect, "dialect", "", "`DIALECT` in place of the configuration's: spec or keboola")
	f.StringSliceVar(&a.flags.env, "env", nil, "`NAMES` of environment variables that the config may read")
	complete(cmd, "dialect", rules.Dialects)
	cmd.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return []string{"json", "yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt
	}
}

// formatFlag is the flag --format of a command that writes in one of these; the
// first is the default.
func (a *app) formatFlag(cmd *cobra.Command, formats ...string) {
	cmd.Flags().StringVar(&a.flags.format, "format", formats[0], "output `FORMAT`: "+orList(formats))
	complete(cmd, "format", func() []string { return formats })
}

// checkFormat finds a --format that is none of these.
func (a *app) checkFormat(formats ...string) error {
	if slices.Contains(formats, a.flags.format) {
		return nil
	}
	return &usageError{fmt.Sprintf("--format: want %s, got %q", orList(formats), a.flags.format)}
}

// orList is a list for people: "text, json or mermaid".
func orList(words []string) string {
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// writeJSON writes a value to standard output, for programs.
func (a *app) writeJSON(v any) error {
	enc := json.NewEncoder(a.stdout)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return outputError(enc.Encode(v))
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
	var names []string
	for _, c := range cases {
		names = append(names, c.Name)
	}
	return names
}

func (a *app) fixturesCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "fixtures",
		Short: "List the embedded cases: configurations with the API that answers them",
		Long: `List the embedded cases. Each is a configuration, what the API is asked and
answers, and what must come of it. Run one with

  stopwhen run --fixture CASE --trace trace.json
  stopwhen run --fixture CASE --explain`,
		Args: noArguments,
		RunE: func(*cobra.Command, []string) error {
			cases, err := fixtures.All()
			if err != nil {
				return err
			}
			for _, c := range cases {
				if _, err := fmt.Fprintf(a.stdout, "%s\n    %s\n", c.Name, c.Title); err != nil {
					return outputError(err)
				}
			}
			return nil
		},
	}
}

// readFile is os.ReadFile, with the words of a person.
func readFile(path string) ([]byte, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, &usageError{fmt.Sprintf("cannot read the configuration: %v", err)}
	}
	return text, nil
}
