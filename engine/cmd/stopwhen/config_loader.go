package main

import (
	"bytes"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/checkpoint"
	"github.com/stopwhen/stopwhen/fixtures"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/wording"
)

// A loader holds the flags for a configuration, its inputs and its jobs, and loads it.
type loader struct {
	*app
	baseURL, dialect, fixture string
	env, set                  []string
	setFile, envFile          string
	fileEnv                   map[string]string // variables of --env-file; nil until it is read
	jobs                      []string          // ids of the jobs that run; all jobs if it is empty
	maxPages                  int               // 0 means no limit
	keepGoing                 bool
	placeholders              bool // whether environment variables that are not passed have placeholder values
}

// addConfigFlags adds the flags of commands that read a configuration or a built-in
// case.
func (s *loader) addConfigFlags(cmd *cobra.Command) {
	s.addFileFlags(cmd)
	cmd.Flags().StringVar(&s.fixture, "fixture", "", "built-in `CASE` to run, or a .txtar file: its configuration and its API")
	complete(cmd, "fixture", fixtures.Names)
}

// addFileFlags adds the flags of commands that read a configuration from a file.
func (s *loader) addFileFlags(cmd *cobra.Command) {
	s.envFlags(cmd)
	s.addTextFlags(cmd)
}

// addInputFlags adds the flags for inputs.
func (s *loader) addInputFlags(cmd *cobra.Command, inputs string) {
	f := cmd.Flags()
	f.Var(listFlag{to: &s.set}, "set", "`NAME=VALUE` of "+inputs+"; may be repeated")
	f.StringVar(&s.setFile, "set-file", "", "`FILE` with inputs by name, as JSON or YAML; - is standard input; --set overrides it")
}

// addTextFlags adds the flags of commands that read the text of a configuration from a file.
func (s *loader) addTextFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&s.baseURL, "base-url", "", "`URL` that overrides the baseUrl of the configuration")
	f.StringVar(&s.dialect, "dialect", "", "`DIALECT` that overrides the configuration's: "+wording.OrList(rules.DialectNames()))
	s.addInputFlags(cmd, "an input that the configuration declares")
	f.Var(listFlag{to: &s.jobs}, "job", "`ID` of a job; the others are left out; may be repeated")
	checked(cmd, "dialect", func() error {
		if s.dialect == "" {
			return nil
		}
		return oneOf(rules.DialectNames(), s.dialect)
	})
	complete(cmd, "dialect", rules.DialectNames)
	cmd.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return []string{"json", "yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt
	}
}

// addJobFlags adds the flags that say how far the jobs go.
func (s *loader) addJobFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	maxPagesFlag(cmd, &s.maxPages)
	f.BoolVar(&s.keepGoing, "keep-going", false,
		"run the other jobs to their ends when one fails; the exit status is that of the first job that failed")
}

// oneConfig accepts one configuration. With --fixture, it may be left out.
func (s *loader) oneConfig(_ *cobra.Command, args []string) error {
	return refuse([]misuse{
		{len(args) > 1, fmt.Sprintf("want one configuration, got %d arguments", len(args))},
		{len(args) == 0 && s.fixture == "", "want a configuration: a JSON or YAML file, - for standard input, or --fixture CASE"},
	})
}

// firstJob returns the job of a command that is about a single job: the first of --job, or the first of the
// configuration.
func (s *loader) firstJob(l *loaded) string {
	if len(s.jobs) > 0 {
		return s.jobs[0]
	}
	return l.Jobs()[0]
}

// load compiles the configuration that the arguments name, or the configuration of --fixture.
func (s *loader) load(args []string) (*loaded, error) {
	if err := onlyOnce("standard input", argument(args), streamUse{"--set-file", s.setFile}, streamUse{"--env-file", s.envFile}); err != nil {
		return nil, err
	}
	l := &loaded{}
	if err := s.loadInto(l, args); err != nil {
		l.Close()
		return nil, err
	}
	s.redactor = l.Redactor()
	return l, nil
}

func (s *loader) loadInto(l *loaded, args []string) error {
	if s.fixture != "" {
		if err := s.serveCase(l); err != nil {
			return err
		}
	}
	if len(args) > 0 {
		if err := s.readConfig(l, args[0]); err != nil {
			return err
		}
	}
	return s.compile(l)
}

// serveCase starts the API of a case. The configuration of the case is used unless an argument
// names another configuration.
func (s *loader) serveCase(l *loaded) error {
	find := fixtures.Find
	if strings.HasSuffix(s.fixture, ".txtar") {
		if _, err := os.Stat(s.fixture); err == nil {
			find = fixtures.ReadFile
		}
	}
	c, err := find(s.fixture)
	if err != nil {
		return &usageError{"--fixture: " + err.Error()}
	}
	if l.server, err = fixtures.Serve(c); err != nil {
		return fmt.Errorf("cannot serve the API of case %s: %w", c.Name, err)
	}
	if text := l.server.Kept(); text != nil {
		kept, err := checkpoint.ParseKept(text)
		if err != nil {
			return &usageError{fmt.Sprintf("case %s: kept: %v", c.Name, err)}
		}
		l.kept = kept.Values
	}
	l.name, l.text = c.Name+filepath.Ext(c.ConfigName), l.server.ConfigText()
	return nil
}

// readConfig reads a configuration from a file, or from standard input if path
// is "-".
func (s *loader) readConfig(l *loaded, path string) (err error) {
	l.name = path
	if path == "-" {
		l.name = stdinName
	}
	if l.text, err = s.readText(path); err != nil {
		if address, invalid := url.Parse(path); invalid == nil && address.Host != "" {
			return &usageError{"want a configuration, got an address; stopwhen detect ADDRESS --out FILE writes a configuration for it"}
		}
		return &usageError{fmt.Sprintf("cannot read the configuration: %v", err)}
	}
	if l.server != nil {
		l.text = bytes.ReplaceAll(l.text, []byte("{base}"), []byte(l.server.URL()))
	}
	return nil
}

// compile compiles a configuration for a run with the inputs and the jobs of the flags.
func (s *loader) compile(l *loaded) error {
	inputs, err := s.inputs()
	if err != nil {
		return err
	}
	if err := s.build(l, engine.WithInputs(inputs), engine.WithJobs(s.jobs...)); err != nil {
		return err
	}
	return s.checkGiven(l.Engine, inputs)
}

// build compiles a configuration with the options of the flags, and others.
func (s *loader) build(l *loaded, others ...engine.Option) error {
	env, err := s.environment(l.server)
	if err != nil {
		return err
	}
	options := append(env.options(),
		engine.WithDialect(rules.Dialect(s.dialect)), engine.WithBaseURL(s.baseURL), engine.WithMaxPages(s.maxPages))
	if l.server != nil {
		options = append(options, engine.WithClock(l.server.Clock()))
	}
	if s.placeholders {
		options = append(options, engine.WithPlaceholders())
	}
	if s.keepGoing {
		options = append(options, engine.WithKeepGoing())
	}
	if l.Engine, err = engine.Load(l.name, l.text, append(options, others...)...); err != nil {
		hideSecrets(err, env.read)
		return err
	}
	hideSecrets(l.Warnings().Err(), env.read)
	return nil
}
