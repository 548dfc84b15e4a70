package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/fixtures"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/yaml"
)

// loaded is a compiled configuration and, with --fixture, the API that answers it.
type loaded struct {
	*engine.Engine
	name   string
	server *fixtures.Server // nil without --fixture
	kept   kept             // what earlier runs kept
}

func (l *loaded) Close() {
	if l.server != nil {
		l.server.Close()
	}
}

// load reads the configuration that the arguments name.
func (a *app) load(args []string, options ...engine.Option) (*loaded, error) {
	if d := a.flags.dialect; d != "" && !slices.Contains(rules.Dialects(), d) {
		return nil, &usageError{fmt.Sprintf("--dialect: no dialect %q; there are %s", d, strings.Join(rules.Dialects(), " and "))}
	}
	l := &loaded{}
	var text []byte
	var err error
	if a.flags.fixture != "" {
		if l.server, l.name, text, err = a.serve(); err != nil {
			return nil, err
		}
		options = append(options, engine.WithClock(l.server.Clock()))
	}
	if len(args) > 0 {
		if l.name, text, err = a.read(args[0]); err != nil {
			l.Close()
			return nil, err
		}
		if l.server != nil {
			text = bytes.ReplaceAll(text, []byte("{base}"), []byte(l.server.URL()))
		}
		if l.name == stdinName && !bytes.HasPrefix(bytes.TrimLeft(text, "\ufeff \t\r\n"), []byte("{")) {
			options = append(options, engine.WithFormat("", yaml.Parse)) // the name has no ending
		}
	}
	var secrets []string // that the configuration reads from the environment
	options = append(options, a.engineOptions(l.server, &secrets)...)
	if l.server != nil && l.server.Kept() != nil {
		if l.kept, err = parseKept(l.server.Kept()); err != nil {
			l.Close()
			return nil, &usageError{fmt.Sprintf("case %s: kept: %v", l.name, err)}
		}
	}
	if l.Engine, err = engine.Load(l.name, text, options...); err != nil {
		l.Close()
		hideSecrets(err, l.name, text, secrets)
		return nil, err
	}
	hideSecrets(l.Warnings(), l.name, text, secrets)
	a.redactor = l.Redactor()
	return l, nil
}

// stdinName is what messages call a configuration from standard input. It is
// JSON if it begins with a brace, else YAML.
const stdinName = "stdin"

// read reads a configuration from a file or standard input.
func (a *app) read(path string) (string, []byte, error) {
	if path != "-" {
		text, err := readFile(path)
		return path, text, err
	}
	text, err := io.ReadAll(io.LimitReader(a.stdin, rules.MaxConfigBytes+1))
	if err != nil {
		return "", nil, &usageError{fmt.Sprintf("cannot read the configuration from standard input: %v", err)}
	}
	return stdinName, text, nil
}

// serve starts the API of a case.
func (a *app) serve() (*fixtures.Server, string, []byte, error) {
	find := fixtures.Find
	if strings.HasSuffix(a.flags.fixture, ".txtar") {
		if _, err := os.Stat(a.flags.fixture); err == nil {
			find = fixtures.ReadFile
		}
	}
	c, err := find(a.flags.fixture)
	if err != nil {
		return nil, "", nil, &usageError{"--fixture: " + err.Error()}
	}
	server, err := fixtures.Serve(c)
	if err != nil {
		return nil, "", nil, fmt.Errorf("the API of case %s cannot be served: %w", c.Name, err)
	}
	if at := slices.Index(c.Args, "--dialect"); at >= 0 && at+1 < len(c.Args) && a.flags.dialect == "" {
		a.flags.dialect = c.Args[at+1]
	}
	return server, c.Name + filepath.Ext(c.ConfigName), server.ConfigText(), nil
}

func (a *app) engineOptions(server *fixtures.Server, secrets *[]string) []engine.Option {
	allowed := a.flags.env
	return []engine.Option{
		engine.WithFormat(".yaml", yaml.Parse), engine.WithFormat(".yml", yaml.Parse),
		engine.WithDialect(a.flags.dialect), engine.WithBaseURL(a.flags.baseURL), engine.WithUserAgent("stopwhen/" + strings.Fields(version())[0]),
		engine.WithEnv(func(name string) (string, bool) {
			if server != nil && strings.HasPrefix(name, "FIXTURE_") {
				return "secret-of-" + name, true
			}
			if !slices.Contains(allowed, name) {
				return "stand-in-for-" + name, a.standIns
			}
			text, ok := os.LookupEnv(name)
			*secrets = append(*secrets, text)
			return text, ok
		}),
	}
}
