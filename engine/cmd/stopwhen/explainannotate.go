package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/annotate"
	"github.com/stopwhen/stopwhen/rules/yaml"
)

// checkAnnotateFlags refuses what has no meaning for --annotate.
func (a *explainCommand) checkAnnotateFlags(cmd *cobra.Command) error {
	switch {
	case cmd.Flags().Changed("format"):
		return &usageError{"--format has no effect with --annotate, which prints YAML"}
	case cmd.Flags().Changed("full"):
		return &usageError{"--full has no effect with --annotate, which says all about every job"}
	}
	return nil
}

// printAnnotated prints the configuration with comments.
func (a *explainCommand) printAnnotated(l *loaded) error {
	if err := l.readKept(a.kept); err != nil {
		return err
	}
	text, _, err := annotate.YAML(annotate.Config{
		Name: l.name, Text: l.text, Explanation: l.With(engine.WithKept(l.carryover)).Explain(), Redact: l.Redactor().String, Width: a.columns(),
	})
	if errors.Is(err, yaml.ErrTooLarge) {
		return &usageError{fmt.Sprintf("--annotate: %v; select some of the jobs with --job", err)}
	}
	if err != nil {
		return &usageError{fmt.Sprintf("--annotate: %v", err)}
	}
	if err := a.build(&loaded{name: "annotated.yaml", text: text, server: l.server}); err != nil {
		return &usageError{fmt.Sprintf("--annotate leaves out values of secrets, and cannot do so here; "+
			"write them as {\"env\": \"NAME\"} first: %v", err)}
	}
	return a.writeText(string(text))
}
