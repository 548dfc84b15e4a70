package record

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/cluster/internal/store"
)

// A page number would be misleading: the sequence numbers of a run count the pages of all tasks,
// and the parts of large ones.
func TestADamagedPageIsNamedByItsMessage(t *testing.T) {
	for _, text := range []string{`{`, `{"record": {"partition": {"id": 1}}, "record": 2}`} {
		_, err := ReadEnvelope(&store.Entry{StoredHead: store.StoredHead{Sequence: 70}, Envelope: []byte(text)})
		require.ErrorIs(t, err, engine.ErrState)
		require.ErrorContains(t, err, "message 70 of the run is damaged: ")
	}
}
