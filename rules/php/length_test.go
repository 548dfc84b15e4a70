package php_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/rules/php"
)

// encoded pairs documents with json_encode(json_decode(document)).
var encoded = []struct{ name, document, want string }{
	{"nothing to change", `{"a":[1,"b",null,true,false]}`, `{"a":[1,"b",null,true,false]}`},
	{"blanks", " {\n\t\"a\" : [ 1 , 2 ] ,\r\"b\":{ } } ", `{"a":[1,2],"b":{}}`},
	{"empty", `[{},[],""]`, `[{},[],""]`},
	{"slashes", `["/","\/"]`, `["\/","\/"]`},
	{"not ASCII", `{"é":"žluť"}`, `{"\u00e9":"\u017elu\u0165"}`},
	{"beyond the basic plane", `["😀","\ud83d\ude00"]`, `["\ud83d\ude00","\ud83d\ude00"]`},
	{"escapes that need not be", `["\u0041\u002f\u0022\u000a\u007f"]`, `["A\/\"\n` + "\x7f" + `"]`},
	{"escapes that must be", `["\"\\\b\f\n\r\t\u0001\u001F"]`, `["\"\\\b\f\n\r\t\u0001\u001f"]`},
	{"floats", `[1.0,10.50,1e3,0.1,1E-7,0.00010,1e16,1e17]`, `[1,10.5,1000,0.1,1.0e-7,0.0001,10000000000000000,1.0e+17]`},
	{"whole numbers", `[9223372036854775807,-9223372036854775808]`, `[9223372036854775807,-9223372036854775808]`},
	{"whole numbers too long", `[9223372036854775808,-9223372036854775809,10000000000000000000000000]`, `[9.223372036854776e+18,-9.223372036854776e+18,1.0e+25]`},
	{"a repeated name", `{"a":1,"b":2,"a":"three"}`, `{"a":"three","b":2}`},
	{"a name repeated with escapes", `{"a/":[1,2,3],"\u0061\/":0}`, `{"a\/":0}`},
	{"the same names at several depths", `{"a":{"a":{"a":1},"b":2},"b":[{"a":1}]}`, `{"a":{"a":{"a":1},"b":2},"b":[{"a":1}]}`},
	{"a repeated object", `{"a":{"b":1,"b":22},"a":{}}`, `{"a":{}}`},
	{"a scalar", `12.50`, `12.5`},
}

func TestEncodedLen(t *testing.T) {
	for _, tt := range encoded {
		t.Run(tt.name, func(t *testing.T) {
			require.Equal(t, len(tt.want), php.EncodedLen([]byte(tt.document)))
			require.Equal(t, len(tt.want), php.EncodedLen([]byte(tt.want)), "what PHP has encoded keeps its length")
		})
	}
}

func TestEncodedLenOfZeroesWithASign(t *testing.T) {
	require.Equal(t, len(`[0,-0]`), php.EncodedLen([]byte(`[-0,-0.0]`)))
}

func TestEncodedLenOfANumberBeyondRange(t *testing.T) {
	require.Zero(t, php.EncodedLen([]byte(`{"a":"b","c":[1e999]}`)))
}

func TestEncodedLenPassesOverBytesThatAreNotUTF8(t *testing.T) {
	require.Equal(t, len(`["ab"]`), php.EncodedLen([]byte("[\"a\xffb\"]")))
}

func TestEncodedLenOfLongObjects(t *testing.T) {
	var b strings.Builder
	b.WriteString("{")
	for i := range 500 {
		if i > 0 {
			b.WriteString(",")
		}
		b.WriteString(`"` + string(rune('a'+i%100)) + `":"` + strings.Repeat("x", i) + `"`)
	}
	b.WriteString("}")
	document := b.String()

	var last map[string]any // keeps the last of repeated names too
	require.NoError(t, json.Unmarshal([]byte(document), &last))
	require.Len(t, last, 100)
	require.Equal(t, len(php.EncodeJSON(last)), php.EncodedLen([]byte(document)))
}

func TestEncodedLenOfAnObjectWithManyNames(t *testing.T) {
	document := "{"
	for i := range 300 {
		document += fmt.Sprintf(`"k%d":"é/",`, i)
	}
	document += `"k7":1}`
	var last map[string]any
	require.NoError(t, json.Unmarshal([]byte(document), &last))
	require.Equal(t, len(php.EncodeJSON(last)), php.EncodedLen([]byte(document)))
}

func FuzzEncodedLen(f *testing.F) {
	for _, tt := range encoded {
		f.Add([]byte(tt.document))
	}
	f.Add([]byte(`{"a":"\u12`))
	f.Add([]byte(`[,"\`))
	f.Add([]byte(`{"\`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		n := php.EncodedLen(raw) // must not panic, whatever the text
		var v any
		dec := json.NewDecoder(strings.NewReader(string(raw)))
		dec.UseNumber()
		if !json.Valid(raw) || strings.Contains(string(raw), `\u`) || strings.ToValidUTF8(string(raw), "") != string(raw) || dec.Decode(&v) != nil {
			return
		}
		if n > 0 && !strings.Contains(string(raw), "-0") {
			require.Equal(t, len(php.EncodeJSON(v)), n)
		}
	})
}

func BenchmarkEncodedLen(b *testing.B) {
	item := `{"id":12345,"name":"some name","url":"https://example.com/items/12345","price":12.50,"tags":["a","b"],"nested":{"a":null,"b":true}}`
	raw := []byte("[" + strings.Repeat(item+",", 9999) + item + "]")
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		php.EncodedLen(raw)
	}
}
