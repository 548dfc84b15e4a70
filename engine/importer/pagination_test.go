package importer

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/rules"
)

func TestEveryMethodOfPagingHasADescription(t *testing.T) {
	methods := rules.Builtin().Methods(rules.Spec)
	require.NotEmpty(t, methods)
	for _, m := range methods {
		if m.Name == "expression" || m.Name == rules.Multiple { // expression is described by its parts
			continue
		}
		require.NotEmpty(t, methodPagers[m.Name].name, m.Name)
		if m.Once || m.Next.URL.Value != "" {
			require.Equal(t, m.Once, methodPagers[m.Name].keepsParams, m.Name)
		}
	}
	require.Len(t, methodPagers, len(methods)-1, "a row for each of them, and one for no pagination")
}
