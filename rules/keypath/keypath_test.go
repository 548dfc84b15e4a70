package keypath_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/rules/keypath"
)

func FuzzPath(f *testing.F) {
	for _, seed := range []string{"a.b", `a\.b`, "..", `\\`, "@odata\\.nextLink", "0.x"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, path string) {
		keys := keypath.Split(path)
		if len(keys) == 1 && keys[0] == "" {
			return // the one key that cannot be written
		}
		require.Equal(t, keys, keypath.Split(keypath.Join(keys...)))
	})
}
