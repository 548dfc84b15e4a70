package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stopwhen/stopwhen/engine"
	formats "github.com/stopwhen/stopwhen/engine/output"
	"github.com/stopwhen/stopwhen/fixtures"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/value"
)

// source is where a command reads a configuration, and with which values.
type source struct {
	*app
	baseURL, dialect, fixture string
	env, set                  []string
	setFile                   string
	jobs                      []string // ids of the jobs that run; empty: all
	maxPages                  int      // 0: no limit
	keepGoing                 bool
	placeholders              bool // environment variables that are not passed have placeholder values
}

// configFlags adds the flags of commands that read a configuration or a built-in
// case.
func (a *source) configFlags(cmd *cobra.Command) {
	a.fileFlags(cmd)
	cmd.Flags().StringVar(&a.fixture, "fixture", "", "built-in `CASE` to run, or a .txtar file: its configuration and its API")
	complete(cmd, "fixture", caseNames)
}

// fileFlags adds the flags of commands that read a configuration from a file.
func (a *source) fileFlags(cmd *cobra.Command) {
	a.envFlag(cmd, "`NAMES` of environment variables that the configuration may read")
	a.textFlags(cmd)
}

// envFlag adds the flag --env.
func (a *source) envFlag(cmd *cobra.Command, usage string) {
	cmd.Flags().StringSliceVar(&a.env, "env", nil, usage)
}

// setFlags adds the flags for inputs.
func (a *source) setFlags(cmd *cobra.Command, inputs string) {
	f := cmd.Flags()
	f.StringArrayVar(&a.set, "set", nil, "`NAME=VALUE` of "+inputs+"; may be repeated")
	f.StringVar(&a.setFile, "set-file", "", "`FILE` with inputs by name, as JSON or YAML; - is standard input; --set overrides it")
}

// textFlags adds the flags of commands that read the text of a configuration from a file.
func (a *source) textFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&a.baseURL, "base-url", "", "`URL` that overrides the baseUrl of the configuration")
	f.StringVar(&a.dialect, "dialect", "", "`DIALECT` that overrides that of the configuration: "+value.OrList(rules.Dialects()))
	a.setFlags(cmd, "an input that the configuration declares")
	f.StringArrayVar(&a.jobs, "job", nil, "`ID` of a job; the others are left out; may be repeated")
	checked(cmd, "dialect", func() error {
		if a.dialect == "" {
			return nil
		}
		return oneOf(rules.Dialects(), a.dialect)
	})
	complete(cmd, "dialect", rules.Dialects)
	cmd.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return []string{"json", "yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt
	}
}

// jobFlags adds the flags that say how far the jobs go.
func (a *source) jobFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	maxPagesFlag(cmd, &a.maxPages)
	f.BoolVar(&a.keepGoing, "keep-going", false,
		"run the other jobs to their ends when one fails; the exit status is that of the first job that failed")
}

// oneConfig accepts one configuration, or none if a case has one.
func (a *source) oneConfig(_ *cobra.Command, args []string) error {
	switch {
	case len(args) > 1:
		return &usageError{fmt.Sprintf("want one configuration, got %d arguments", len(args))}
	case len(args) == 0 && a.fixture == "":
		return &usageError{"want a configuration: a JSON or YAML file, - for standard input, or --fixture CASE"}
	}
	return nil
}

// load compiles the configuration that the arguments name, or that of --fixture.
func (a *source) load(args []string) (*loaded, error) {
	if err := onlyOnce("standard input", argument(args), streamUse{"--set-file", a.setFile}); err != nil {
		return nil, err
	}
	l := &loaded{}
	if err := a.loadInto(l, args); err != nil {
		l.Close()
		return nil, err
	}
	a.redactor = l.Redactor()
	return l, nil
}

func (a *source) loadInto(l *loaded, args []string) error {
	if a.fixture != "" {
		if err := a.serveCase(l); err != nil {
			return err
		}
	}
	if len(args) > 0 {
		if err := a.readConfig(l, args[0]); err != nil {
			return err
		}
	}
	return a.compile(l)
}

// serveCase starts the API of a case, whose configuration is used unless another
// one is given.
func (a *source) serveCase(l *loaded) error {
	find := fixtures.Find
	if strings.HasSuffix(a.fixture, ".txtar") {
		if _, err := os.Stat(a.fixture); err == nil {
			find = fixtures.ReadFile
		}
	}
	c, err := find(a.fixture)
	if err != nil {
		return &usageError{"--fixture: " + err.Error()}
	}
	if l.server, err = fixtures.Serve(c); err != nil {
		return fmt.Errorf("cannot serve the API of case %s: %w", c.Name, err)
	}
	if i := slices.Index(c.Args, "--dialect"); i >= 0 && i+1 < len(c.Args) && a.dialect == "" {
		a.dialect = c.Args[i+1]
	}
	if text := l.server.Kept(); text != nil {
		if l.carryover, err = formats.ParseKept(text); err != nil {
			return &usageError{fmt.Sprintf("case %s: kept: %v", c.Name, err)}
		}
	}
	l.name, l.text = c.Name+filepath.Ext(c.ConfigName), l.server.ConfigText()
	return nil
}

// readConfig reads a configuration from a file, or from standard input if path
// is "-".
func (a *source) readConfig(l *loaded, path string) (err error) {
	if path == "-" {
		l.name = stdinName
		l.text, err = rules.ReadConfig(a.stdin)
	} else {
		l.name = path
		l.text, err = rules.ReadConfigFile(path)
	}
	if err != nil {
		return &usageError{fmt.Sprintf("cannot read the configuration: %v", err)}
	}
	if l.server != nil {
		l.text = bytes.ReplaceAll(l.text, []byte("{base}"), []byte(l.server.URL()))
	}
	return nil
}

// compile compiles a configuration for a run with the inputs and the jobs that are given.
func (a *source) compile(l *loaded) error {
	inputs, err := a.inputs()
	if err != nil {
		return err
	}
	if err := a.build(l, engine.WithInputs(inputs), engine.WithJobs(a.jobs...)); err != nil {
		return err
	}
	return a.checkGiven(l.Engine, inputs)
}

// build compiles a configuration with the options that the flags give, and others.
func (a *source) build(l *loaded, others ...engine.Option) (err error) {
	env := environment{names: a.env, server: l.server}
	options := append(env.options(),
		engine.WithDialect(a.dialect), engine.WithBaseURL(a.baseURL), engine.WithMaxPages(a.maxPages))
	if l.server != nil {
		options = append(options, engine.WithClock(l.server.Clock()))
	}
	if a.placeholders {
		options = append(options, engine.WithPlaceholders())
	}
	if a.keepGoing {
		options = append(options, engine.WithKeepGoing())
	}
	if l.Engine, err = engine.Load(l.name, l.text, append(options, others...)...); err != nil {
		hideSecrets(err, env.read)
		nameFlags(err)
		return err
	}
	hideSecrets(l.Warnings().Err(), env.read)
	nameFlags(l.Warnings())
	return nil
}
