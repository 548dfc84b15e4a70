package php_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/rules/php"
)

func TestEncodeJSONOfParams(t *testing.T) {
	for _, tt := range []struct{ name, params, want string }{
		{"no params", `{}`, `[]`},
		{"in order", `{"q":"a","limit":2,"offset":0}`, `{"q":"a","limit":2,"offset":0}`},
		{"names 0, 1 make a list", `{"0":"a","1":"b"}`, `["a","b"]`},
		{"other numbers do not", `{"1":"a","0":"b"}`, `{"1":"a","0":"b"}`},
		{"nor does a gap", `{"0":1,"1":2,"3":4}`, `{"0":1,"1":2,"3":4}`},
		{"nor a padded number", `{"00":"a"}`, `{"00":"a"}`},
		{"inside too", `{"a":{},"b":[],"c":{"0":1},"d":[{}]}`, `{"a":[],"b":[],"c":[1],"d":[[]]}`},
		{"scalars", `{"a":null,"b":true,"c":1.0,"d":1e25}`, `{"a":null,"b":true,"c":1,"d":1.0e+25}`},
		{"escapes", `{"é/":"😀\u2028<>&'\"\\\b\f\n\r\t\u0001"}`, `{"\u00e9\/":"\ud83d\ude00\u2028<>&'\"\\\b\f\n\r\t\u0001"}`},
		{"delete is not escaped", `{"":"` + "\x7f" + `"}`, `{"":"` + "\x7f" + `"}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			require.Equal(t, tt.want, string(php.EncodeJSON(object(t, tt.params))))
		})
	}
}

func TestEncodeJSONKeepsAResponsesObject(t *testing.T) {
	require.Equal(t, `[{},{"0":1,"a":"x"}]`,
		string(php.EncodeJSON([]any{map[string]any{}, map[string]any{"a": "x", "0": 1}})))
}

func TestEncodeJSONOfWhatPHPRefuses(t *testing.T) {
	require.Equal(t, `[0,0,"\ufffd"]`, string(php.EncodeJSON([]any{math.Inf(1), math.NaN(), "\xff"})))
}
