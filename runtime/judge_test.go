package runtime

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAVerdictAllocatesNothingThatGrowsWithThePage(t *testing.T) {
	allocations := func(items int) float64 {
		r := judged(t, items)
		return testing.AllocsPerRun(20, func() { require.NoError(t, r.judge(&Page{})) })
	}
	require.Equal(t, allocations(10), allocations(100_000))
}

func TestAfterTheAuditExpressionsCanBeInterrupted(t *testing.T) {
	r := judged(t, 1)
	ctx, cancel := context.WithCancel(t.Context())
	r.work.machine.Context = ctx
	r.context().Header = func(string) any { return nil }
	r.context().Link = func(string, ...string) any { return nil }
	r.audit(ctx, 1)
	cancel()
	require.ErrorIs(t, r.work.machine.Context.Err(), context.Canceled)
}
