package rules_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/rules"
)

// An object that has a value at every path of a hint has all hints, in their order.
func TestAllHintsOfAnObjectAreFound(t *testing.T) {
	body := map[string]any{}
	var want []rules.Hint
	for i, path := range rules.HintPaths() {
		at := body
		if len(path.Keys) == 2 {
			inner, _ := body[path.Keys[0]].(map[string]any)
			if inner == nil {
				inner = map[string]any{}
				body[path.Keys[0]] = inner
			}
			at = inner
		}
		last := path.Keys[len(path.Keys)-1]
		if _, twice := at[last]; !twice {
			at[last] = i
		}
		want = append(want, rules.Hint{HintPath: path, Value: at[last]})
	}
	require.Equal(t, want, rules.HintsIn(body))
}

func TestHintsAreOnlyFoundAtTheirPaths(t *testing.T) {
	found := rules.HintsIn(map[string]any{
		"total": nil, "": 1, "id": 2, "next": map[string]any{"": 3, "total": 4}, // next is no container
		"meta": map[string]any{"": 5, "meta": 6, "last": false}, "paging": []any{7}, "links": "total",
	})
	require.Equal(t, []rules.Hint{
		{HintPath: rules.HintPath{Keys: []string{"total"}, Kind: rules.HintTotal}},
		{HintPath: rules.HintPath{Keys: []string{"next"}, Kind: rules.HintNext}, Value: map[string]any{"": 3, "total": 4}},
		{HintPath: rules.HintPath{Keys: []string{"meta", "last"}, Kind: rules.HintLast}, Value: false},
	}, found)
	require.Empty(t, rules.HintsIn(nil))
}
