package main

import (
	"cmp"
	"io"
	"strings"

	"github.com/stopwhen/stopwhen/engine/report"
	"github.com/stopwhen/stopwhen/engine/stress"
	"github.com/stopwhen/stopwhen/rules/printable"
)

// printSimulations prints a run of every job against the model of its API.
func (c *explainCommand) printSimulations(l *loaded) error {
	ctx, stop := c.catchSignals()
	defer stop()
	var all []*stress.Simulation
	for _, job := range l.Jobs() {
		simulation, err := l.Simulate(ctx, job, c.simulate)
		if err := cmp.Or(interrupted(ctx), err); err != nil {
			return err
		}
		all = append(all, simulation)
	}
	return c.writeReport(c.out, func(w io.Writer) error {
		if c.format == formatJSON {
			return writeJSONTo(w, all)
		}
		texts := make([]string, len(all))
		for i, simulation := range all {
			printable.Strings(simulation)
			texts[i] = report.SimulationText(simulation, report.TextOptions{Width: c.columns(), All: c.full, Colour: hasColour(c.stdout)})
		}
		_, err := io.WriteString(w, strings.Join(texts, "\n"))
		return err
	})
}
