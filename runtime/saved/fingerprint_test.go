package saved

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAChangedListNamesTheSettingsThatDiffer(t *testing.T) {
	part := func(list, filter, field string) string {
		return WithListDetail(WithDetail(list, "filter", filter), "dataField", field)
	}
	for _, c := range []struct {
		name, before, now string
		details           []string
		changed           bool
	}{
		{"nothing", part("l", "f", "d"), part("l", "f", "d"), nil, false},
		{"a detail of the same list", part("l", "f", "d"), part("l", "g", "d"), []string{"filter"}, true},
		{"another list", part("l", "f", "d"), part("m", "g", "e"), []string{"dataField"}, true},
		{"a setting that the same list writes in another way", part("l", "f", "d"), part("l", "f", "e"), nil, false},
		{"another list, of an earlier build", "l", part("m", "f", "d"), nil, true},
		{"the same list, of an earlier build", "l", part("l", "f", "d"), nil, false},
	} {
		details, changed := Changed(c.before, c.now)
		require.Equal(t, c.details, details, c.name)
		require.Equal(t, c.changed, changed, c.name)
	}
}
