package language

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEveryFunctionDoesWhatItsExampleSays(t *testing.T) {
	const body = `{"meta": {"next": "p2", "total": 25}, "done": "no", "flags": []}`
	for _, f := range append(Builtin().Functions(), Library()...) {
		t.Run(f.Name, func(t *testing.T) {
			require.True(t, strings.HasPrefix(f.Signature, f.Name+"("))
			got, err := eval(t, body, f.Example)
			require.NoError(t, err)
			if f.Name == "jsonpath" { // the members of an object have no order
				require.ElementsMatch(t, []any{"p2", 25}, got)
				return
			}
			text, err := json.Marshal(got)
			require.NoError(t, err)
			require.Equal(t, f.Result, string(text))
		})
	}
}

func TestAFunctionWithAnAbsentArgumentGivesNil(t *testing.T) {
	for _, source := range []string{
		`query("/x?page=2", body.name)`, `greatest(items, body.path)`, `at(body.path)`, `at(body, body.path)`, `phpLeast(items, body.path, 3)`,
	} {
		t.Run(source, func(t *testing.T) {
			got, err := eval(t, `{}`, source)
			require.NoError(t, err)
			require.Nil(t, got)
		})
	}
}

func TestTheLanguageReturnsCopiesOfItsFunctions(t *testing.T) {
	list := Builtin().Functions()
	list[0].Name = "changed"
	require.Equal(t, "at", Builtin().Functions()[0].Name)
}
