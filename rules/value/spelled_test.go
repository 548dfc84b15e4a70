package value_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/rules/value"
)

func TestSpelledKeepsZerosAndExponents(t *testing.T) {
	for text, want := range map[string]any{
		"1.50": json.Number("1.50"), "3.0": json.Number("3.0"), "-0.00": json.Number("-0.00"),
		"1.5": 1.5, "10": 10, "0": 0, "1e2": json.Number("1e2"), "1.5E10": json.Number("1.5E10"), "1e400": json.Number("1e400"),
		"9223372036854775808": json.Number("9223372036854775808"),
	} {
		require.Equal(t, want, value.Spelled(json.Number(text)), text)
	}
}
