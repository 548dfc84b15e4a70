package main

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/fixtures"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/rules/yaml"
)

// loaded is a compiled configuration and, with --fixture, the API that answers it.
type loaded struct {
	*engine.Engine
	name      string
	text      []byte
	server    *fixtures.Server                            // nil without --fixture
	carryover carryover                                   // from earlier runs
	forgets   bool                                        // the values of keep are not saved
	pages     source                                      // of a run that other machines do; nil: the engine runs
	check     func(context.Context, *engine.Engine) error // that they can be had; nil: they can
	run       string                                      // its id
	released  bool                                        // pages of it are no longer on the server
	collects  map[string]string                           // what the fingerprint has of that run, and of how it is collected
	skipped   func(*engine.Page)                          // receives the pages on which partitions failed that were skipped
}

// A source passes pages to a sink, like [engine.Engine.Run].
type source func(ctx context.Context, e *engine.Engine, sink engine.SinkFunc) (*engine.Result, error)

// source returns the source of the pages.
func (l *loaded) source() source {
	if l.pages != nil {
		return l.pages
	}
	return func(ctx context.Context, e *engine.Engine, sink engine.SinkFunc) (*engine.Result, error) {
		return e.Run(ctx, sink)
	}
}

// fingerprint says what a state belongs to.
func (l *loaded) fingerprint() map[string]string {
	parts := l.Fingerprint()
	maps.Copy(parts, l.collects)
	return parts
}

func (l *loaded) Close() {
	if l.server != nil {
		l.server.Close()
	}
}

// oneConfig accepts one configuration, or none if a case has one.
func (a *app) oneConfig(_ *cobra.Command, args []string) error {
	switch {
	case len(args) > 1:
		return &usageError{fmt.Sprintf("want one configuration, got %d arguments", len(args))}
	case len(args) == 0 && a.flags.fixture == "":
		return &usageError{"want a configuration: a JSON or YAML file, - for standard input, or --fixture CASE"}
	}
	return nil
}

// load compiles the configuration that the arguments name, or that of --fixture.
func (a *app) load(args []string) (*loaded, error) {
	if err := a.checkDialect(); err != nil {
		return nil, err
	}
	if err := onlyOnce("standard input", argument(args), streamUse{"--set-file", a.flags.setFile}); err != nil {
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

func (a *app) loadInto(l *loaded, args []string) error {
	if a.flags.fixture != "" {
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
func (a *app) serveCase(l *loaded) error {
	find := fixtures.Find
	if strings.HasSuffix(a.flags.fixture, ".txtar") {
		if _, err := os.Stat(a.flags.fixture); err == nil {
			find = fixtures.ReadFile
		}
	}
	c, err := find(a.flags.fixture)
	if err != nil {
		return &usageError{"--fixture: " + err.Error()}
	}
	if l.server, err = fixtures.Serve(c); err != nil {
		return fmt.Errorf("cannot serve the API of case %s: %w", c.Name, err)
	}
	if i := slices.Index(c.Args, "--dialect"); i >= 0 && i+1 < len(c.Args) && a.flags.dialect == "" {
		a.flags.dialect = c.Args[i+1]
	}
	if text := l.server.Kept(); text != nil {
		if l.carryover, err = parseCarryover(text); err != nil {
			return &usageError{fmt.Sprintf("case %s: kept: %v", c.Name, err)}
		}
	}
	l.name, l.text = c.Name+filepath.Ext(c.ConfigName), l.server.ConfigText()
	return nil
}

// stdinName is the name of a configuration from standard input in messages.
const stdinName = "stdin"

// readConfig reads a configuration from a file, or from standard input if path
// is "-".
func (a *app) readConfig(l *loaded, path string) (err error) {
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
func (a *app) compile(l *loaded) error {
	inputs, err := a.inputs()
	if err != nil {
		return err
	}
	if err := a.build(l, engine.WithInputs(inputs), engine.WithJobs(a.flags.jobs...)); err != nil {
		return err
	}
	return a.checkGiven(l.Engine, inputs)
}

// build compiles a configuration with the options that the flags give, and others.
func (a *app) build(l *loaded, others ...engine.Option) (err error) {
	env := environment{app: a, server: l.server}
	options := append(env.options(),
		engine.WithDialect(a.flags.dialect), engine.WithBaseURL(a.flags.baseURL), engine.WithMaxPages(a.flags.maxPages))
	if l.server != nil {
		options = append(options, engine.WithClock(l.server.Clock()))
	}
	if a.placeholders {
		options = append(options, engine.WithPlaceholders())
	}
	if a.flags.keepGoing {
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

// parseByContent parses a configuration whose name has no ending, such as standard input:
// as JSON and, if it is not, as YAML. The error of a text that begins like JSON is that
// of JSON.
func parseByContent(source *diag.Source) (any, error) {
	root, err := rules.ParseJSON(source)
	if err == nil {
		return root, nil
	}
	asYAML := diag.NewSource(source.Name, source.Text)
	root, yamlErr := yaml.Parse(asYAML)
	if _, isObject := value.Members(root); yamlErr == nil && isObject {
		*source = *asYAML // with the positions of the values
		return root, nil
	}
	if looksLikeJSON(source.Text) {
		return nil, err
	}
	return nil, yamlErr
}

func looksLikeJSON(text string) bool {
	return strings.HasPrefix(strings.TrimLeft(text, " \t\r\n"), "{")
}

// environment gives a configuration the environment variables that it may read.
type environment struct {
	app    *app
	server *fixtures.Server
	read   []string // values that were read
}

// options returns the options with which every command loads configurations.
func (e *environment) options() []engine.Option {
	return []engine.Option{
		engine.WithFormat(".yaml", yaml.Parse), engine.WithFormat(".yml", yaml.Parse), engine.WithFormat("", parseByContent),
		engine.WithUserAgent("stopwhen/" + strings.Fields(version())[0]), engine.WithEnv(e.lookup),
	}
}

func (e *environment) lookup(name string) (string, bool) {
	if e.server != nil && strings.HasPrefix(name, "FIXTURE_") {
		return "secret-of-" + name, true
	}
	if !slices.Contains(e.app.flags.env, name) {
		return "", false
	}
	text, ok := os.LookupEnv(name)
	e.read = append(e.read, text)
	return text, ok
}
