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

func TestStringAndJSONOfAScalar(t *testing.T) {
	for _, tt := range []struct {
		v    any
		text string
		json string
	}{
		{nil, "", "null"},
		{true, "1", "true"},
		{false, "", "false"},
		{"a", "a", `"a"`},
		{-3, "-3", "-3"},
		{int64(math.MaxInt64), "9223372036854775807", "9223372036854775807"},
		{1.0, "1", "1"},
		{10.50, "10.5", "10.5"},
		{1e3, "1000", "1000"},
		{0.1, "0.1", "0.1"},
		{0.30000000000000004, "0.3", "0.30000000000000004"},
		{1.0 / 3, "0.33333333333333", "0.3333333333333333"},
		{2.0 / 3, "0.66666666666667", "0.6666666666666666"},
		{math.Copysign(0, -1), "-0", "-0"},
		{0.0001, "0.0001", "0.0001"},
		{0.00001, "1.0E-5", "1.0e-5"},
		{-1.5e-10, "-1.5E-10", "-1.5e-10"},
		{5e-324, "4.9406564584125E-324", "5.0e-324"},
		{12345678901234.0, "12345678901234", "12345678901234"},
		{99999999999999.5, "1.0E+14", "99999999999999.5"},
		{1e14, "1.0E+14", "100000000000000"},
		{123456789012345.0, "1.2345678901234E+14", "123456789012345"},
		{1e16, "1.0E+16", "10000000000000000"},
		{1e17, "1.0E+17", "1.0e+17"},
		{1e25, "1.0E+25", "1.0e+25"},
		{1.5e100, "1.5E+100", "1.5e+100"},
		{math.MaxFloat64, "1.7976931348623E+308", "1.7976931348623157e+308"},
		{json.Number("12345678901234567890"), "1.2345678901235E+19", "1.2345678901234567e+19"},
		{json.Number("-9223372036854775809"), "-9.2233720368548E+18", "-9.223372036854776e+18"},
		{json.Number("42"), "42", "42"},
	} {
		t.Run(fmt.Sprintf("%T %v", tt.v, tt.v), func(t *testing.T) {
			require.Equal(t, tt.text, php.String(tt.v))
			require.Equal(t, tt.json, string(php.EncodeJSON(tt.v)))
		})
	}
}

func TestStringOfWhatIsNoScalar(t *testing.T) {
	require.Equal(t, "Array", php.String([]any{1}))
	require.Equal(t, "Array", php.String(value.Object{}))
	require.Equal(t, "INF", php.String(math.Inf(1)))
	require.Equal(t, "-INF", php.String(math.Inf(-1)))
	require.Equal(t, "NAN", php.String(math.NaN()))
}
