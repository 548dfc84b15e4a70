package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stopwhen/stopwhen/engine/stress"
	"github.com/stopwhen/stopwhen/rules/printable"
)

// checkSimulateFlags checks the value of --simulate, and refuses what has no meaning for it.
func (a *explainCommand) checkSimulateFlags(cmd *cobra.Command) error {
	switch {
	case a.diff || a.annotate:
		return &usageError{"--simulate cannot be used together with --diff or --annotate"}
	case a.format == formatMermaid:
		return &usageError{"--simulate is printed as text or json: a diagram shows no pages"}
	case cmd.Flags().Changed("kept"):
		return &usageError{"--kept has no effect with --simulate, which begins without kept values"}
	}
	if _, err := stress.ParseSpec(a.simulate); err != nil {
		return &usageError{fmt.Sprintf("--simulate: %v", err)}
	}
	return nil
}

// printSimulations prints a run of every job against the model of its API.
func (a *explainCommand) printSimulations(l *loaded) error {
	ctx, stop := a.catchSignals()
	defer stop()
	var all []*stress.Simulation
	for _, job := range l.Jobs() {
		simulation, err := l.Simulate(ctx, job, a.simulate)
		if err := cmp.Or(interrupted(ctx), err); err != nil {
			return err
		}
		all = append(all, simulation)
	}
	return a.writeReport(func(w io.Writer) error {
		if a.format == formatJSON {
			return writeJSONTo(w, all)
		}
		texts := make([]string, len(all))
		for i, simulation := range all {
			printable.Strings(simulation)
			texts[i] = simulation.Text(stress.TextOptions{Width: a.columns(), All: a.full, Colour: hasColour(a.stdout)})
		}
		_, err := io.WriteString(w, strings.Join(texts, "\n"))
		return err
	})
}
