package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/remedy"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/rules/yaml"
	"github.com/stopwhen/stopwhen/runtime/redact"
)

// inputs returns the values of --set-file and --set, by name. A value of --set overrides the value of the
// file.
func (s *loader) inputs() (map[string]any, error) {
	if s.setFile == "" && len(s.set) == 0 {
		return nil, nil
	}
	values := map[string]any{}
	if s.setFile != "" {
		text, err := s.readText(s.setFile)
		if err != nil {
			return nil, &usageError{fmt.Sprintf("--set-file: %v", err)}
		}
		root, err := yaml.Parse(diag.NewSource(s.setFile, string(text)))
		if err != nil {
			return nil, withoutText(err)
		}
		members, ok := value.Members(root)
		if !ok {
			return nil, &usageError{fmt.Sprintf("--set-file: %s holds %s, want an object of names and values", s.setFile, value.KindOf(root))}
		}
		for _, m := range members {
			values[m.Name] = m.Value
		}
	}
	for _, pair := range s.set {
		name, text, err := splitSetting(pair)
		if err != nil {
			return nil, err
		}
		values[name] = text
	}
	return values, nil
}

// readText reads a file as large as a configuration may be, or standard input.
func (a *app) readText(path string) ([]byte, error) {
	if path == "-" {
		return rules.ReadConfig(a.stdin)
	}
	return rules.ReadConfigFile(path)
}

// splitSetting splits a pair of --set. The error does not show it, since it may be a secret.
func splitSetting(pair string) (name, text string, err error) {
	name, text, ok := strings.Cut(pair, "=")
	if !ok || name == "" {
		return "", "", &usageError{"--set: want NAME=VALUE, got a text without a name or without ="}
	}
	return name, text, nil
}

// withoutText drops the lines of the file that an error shows: they may hold secrets.
func withoutText(err error) error {
	if found, ok := errors.AsType[diag.Diagnostics](err); ok {
		for _, d := range found {
			d.Snippet = ""
		}
	}
	return err
}

// checkGiven reports mistakes in the inputs and the jobs that the flags name. Inputs
// that are missing are reported when the engine runs.
func (s *loader) checkGiven(e *engine.Engine, inputs map[string]any) error {
	paths := map[string]bool{remedy.Jobs.Go: true}
	for name := range inputs {
		paths[rules.InputPath(name)] = true
	}
	var given engine.Diagnostics
	if all, ok := errors.AsType[engine.Diagnostics](e.Check()); ok {
		for _, d := range all {
			if paths[d.Path] {
				given = append(given, d)
			}
		}
	}
	return given.Err()
}

// readInput reads a file, or standard input. The noun describes the content in messages.
func readInput[T any](a *app, noun, path string, read func(io.Reader) (T, error)) (T, error) {
	var none T
	file, err := a.open(path)
	if err != nil {
		return none, &usageError{fmt.Sprintf("cannot read the %s: %v", noun, err)}
	}
	defer file.Close()
	v, err := read(file)
	if err != nil {
		return none, &usageError{fmt.Sprintf("%s: %v", path, err)}
	}
	return v, nil
}

// open opens a file, or standard input.
func (a *app) open(path string) (io.ReadCloser, error) {
	if path == "-" {
		return io.NopCloser(a.stdin), nil
	}
	return os.Open(path)
}

// hideSecrets hides secrets in the errors or warnings of a configuration.
func hideSecrets(err error, secrets []string) {
	mistakes, _ := errors.AsType[diag.Diagnostics](err)
	redactor := redact.New(secrets)
	for _, m := range mistakes {
		m.Hide(redactor.Text)
		m.Snippet = redactor.Text(m.Snippet)
	}
}
