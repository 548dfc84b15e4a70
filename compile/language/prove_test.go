package language

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBoundsArePrintedInTheRightNumber(t *testing.T) {
	require.Equal(t, "1 page", Bound{"pages", 1}.String())
	require.Equal(t, "20 pages", Bound{"pages", 20}.String())
	require.Equal(t, "1.5 seconds", Bound{"seconds", 1.5}.String())
	require.Equal(t, "1 byte", Bound{"bytes", 1}.String())
}
