package language

import (
	"encoding/json"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Numbers from responses that are too long for an int are computed with as long integers, and so are the
// same numbers here.
func TestSmallIntegersAreComputedWithLikeLongOnes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		operand := rapid.OneOf(rapid.IntRange(-3, 3), rapid.IntRange(-1<<26-2, -1<<26+2), rapid.IntRange(1<<26-2, 1<<26+2), rapid.Int())
		a, b := operand.Draw(t, "a"), operand.Draw(t, "b")
		operator := operators[rapid.SampledFrom([]string{"+", "-", "*", "%", "/", "**"}).Draw(t, "operator")].apply
		long := func(n int) any { return json.Number(strconv.Itoa(n)) }
		want, wantErr := operator(&meter{}, long(a), long(b))
		got, err := operator(&meter{}, a, b)
		require.Equal(t, want, got)
		require.Equal(t, wantErr == nil, err == nil)
	})
}
