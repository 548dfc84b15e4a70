package rules_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/rules"
)

func TestEveryHintIsAtItsPlace(t *testing.T) {
	for place, path := range rules.HintPaths() {
		require.Equal(t, path, rules.HintAt(place))
		places := rules.HintPlaces(path.Keys)
		require.Contains(t, places, place)
		for _, other := range places {
			require.Equal(t, path.Keys, rules.HintAt(other).Keys)
		}
	}
}

func TestOtherPathsHaveNoHints(t *testing.T) {
	for _, path := range [][]string{
		{}, {""}, {"id"}, {"meta"}, {"next", "total"}, // next is no container
		{"meta", ""}, {"meta", "meta"}, {"meta", "total", "total"}, {"meta", "meta", "total"},
	} {
		require.Empty(t, rules.HintPlaces(path), path)
	}
}
