package rules

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSharedStopsNameTheirSetting(t *testing.T) {
	for _, row := range sharedStops {
		a := addition{name: row.ID, fields: paginationFields}
		a.checkStopRule("stop", row)
		require.Len(t, row.Only, 1)
		require.NoError(t, a.err())
	}
}
