package runtime

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// A list without items keeps no value, which a resumed run must know of it.
func TestAResultInACheckpointTellsNoValueFromNothingKept(t *testing.T) {
	for _, kept := range []map[string]any{nil, {}, {"token": "t"}} {
		text, err := json.Marshal(Result{Kept: kept})
		require.NoError(t, err)
		var read Result
		require.NoError(t, json.Unmarshal(text, &read))
		require.Equal(t, kept, read.Kept)
	}
}
