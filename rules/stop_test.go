package rules

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The origin of a rule that all methods share is the setting that its first condition names.
func TestSharedStopsBeginWithTheirSetting(t *testing.T) {
	for _, row := range sharedStops {
		a := addition{name: row.ID, fields: paginationFields}
		a.checkStopRule("stop", row)
		require.NoError(t, a.err())
		require.NotEmpty(t, row.Only, row.ID)
		require.False(t, row.Only[0].Not, row.ID)
	}
}
