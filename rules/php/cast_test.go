package php_test

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/rules/php"
	"github.com/stopwhen/stopwhen/rules/value"
)

// The values in this package's tables were observed with PHP 8.2, except where
// a comment names a difference of 7.4.

func TestEmptyAndTruthyAreOpposites(t *testing.T) {
	for _, tt := range []struct {
		v     any
		empty bool
	}{
		{nil, true},
		{false, true},
		{true, false},
		{0, true},
		{int64(0), true},
		{-1, false},
		{0.0, true},
		{math.Copysign(0, -1), true},
		{0.1, false},
		{json.Number("12345678901234567890"), false},
		{"", true},
		{"0", true},
		{"00", false},
		{"0.0", false},
		{"-0", false},
		{" ", false},
		{"false", false},
		{"no", false},
		{[]any{}, true},
		{[]any{0}, false},
		{[]any{nil}, false},
		{map[string]any{}, false},
		{value.Object{}, false},
		{map[string]any{"a": nil}, false},
	} {
		t.Run(fmt.Sprintf("%T %v", tt.v, tt.v), func(t *testing.T) {
			require.Equal(t, tt.empty, php.Empty(tt.v))
			require.Equal(t, !tt.empty, php.Truthy(tt.v))
		})
	}
}

func TestAConfigurationsObjectWithoutMembersIsEmpty(t *testing.T) {
	for _, v := range []any{value.Object{}, map[string]any{}, []any{}, nil, "0", 0, false} {
		require.True(t, php.EmptyConfig(v), "%#v", v)
		require.False(t, php.Bool(v), "%#v", v)
	}
	for _, v := range []any{value.Object{{Name: "a"}}, map[string]any{"a": nil}, []any{nil}, "false", 1, true} {
		require.False(t, php.EmptyConfig(v), "%#v", v)
		require.True(t, php.Bool(v), "%#v", v)
	}
}
