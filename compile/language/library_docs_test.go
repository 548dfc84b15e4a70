package language

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/rules/value"
)

func TestEveryFunctionOfTheExpressionLanguageIsDocumented(t *testing.T) {
	names := slices.Collect(maps.Keys(library))
	names = slices.DeleteFunc(names, func(name string) bool { return name == "now" }) // a field of the context
	require.ElementsMatch(t, names, value.Map(Library(), func(f Function) string { return f.Name }))
}
