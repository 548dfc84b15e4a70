package workbench

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine/explain"
	"github.com/stopwhen/stopwhen/engine/workbench/internal/syntax"
	"github.com/stopwhen/stopwhen/fixtures"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/times"
)

// TestEveryConfiguredExpressionIsFound compares the expressions that are found in the texts of the cases with those
// of the rules that are compiled from them.
func TestEveryConfiguredExpressionIsFound(t *testing.T) {
	fixtures.SkipUnderRace(t, "it plays all cases in one goroutine")
	cases, err := fixtures.All()
	require.NoError(t, err)
	compared := 0
	for n, c := range cases {
		if n%3 > 0 {
			continue
		}
		d := New().Open(c.ConfigName, string(fixtures.Play(c).ConfigText()))
		x, err := d.Explain(0)
		if err != nil || x.Data.Dialect == rules.Keboola {
			continue
		}
		found := map[string]bool{}
		d.outline().expressions(func(n *syntax.Node, _ rules.Slot, from, to int) { found[n.Path()+"\n"+n.Text[from:to]] = true })
		for _, job := range x.Data.Jobs {
			paths := d.paths()
			for _, rule := range slices.Concat(job.Computed, job.State, job.Next, job.Shape, job.Stops, job.OnError, job.Keep, variables(job)) {
				n := paths[rule.Origin.Path]
				if !rule.Origin.IsConfig() || n == nil || n.Kind != syntax.Scalar || n.Text != rule.Source || n.Value() != rule.Source {
					continue
				}
				_, noTime := times.Parse(rule.Source)
				_, noDuration := rules.ParseDuration(rule.Source)
				if noTime == nil || noDuration == nil {
					continue
				}
				require.True(t, found[rule.Origin.Path+"\n"+rule.Source], "%s: %s: %s", c.Name, rule.Origin.Path, rule.Source)
				compared++
			}
		}
	}
	require.Greater(t, compared, 100)
}

// variables returns the rules of the variables of for.
func variables(job explain.JobExplanation) (all []explain.RuleExplanation) {
	if job.Partitions != nil {
		for _, v := range job.Partitions.Variables {
			all = append(all, v.Rules...)
		}
	}
	return all
}
