package rules

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAJobHasTheWorstOutcomeOfItsPartitions(t *testing.T) {
	fromBestToWorst := []Outcome{"", Complete, Limited, Guarded, Partial, Failed}
	for i, o := range fromBestToWorst {
		for j, other := range fromBestToWorst {
			require.Equal(t, i > j, o.Worse(other), "%q is worse than %q", o, other)
		}
		require.Equal(t, o != "", o.IsFinal(), "%q", o)
	}
	require.False(t, Split.IsFinal(), "the two halves have outcomes of their own")
	require.False(t, Outcome("done").IsFinal())
}
