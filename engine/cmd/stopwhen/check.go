package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stopwhen/stopwhen/rules/wording"
)

// A checkCommand is stopwhen check.
type checkCommand struct{ loader }

func newCheck(a *app) *cobra.Command {
	c := &checkCommand{loader{app: a}}
	cmd := &cobra.Command{
		Use:   "check CONFIG",
		Short: "Find mistakes in a configuration without making requests",
		Long: `Read and compile a configuration, and report every error with its position and
a fix. The exit status is 2 if there are errors; warnings do not change it.`,
		Example: `  stopwhen check users.json
  stopwhen check users.yaml --dialect keboola`,
		Args: c.oneConfig,
		RunE: c.Run,
	}
	c.addConfigFlags(cmd)
	return cmd
}

// Run compiles the configuration and prints its warnings.
func (c *checkCommand) Run(_ *cobra.Command, args []string) error {
	c.placeholders = true
	l, err := c.load(args)
	if err != nil {
		return err
	}
	defer l.Close()
	for _, w := range c.printed(l.Warnings()) {
		fmt.Fprintf(c.stderr, "warning: %v\n", w)
	}
	parts := []string{wording.Counted(len(l.Jobs()), "job"), wording.Counted(l.Info().Rules, "rule")}
	if n := len(l.Warnings()); n > 0 {
		parts = append(parts, wording.Counted(n, "warning"))
	}
	text := fmt.Sprintf("ok: %s\n", strings.Join(parts, ", "))
	if n := len(l.Info().Tests); n > 0 {
		text += fmt.Sprintf("%s; run with stopwhen test\n", wording.Counted(n, "test"))
	}
	names, err := c.missingVariables(l)
	if err != nil {
		return err
	}
	if len(names) > 0 {
		text += fmt.Sprintf("a run needs --env %s\n", strings.Join(names, ","))
	}
	return c.writeText(text)
}

// missingVariables returns the names of the environment variables that a run of the
// configuration needs, and that are not set or not passed to it.
func (s *loader) missingVariables(l *loaded) ([]string, error) {
	env, err := s.environment(l.server)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(l.Info().Env, func(name string) bool { _, ok := env.lookup(name); return ok }), nil
}
