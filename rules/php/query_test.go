package php_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/php"
	"github.com/stopwhen/stopwhen/rules/value"
)

// object reads an object as a configuration's is read.
func object(t *testing.T, text string) value.Object {
	t.Helper()
	v, err := rules.ParseJSON(diag.NewSource("test", text))
	require.NoError(t, err)
	return v.(value.Object)
}

func TestQueriesAreBuiltAsByPHP(t *testing.T) {
	for _, tt := range []struct{ name, params, query string }{
		{"nothing", `{}`, ""},
		{"in order", `{"b":1,"a":2}`, "b=1&a=2"},
		{"space and tilde", `{"a b":"x y","c":"-_.~"}`, "a+b=x+y&c=-_.%7E"},
		{"reserved characters", `{"q":"c+d&e=f/?:@!$'()*,;"}`, "q=c%2Bd%26e%3Df%2F%3F%3A%40%21%24%27%28%29%2A%2C%3B"},
		{"not ASCII", `{"é":"ü"}`, "%C3%A9=%C3%BC"},
		{"booleans, null and what holds nothing", `{"a":true,"b":false,"c":null,"d":[],"e":{},"f":[[],{}]}`, "a=1&b=0"},
		{"empty text", `{"a":""}`, "a="},
		{"list", `{"l":["a","b"]}`, "l%5B0%5D=a&l%5B1%5D=b"},
		{"list with gaps", `{"a":[null,1,[],true]}`, "a%5B1%5D=1&a%5B3%5D=1"},
		{"object", `{"o":{"x":1,"y":{"z":[1,2]}}}`, "o%5Bx%5D=1&o%5By%5D%5Bz%5D%5B0%5D=1&o%5By%5D%5Bz%5D%5B1%5D=2"},
		{"brackets in a name", `{"a[]":"1"}`, "a%5B%5D=1"},
		{"names without a word", `{"":"x","0":"y","1":{"":1}}`, "=x&0=y&1%5B%5D=1"},
		{"floats", `{"a":1.5,"b":1.0,"c":1e25,"d":12345678901234567890}`, "a=1.5&b=1&c=1.0E%2B25&d=1.2345678901235E%2B19"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			require.Equal(t, tt.query, php.BuildQuery(object(t, tt.params)))
		})
	}
}

func TestBuildQueryTakesAResponsesValue(t *testing.T) {
	params := value.Object{{Name: "p", Value: map[string]any{"k": true, "e": map[string]any{}}}}
	require.Equal(t, "p%5Bk%5D=1", php.BuildQuery(params))
}

func TestScrollValuesInAQuery(t *testing.T) {
	for _, tt := range []struct {
		name  string
		v     any
		query string
	}{
		{"a boolean", true, "p=1"},
		{"a float", 1.5, "p=1.5"},
		{"a list", []any{"a"}, "p%5B0%5D=a"},
		{"an object", map[string]any{"k": "v"}, "p%5Bk%5D=v"},
		{"reserved characters", "a+b&c=~/ =", "p=a%2Bb%26c%3D%7E%2F+%3D"},
		{"an empty object", map[string]any{}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			require.Equal(t, tt.query, php.BuildQuery(value.Object{{Name: "p", Value: tt.v}}))
		})
	}
}

func TestQueriesAreParsedAsByPHP(t *testing.T) {
	for _, tt := range []struct {
		text string
		want value.Object
	}{
		{"", value.Object{}},
		{"?", value.Object{}},
		{"??a=1", value.Object{{Name: "a", Value: "1"}}},
		{"b=1&a=2", value.Object{{Name: "b", Value: "1"}, {Name: "a", Value: "2"}}},
		{"a=1&b=x&a=2&a=3", value.Object{{Name: "a", Value: []any{"1", "2", "3"}}, {Name: "b", Value: "x"}}},
		{"flag&a=", value.Object{{Name: "flag"}, {Name: "a", Value: ""}}},
		{"flag&flag=1", value.Object{{Name: "flag", Value: []any{nil, "1"}}}},
		{"a%5B0%5D=x+y%20z%2B", value.Object{{Name: "a[0]", Value: "x y z+"}}},
		{"a=1%&b=%4&c=%zz", value.Object{{Name: "a", Value: "1%"}, {Name: "b", Value: "%4"}, {Name: "c", Value: "%zz"}}},
		{"a=b=c", value.Object{{Name: "a", Value: "b=c"}}},
		{"&a=1", value.Object{{Name: ""}, {Name: "a", Value: "1"}}},
		{"http://x/y?a=1", value.Object{{Name: "http://x/y?a", Value: "1"}}},
	} {
		t.Run(tt.text, func(t *testing.T) {
			require.Equal(t, tt.want, php.ParseQuery(tt.text))
		})
	}
}

func TestANameWithoutAValueIsNotSent(t *testing.T) {
	require.Equal(t, "a%5B0%5D=1&a%5B1%5D=2", php.BuildQuery(php.ParseQuery("?flag&a=1&a=2")))
}
