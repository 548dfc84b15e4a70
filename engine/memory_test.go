package engine_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/fixtures"
	"github.com/stopwhen/stopwhen/runtime/transport"
)

// TestACaseIsPlayedInMemoryAsOverHTTP plays every case without a network: the sections are the same.
func TestACaseIsPlayedInMemoryAsOverHTTP(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs every case in one goroutine, as other tests do")
	for _, c := range allCases(t) {
		t.Run(c.Name, func(t *testing.T) {
			server := fixtures.Play(c)
			got := runCase(c, server, func(e *engine.Engine) *engine.Engine {
				return e.With(engine.WithTransport(transport.Negotiated(server)))
			}, deliver)
			require.Empty(t, server.Problems(), "the run ended with: %s", got.err)
			requireGolden(t, c, got, false)
		})
	}
}
