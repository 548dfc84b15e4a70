package main

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/spf13/cobra"

	"github.com/stopwhen/stopwhen/engine/files"
	"github.com/stopwhen/stopwhen/engine/stress"
	"github.com/stopwhen/stopwhen/engine/workbench"
	"github.com/stopwhen/stopwhen/rules/printable"
	"github.com/stopwhen/stopwhen/rules/secret"
)

// checkFixes refuses flags of a report together with --fix, and --apply without a fix or a file.
func (c *stressCommand) checkFixes(cmd *cobra.Command, args []string) error {
	for _, name := range []string{"format", "out", "all", "fail-on"} {
		if c.fixes != nil && cmd.Flags().Changed(name) {
			return &usageError{fmt.Sprintf("--fix shows a difference instead of a report, so it cannot be used with --%s", name)}
		}
	}
	return refuse([]misuse{
		{c.apply && c.fixes == nil, "--apply makes the changes of fixes: name their behaviours with --fix, as in --fix cappedPages"},
		{c.apply && (len(args) == 0 || args[0] == "-"), "--apply changes a file: name the file of the configuration"},
		{c.apply && c.fixture != "", "--apply changes a file, and --fixture changes its text before; leave one of them out"},
	})
}

// fix shows the changes that the fixes of --fix make in the file and in the verdicts. With --apply, it writes
// the file.
func (c *stressCommand) fix(ctx context.Context, l *loaded, r *stress.Report) error {
	combined, err := r.Combine(ctx, c.fixes...)
	if err != nil {
		return signalError(ctx, &usageError{"--fix: " + err.Error()})
	}
	text, err := workbench.Changed(string(l.text), combined.Changes)
	if err != nil {
		return &usageError{fmt.Sprintf("%s: %v", l.name, err)}
	}
	before, _ := secret.Mask(string(l.text)) // the redactor does not find a secret of several lines in a difference
	after, _ := secret.Mask(text)
	var b strings.Builder
	b.Write(bytes.ReplaceAll(diff.Diff(l.name, []byte(before), l.name, []byte(after)), []byte("\r\n"), []byte("\n")))
	for _, e := range combined.Effects {
		for _, group := range []struct {
			word  string
			names []string
		}{{"better", e.Improves}, {"worse", e.Costs}} {
			if group.names != nil {
				fmt.Fprintf(&b, "job %s: %s: %s\n", e.Job, group.word, strings.Join(group.names, ", "))
			}
		}
	}
	if err := printError(c.writeFile(c.out, c.redactor.Text(printable.Lines(b.String())))); err != nil || !c.apply {
		return err
	}
	return files.WriteError(c.writeFile(l.name, text))
}
