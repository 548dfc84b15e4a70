package apinames_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/rules/apinames"
)

func TestEveryHintIsAtItsPlace(t *testing.T) {
	for place, path := range apinames.HintPaths() {
		require.Equal(t, path, apinames.HintAt(place))
		places := apinames.HintPlaces(path.Keys)
		require.Contains(t, places, place)
		for _, other := range places {
			require.Equal(t, path.Keys, apinames.HintAt(other).Keys)
		}
	}
}

func TestOtherPathsHaveNoHints(t *testing.T) {
	for _, path := range [][]string{
		{}, {""}, {"id"}, {"meta"}, {"next", "total"}, // next is no container
		{"meta", ""}, {"meta", "meta"}, {"meta", "total", "total"}, {"meta", "meta", "total"},
	} {
		require.Empty(t, apinames.HintPlaces(path), path)
	}
}
