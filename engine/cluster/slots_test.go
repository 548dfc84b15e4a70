package cluster_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/cluster"
)

func TestAWorkerThatCannotHaveItsSlotsIsRefused(t *testing.T) {
	c := open(t, startServer(t), cluster.Options{})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	err := c.Work(ctx, cluster.Worker{Slots: -1})
	require.ErrorIs(t, err, engine.ErrConfig)
	require.ErrorContains(t, err, "a worker cannot have -1 slots")
}
