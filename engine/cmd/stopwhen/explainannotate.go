package main

import (
	"errors"
	"fmt"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/annotate"
	"github.com/stopwhen/stopwhen/rules/yaml"
)

// printAnnotated prints the configuration with comments.
func (c *explainCommand) printAnnotated(l *loaded) error {
	if err := l.readKept(c.kept); err != nil {
		return err
	}
	text, _, err := annotate.YAML(annotate.Config{
		Name: l.name, Text: l.text, Explanation: l.With(engine.WithKept(l.carryover)).Explain(), Redact: l.Redactor().String, Width: c.columns(),
	})
	if errors.Is(err, yaml.ErrTooLarge) {
		return &usageError{fmt.Sprintf("--annotate: %v; select some of the jobs with --job", err)}
	}
	if err != nil {
		return &usageError{fmt.Sprintf("--annotate: %v", err)}
	}
	if err := c.build(&loaded{name: "annotated.yaml", text: text, server: l.server}); err != nil {
		return &usageError{fmt.Sprintf("--annotate leaves out values of secrets, and cannot do so here; "+
			"write them as {\"env\": \"NAME\"} first: %v", err)}
	}
	return c.writeText(string(text))
}
