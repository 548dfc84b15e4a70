package rules_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/rules"
)

func TestInputsHaveTheKindOfTheirDefaults(t *testing.T) {
	c := &rules.Config{Inputs: []rules.Input{{Name: "days", Default: "30"}, {Name: "size", Default: 5}, {Name: "open", Default: true}, {Name: "any"}}}
	values, found := c.BindInputs(map[string]any{"days": 7, "size": "9", "open": "false", "any": 3})
	require.Empty(t, found)
	require.Equal(t, map[string]any{"days": "7", "size": 9, "open": false, "any": 3}, values)
}

func TestAnOptionalInputIsNilWithoutAValue(t *testing.T) {
	c := &rules.Config{Inputs: []rules.Input{{Name: "owner", Optional: true}, {Name: "team", Optional: true, Pattern: "[a-z]+"}}}
	values, found := c.BindInputs(map[string]any{"team": "a"})
	require.Empty(t, found)
	require.Equal(t, map[string]any{"team": "a"}, values)
	_, found = c.BindInputs(map[string]any{"team": "7"})
	require.ErrorContains(t, found, "does not match the pattern")
}
