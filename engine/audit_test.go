package engine_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/fixtures"
)

// TestTheZooIsNotSuspect runs the configurations of the cookbook. Their lists are
// complete: the audit must find nothing.
func TestTheZooIsNotSuspect(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs a single goroutine")
	played := 0
	for _, c := range allCases(t) {
		if !strings.HasPrefix(c.Name, "zoo/") && !strings.HasPrefix(c.Name, "cookbook/") {
			continue
		}
		played++
		t.Run(c.Name, func(t *testing.T) {
			var log strings.Builder
			e, err := loadCase(c, serve(t, c), &log)
			require.NoError(t, err)
			result, _ := e.Run(context.Background(), func(context.Context, *engine.Page) error { return nil })
			for _, job := range result.Jobs {
				require.Empty(t, job.Findings)
			}
		})
	}
	require.Greater(t, played, 70)
}

// TestASinglePageDrawsNoWarning runs a list whose only page has no next link.
func TestASinglePageDrawsNoWarning(t *testing.T) {
	c, err := fixtures.Find("audit/single-page-without-a-link-is-complete")
	require.NoError(t, err)
	var log strings.Builder
	e, err := loadCase(c, serve(t, c), &log)
	require.NoError(t, err)
	_, err = e.Run(t.Context(), discard)
	require.NoError(t, err)
	require.Contains(t, log.String(), "response.param.end")
	require.NotContains(t, log.String(), "WARN")
}
