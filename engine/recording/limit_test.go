package recording

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// An archive that is too large must not be taken for one that ends early, which is read
// up to there.
func TestAnArchiveThatIsTooLargeIsRefused(t *testing.T) {
	text := `{"log": {"entries": [` + strings.Repeat("{},", 50_000) + `{}]}}`
	_, err := read(strings.NewReader(text), int64(len(text)))
	require.NoError(t, err)
	_, err = read(strings.NewReader(text), int64(len(text)-1))
	require.ErrorContains(t, err, "more than")
}
