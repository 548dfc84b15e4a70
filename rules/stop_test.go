package rules

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSharedStopsNameTheirSetting(t *testing.T) {
	for _, row := range sharedStops {
		a := addition{name: row.ID, fields: paginationFields}
		row.Only = Conditions{IsSet(row.Setting)}
		a.checkStopRule("stop", row.StopRule)
		require.NoError(t, a.err())
	}
}
