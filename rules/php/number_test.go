package php_test

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/rules/php"
	"github.com/stopwhen/stopwhen/rules/value"
)

func TestTextReadsAsANumber(t *testing.T) {
	for _, tt := range []struct {
		text    string
		numeric bool
		int     int
		number  float64
	}{
		{"", false, 0, 0},
		{"0", true, 0, 0},
		{"2", true, 2, 2},
		{" 2", true, 2, 2},
		{"\t\n\r\v\f3", true, 3, 3},
		{"2 ", true, 2, 2}, // before PHP 8 it was not numeric
		{"2\n\f ", true, 2, 2},
		{"2 x", false, 2, 2},
		{"2.7", true, 2, 2.7},
		{"-2.7", true, -2, -2.7},
		{"+5", true, 5, 5},
		{"- 5", false, 0, 0},
		{"--5", false, 0, 0},
		{"1e1", true, 10, 10},
		{"1E2", true, 100, 100},
		{"1e+2", true, 100, 100},
		{"1e-2", true, 0, 0.01},
		{"1.e3", true, 1000, 1000},
		{"1e2x", false, 100, 100},
		{"1e", false, 1, 1},
		{"1e+", false, 1, 1},
		{".e3", false, 0, 0},
		{".5", true, 0, 0.5},
		{"5.", true, 5, 5},
		{".", false, 0, 0},
		{"-", false, 0, 0},
		{"1.5.5", false, 1, 1.5},
		{"007", true, 7, 7},
		{"1_000", false, 1, 1},
		{"0x1A", false, 0, 0},
		{"INF", false, 0, 0},
		{"nan", false, 0, 0},
		{"abc", false, 0, 0},
		{"3 items", false, 3, 3},
		{"9223372036854775807", true, math.MaxInt, math.MaxInt},
		{"9223372036854775808", true, math.MaxInt, math.MaxInt},
		{"-9223372036854775809", true, math.MinInt, math.MinInt},
		{"99999999999999999999", true, math.MaxInt, 1e20},
		{"1e19 x", false, math.MaxInt, 1e19},
		{"1e1000", true, 0, math.Inf(1)},
		{"-1e1000", true, 0, math.Inf(-1)},
	} {
		t.Run(tt.text, func(t *testing.T) {
			require.Equal(t, tt.numeric, php.IsNumeric(tt.text))
			require.Equal(t, tt.int, php.Int(tt.text))
			require.Equal(t, tt.number, php.Number(tt.text))
		})
	}
}

func TestOtherValuesAsNumbers(t *testing.T) {
	for _, tt := range []struct {
		v       any
		numeric bool
		int     int
		number  float64
	}{
		{nil, false, 0, 0},
		{false, false, 0, 0},
		{true, false, 1, 1},
		{7, true, 7, 7},
		{int64(-7), true, -7, -7},
		{2.7, true, 2, 2.7},
		{-2.7, true, -2, -2.7},
		{1e18, true, 1_000_000_000_000_000_000, 1e18},
		{1e19, true, -8446744073709551616, 1e19},
		{-1e19, true, 8446744073709551616, -1e19},
		{9223372036854775808.0, true, math.MinInt, 1 << 63},
		{18446744073709551616.0, true, 0, 1 << 64},
		{1e25, true, 1590897979265384448, 1e25},
		{math.Inf(1), true, 0, math.Inf(1)},
		{json.Number("12345678901234567890"), true, -6101065172474984448, 12345678901234567890},
		{json.Number("42"), true, 42, 42},
		{[]any{}, false, 0, math.Inf(1)},
		{[]any{5}, false, 1, math.Inf(1)},
		{map[string]any{}, false, 1, 1},
		{value.Object{{Name: "a", Value: 5}}, false, 1, 1},
		{time.Now(), false, 0, 0},
	} {
		t.Run(fmt.Sprintf("%T %v", tt.v, tt.v), func(t *testing.T) {
			require.Equal(t, tt.numeric, php.IsNumeric(tt.v))
			require.Equal(t, tt.int, php.Int(tt.v))
			require.Equal(t, tt.number, php.Number(tt.v))
		})
	}
}
