package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/fixtures"
	"github.com/stopwhen/stopwhen/rules/keypath"
	"github.com/stopwhen/stopwhen/rules/yaml"
)

// environment gives a configuration the environment variables that it may read.
type environment struct {
	names  []string          // names of variables that may be read
	file   map[string]string // variables of --env-file, which may be read, too
	server *fixtures.Server
	read   []string // values that were read
}

// envFlags adds the flags for environment variables.
func (s *loader) envFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.Var(listFlag{&s.env, true}, "env", "`NAMES` of environment variables that the configuration may read")
	f.StringVar(&s.envFile, "env-file", "",
		"`FILE` with lines NAME=VALUE: environment variables that the configuration may read; a variable of --env that is set overrides it")
}

// environment returns the variables that the flags allow.
func (s *loader) environment(server *fixtures.Server) (*environment, error) {
	if s.envFile != "" && s.fileEnv == nil {
		text, err := s.readText(s.envFile)
		if err != nil {
			return nil, &usageError{fmt.Sprintf("--env-file: %v", err)}
		}
		if s.fileEnv, err = parseEnv(string(text)); err != nil {
			return nil, &usageError{fmt.Sprintf("--env-file: %s, %v", s.envFile, err)}
		}
	}
	return &environment{names: s.env, file: s.fileEnv, server: server}, nil
}

// options returns the options with which every command loads configurations.
func (e *environment) options() []engine.Option {
	return []engine.Option{
		engine.WithFormat(".yaml", yaml.Parse), engine.WithFormat(".yml", yaml.Parse), engine.WithFormat("", yaml.ParseByContent),
		engine.WithUserAgent("stopwhen/" + strings.Fields(version())[0]), engine.WithEnv(e.lookup),
	}
}

func (e *environment) lookup(name string) (string, bool) {
	if e.server != nil && strings.HasPrefix(name, "FIXTURE_") {
		return "secret-of-" + name, true
	}
	text, ok := e.file[name]
	if slices.Contains(e.names, name) {
		if set, isSet := os.LookupEnv(name); isSet {
			text, ok = set, true
		}
	}
	if ok {
		e.read = append(e.read, text)
	}
	return text, ok
}

// parseEnv reads lines NAME=VALUE, with the quotes and comments of a shell and without its
// expansions. A quoted value may have several lines. Errors name the line and show no value.
func parseEnv(text string) (map[string]string, error) {
	p := envParser{rest: strings.TrimPrefix(strings.ReplaceAll(text, "\r\n", "\n"), "\xef\xbb\xbf"), line: 1}
	values := map[string]string{}
	for {
		p.skip(" \t\n")
		if p.rest == "" {
			return values, nil
		}
		if p.comment() {
			continue
		}
		line := p.line
		name, value, err := p.pair()
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
		values[name] = value
	}
}

// An envParser is at a place of a file of variables.
type envParser struct {
	rest string
	line int
}

// take removes n bytes, and returns them.
func (p *envParser) take(n int) string {
	taken := p.rest[:n]
	p.rest = p.rest[n:]
	p.line += strings.Count(taken, "\n")
	return taken
}

func (p *envParser) skip(characters string) {
	p.take(len(p.rest) - len(strings.TrimLeft(p.rest, characters)))
}

// comment skips a comment, and reports whether there is one.
func (p *envParser) comment() bool {
	if !strings.HasPrefix(p.rest, "#") {
		return false
	}
	line, _, _ := strings.Cut(p.rest, "\n")
	p.take(len(line))
	return true
}

// pair reads NAME=VALUE up to the end of its line.
func (p *envParser) pair() (name, value string, err error) {
	if after, ok := strings.CutPrefix(p.rest, "export "); ok {
		p.take(len(p.rest) - len(after))
		p.skip(" \t")
	}
	end := strings.IndexAny(p.rest, "= \t\n")
	if end < 0 || p.rest[end] != '=' || !keypath.IsExpressionName(p.rest[:end]) {
		return "", "", errors.New("want NAME=VALUE")
	}
	name = p.take(end)
	p.take(1)
	if value, err = p.value(); err != nil {
		return "", "", fmt.Errorf("%s: %w", name, err)
	}
	p.skip(" \t")
	if p.rest != "" && p.rest[0] != '\n' && !p.comment() {
		return "", "", fmt.Errorf("%s: a value with spaces needs quotes", name)
	}
	return name, value, nil
}

// value reads a value: parts with and without quotes, up to a space or the end of the line.
func (p *envParser) value() (string, error) {
	var b strings.Builder
	for p.rest != "" && !strings.ContainsAny(p.rest[:1], " \t\n") {
		switch c := p.take(1); c {
		case "'":
			end := strings.IndexByte(p.rest, '\'')
			if end < 0 {
				return "", errors.New("the quote ' has no end")
			}
			b.WriteString(p.take(end))
			p.take(1)
		case `"`:
			if !p.quoted(&b) {
				return "", errors.New(`the quote " has no end`)
			}
		case `\`:
			if p.rest != "" {
				b.WriteString(p.take(1))
			}
		default:
			b.WriteString(c)
		}
	}
	return b.String(), nil
}

// quoted reads the rest of a part in double quotes, in which a backslash escapes only the characters
// that mean something to a shell there. It reports whether the part has an end.
func (p *envParser) quoted(b *strings.Builder) bool {
	for p.rest != "" {
		switch c := p.take(1); {
		case c == `"`:
			return true
		case c == `\` && p.rest != "" && strings.ContainsAny(p.rest[:1], "\"\\$`"):
			b.WriteString(p.take(1))
		default:
			b.WriteString(c)
		}
	}
	return false
}
